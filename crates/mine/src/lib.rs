//! Reads what other programs and people left behind, and writes none of it: finds sources, reads them into documents.
//!
//! ```text
//! WalkRequest → SourceWalk → FoundSource (its stat: unchanged? done) → LoadedSource → SourceDocument
//! ```
//!
//! A [`FoundSource`] costs a stat. [`FoundSource::load`] reads its bytes, [`LoadedSource::read`] hands over what they
//! say, one document at a time: a file cut into pieces, or a conversation of messages. What becomes of a document is
//! the caller's affair; nothing here knows a palace, prints, or asks what time it is. The environment is read in two
//! places: [`walk::global_excludes`], which callers may ask, and the temporary folder into which a database of another
//! program is copied where it could not be read without writing beside it.

pub mod conversation;
pub mod cut;
pub mod decode;
pub mod fingerprint;
pub mod formats;
mod keys;
pub mod name;
pub mod project;
pub mod source;
pub mod stat;
pub mod walk;

pub use fingerprint::SourceFingerprint;
pub use source::{
    ConversationDocument, FileDocument, FoundSource, LoadedSource, ReadOptions, ReadOutcome, SourceDocument,
    SourceExtent, SourceTrouble,
};
pub use walk::{LeftOutCause, SourceWalk, WalkEvent, WalkRequest, walk};
