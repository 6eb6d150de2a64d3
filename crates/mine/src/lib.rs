//! Finds sources that people and other programs left behind and reads them into documents. Never writes to a source.
//!
//! ```text
//! WalkRequest → SourceWalk → FoundSource (its stat: unchanged? done) → LoadedSource → SourceDocument
//! ```
//!
//! A [`FoundSource`] costs a stat. [`FoundSource::load`] reads its bytes, and [`LoadedSource::read`] hands over the
//! documents in it, one at a time: a file cut into pieces, or a conversation of messages. The caller decides what
//! becomes of a document; nothing here knows a palace, prints, or reads the clock. The environment is read in two
//! places: [`walk::global_excludes`], which callers may use, and the temporary folder into which a database of
//! another program is copied if reading it in place would write beside it.

pub mod conversation;
pub mod cut;
pub mod decode;
pub mod fingerprint;
pub mod formats;
mod keys;
pub mod name;
pub mod project;
pub mod recalled;
pub mod source;
pub mod stat;
pub mod walk;

pub use fingerprint::SourceFingerprint;
pub use source::{
    ConversationDocument, FileDocument, FoundSource, LoadedSource, ReadOptions, ReadOutcome, SourceDocument,
    SourceExtent, SourceTrouble,
};
pub use walk::{LeftOutCause, SourceWalk, WalkEvent, WalkRequest, walk};
