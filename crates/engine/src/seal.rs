//! Sealed secrets: where a secret was, a text shows a label, and the secret is kept encrypted in records beside the
//! drawers.
//!
//! A `SecretGuard` looks at words before they are cut, embedded or stored. What it finds is replaced by a label like
//! `⟦sealed aws-access-key 1f4a…⟧`; the [`SealedSpan`]s of a drawer say where its labels are, and only they are
//! believed: the same characters in a file are just characters. Labels and ciphertexts are made with the
//! palace's key and depend on nothing else, so that filing the same words again changes nothing.

mod cipher;
mod collect;
mod drawer;
mod guard;
mod known;
mod policy;
mod records;
mod resealing;
mod rotate;
mod span;
mod stored;
mod suspects;
mod text;
mod unseal;

pub use collect::count_lost_secrets;
pub use guard::{SecretDisposal, SecretTally};
pub use policy::SecretPolicy;
pub use rotate::RotationReport;
pub use span::SealedSpan;
pub use stored::{SealReport, SealRequest};
pub use suspects::SecretSuspects;
pub use unseal::UnsealReport;

pub(crate) use collect::collect_unused;
pub(crate) use drawer::{DrawerSeals, SealedDrawer};
pub(crate) use guard::SecretGuard;
pub(crate) use records::{
    FoundSeals, adopt_naming_key, may_have_label, naming_fingerprints, put_records, read_whole_spans,
};
pub(crate) use span::find_labels;
pub(crate) use text::{SealedText, keep_labels_whole};
pub(crate) use unseal::Unsealer;
