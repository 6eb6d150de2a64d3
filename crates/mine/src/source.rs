//! Sources on their way into documents: found by a walk, loaded, read.

mod read;

use std::path::{Path, PathBuf};

use loci_core::Timestamp;

use crate::conversation::{Conversation, Note};
use crate::cut::{Cutting, Piece, Shape};
use crate::decode::{Decoded, NotText};
use crate::fingerprint::SourceFingerprint;
use crate::formats::{BundleFormat, Chosen};
use crate::name;
use crate::stat::{ReadFailure, Stat, read_whole};

/// A file or a bundle of files that a walk found. Nothing of it was read.
#[derive(Debug, Clone)]
pub struct FoundSource {
    path: PathBuf,
    root: PathBuf,
    content: FoundContent,
}

/// The files a source consists of.
#[derive(Debug, Clone)]
enum FoundContent {
    File(Stat),
    Bundle(BundleFormat, Vec<(PathBuf, Stat)>),
}

impl FoundSource {
    /// A file.
    pub(crate) fn file(path: PathBuf, root: PathBuf, stat: Stat) -> Self {
        Self {
            path,
            root,
            content: FoundContent::File(stat),
        }
    }

    /// Files that are mined together, as their format lists them.
    pub(crate) fn bundle(
        path: PathBuf,
        root: PathBuf,
        format: BundleFormat,
        files: Vec<(PathBuf, Stat)>,
    ) -> Self {
        Self {
            path,
            root,
            content: FoundContent::Bundle(format, files),
        }
    }

    /// The path of the file, or of the folder or file a bundle begins at.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The outermost folder asked for that holds it; its own folder, where only the file was asked for.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name of the source.
    pub fn name(&self) -> String {
        name::of_path(&self.path)
    }

    /// The number of bytes its files hold.
    pub fn bytes(&self) -> u64 {
        self.stats().map(|stat| stat.size).sum()
    }

    /// When its files last changed, in nanoseconds since 1970.
    pub fn modified(&self) -> Option<i64> {
        self.stats().map(|stat| stat.modified).max()
    }

    /// The bundle's format and files; `None` for a single file.
    pub fn bundle_files(&self) -> Option<(&'static str, &[(PathBuf, Stat)])> {
        match &self.content {
            FoundContent::File(_) => None,
            FoundContent::Bundle(format, files) => Some((format.name, files)),
        }
    }

    /// Everything the walk's stats said of it.
    pub fn fingerprint(&self) -> SourceFingerprint {
        match &self.content {
            FoundContent::File(stat) => SourceFingerprint::File(*stat),
            FoundContent::Bundle(_, files) => SourceFingerprint::of_files(files),
        }
    }

    /// Reads the bytes of a file of at most `max_bytes`; a bundle is read later, by its format.
    pub fn load(&self, max_bytes: u64) -> Result<LoadedSource<'_>, ReadFailure> {
        match &self.content {
            FoundContent::File(_) => {
                let (bytes, stat) = read_whole(&self.path, max_bytes)?;
                Ok(LoadedSource {
                    found: self,
                    fingerprint: SourceFingerprint::File(stat),
                    stats: vec![stat],
                    hash: blake3::hash(&bytes).to_hex().to_string(),
                    bytes: Some(bytes),
                })
            }
            FoundContent::Bundle(_, files) => {
                let fingerprint = self.fingerprint();
                let hash = match &fingerprint {
                    SourceFingerprint::Files { hash, .. } => hash.clone(),
                    SourceFingerprint::File(_) => String::new(),
                };
                Ok(LoadedSource {
                    found: self,
                    fingerprint,
                    stats: files.iter().map(|(_, stat)| *stat).collect(),
                    hash,
                    bytes: None,
                })
            }
        }
    }

    fn stats(&self) -> impl Iterator<Item = &Stat> {
        let (file, files) = match &self.content {
            FoundContent::File(stat) => (Some(stat), [].as_slice()),
            FoundContent::Bundle(_, files) => (None, files.as_slice()),
        };
        file.into_iter().chain(files.iter().map(|(_, stat)| stat))
    }
}

/// A source whose bytes were read, before anything is made of them.
#[derive(Debug)]
pub struct LoadedSource<'a> {
    found: &'a FoundSource,
    fingerprint: SourceFingerprint,
    stats: Vec<Stat>,
    hash: String,
    /// The bytes of a file; a bundle's are read by its format.
    bytes: Option<Vec<u8>>,
}

impl LoadedSource<'_> {
    /// The fingerprint of the source at the moment it was read.
    pub fn fingerprint(&self) -> &SourceFingerprint {
        &self.fingerprint
    }

    /// A hash of a file's bytes, or of a bundle's fingerprint.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether this is a single file.
    pub fn is_file(&self) -> bool {
        self.bytes.is_some()
    }

    /// Whether a later write could have left the same fingerprint, at `now` in nanoseconds since 1970.
    pub fn is_fresh(&self, now: i64) -> bool {
        self.stats.iter().any(|stat| stat.is_fresh(now))
    }
}

/// The options for reading sources.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The format every source is taken for; else each is recognised by its structure.
    pub format: Option<Chosen>,
    /// The size of a file's pieces.
    pub cutting: Cutting,
}

/// Something a source says.
#[derive(Debug)]
pub enum SourceDocument {
    /// A file of text.
    File(FileDocument),
    /// A conversation.
    Conversation(ConversationDocument),
}

/// A file of text and where it is cut.
#[derive(Debug)]
pub struct FileDocument {
    /// All its text.
    pub decoded: Decoded,
    /// The pieces that tile the text.
    pub pieces: Vec<Piece>,
    /// The shape of the text.
    pub shape: Shape,
    /// When the file was last changed.
    pub modified: Option<Timestamp>,
}

/// A conversation and what tells it from others in its source.
#[derive(Debug)]
pub struct ConversationDocument {
    /// Its key, which no other of the same source has; `None` where the source is the conversation.
    pub key: Option<String>,
    /// The name of the format it was read from.
    pub format: &'static str,
    /// The messages.
    pub conversation: Conversation,
}

/// The outcome of reading a source, beside the documents it gave.
#[derive(Debug)]
pub struct ReadOutcome {
    /// The name of the format or shape the source was read as.
    pub format: &'static str,
    /// Everything that could not be taken over.
    pub notes: Vec<Note>,
    /// The part of the source that a document is.
    pub extent: SourceExtent,
    /// Whether the source looks like the format it was read as; if not, the format was insisted on.
    pub is_recognised: bool,
}

/// The part of its source that a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceExtent {
    /// All of it.
    Whole,
    /// One of the conversations in it.
    Several,
    /// There was none.
    Empty,
}

/// Why a source gave no documents, or not all. `E` is the taker's own error.
#[derive(Debug)]
pub enum SourceTrouble<E> {
    /// It is not text.
    NotText(NotText),
    /// It is wrong in itself; the reason in words.
    Unreadable(String),
    /// The taker of its documents refused one.
    Refused(E),
}
