//! The stages of a source: found by a walk, loaded, read into documents.

mod read;

use std::path::{Path, PathBuf};

use loci_core::Timestamp;

use crate::conversation::{Conversation, ReadingNote};
use crate::cut::{PieceLengths, TextPiece, TextShape};
use crate::decode::{DecodedText, NotTextCause};
use crate::fingerprint::SourceFingerprint;
use crate::formats::{BundleFormat, FormatChoice};
use crate::name;
use crate::stat::{FileStat, ReadFailure, read_whole};

/// A file or a bundle of files that a walk found. None of its bytes have been read.
#[derive(Debug, Clone)]
pub struct FoundSource {
    path: PathBuf,
    root: PathBuf,
    content: FoundContent,
    /// The most bytes of a part of a bundle.
    max_bytes: u64,
}

/// The files a source consists of.
#[derive(Debug, Clone)]
enum FoundContent {
    File(FileStat),
    Bundle(BundleFormat, Vec<(PathBuf, FileStat)>),
}

impl FoundSource {
    /// Creates the source of a single file.
    pub(crate) fn new_file(path: PathBuf, root: PathBuf, stat: FileStat) -> Self {
        Self {
            path,
            root,
            content: FoundContent::File(stat),
            max_bytes: u64::MAX,
        }
    }

    /// Creates the source of files that are mined together, as their format lists them; parts over `max_bytes` will be
    /// left out.
    pub(crate) fn new_bundle(
        path: PathBuf,
        root: PathBuf,
        format: BundleFormat,
        files: Vec<(PathBuf, FileStat)>,
        max_bytes: u64,
    ) -> Self {
        Self {
            path,
            root,
            content: FoundContent::Bundle(format, files),
            max_bytes,
        }
    }

    /// Returns the path of the file, or of the folder or file at which a bundle begins.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the outermost requested folder that contains it; its own folder if only the file was requested.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the name of the source.
    pub fn name(&self) -> String {
        name::name_of_path(&self.path)
    }

    /// Returns the total size of its files in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.stats().map(|stat| stat.size).sum()
    }

    /// Returns the time its files last changed, in nanoseconds since 1970.
    pub fn modified(&self) -> Option<i64> {
        self.stats().map(|stat| stat.modified).max()
    }

    /// Returns the bundle's format and files; `None` for a single file.
    pub fn bundle_files(&self) -> Option<(&'static str, &[(PathBuf, FileStat)])> {
        match &self.content {
            FoundContent::File(_) => None,
            FoundContent::Bundle(format, files) => Some((format.name, files)),
        }
    }

    /// Returns the fingerprint of the source as the walk saw it.
    pub fn fingerprint(&self) -> SourceFingerprint {
        match &self.content {
            FoundContent::File(stat) => SourceFingerprint::File(*stat),
            FoundContent::Bundle(_, files) => SourceFingerprint::from_files(files, self.max_bytes),
        }
    }

    /// Reads the bytes of a file of at most `max_bytes`; the format of a bundle reads its files later, under the limit
    /// of the walk for each part.
    pub fn load(&self, max_bytes: u64) -> Result<LoadedSource<'_>, ReadFailure> {
        match &self.content {
            FoundContent::File(_) => {
                // The stat of this read replaces the walk's: the file may have changed in between, and the
                // record that the engine stores has to describe the bytes that were filed.
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
                // A bundle keeps the walk's stats. A file that changes afterwards differs from them and is
                // read again next time.
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

    fn stats(&self) -> impl Iterator<Item = &FileStat> {
        let (file, files) = match &self.content {
            FoundContent::File(stat) => (Some(stat), [].as_slice()),
            FoundContent::Bundle(_, files) => (None, files.as_slice()),
        };
        file.into_iter().chain(files.iter().map(|(_, stat)| stat))
    }
}

/// A source whose bytes have been read but not yet interpreted.
#[derive(Debug)]
pub struct LoadedSource<'a> {
    found: &'a FoundSource,
    fingerprint: SourceFingerprint,
    stats: Vec<FileStat>,
    hash: String,
    /// The bytes of a file; `None` for a bundle, whose format reads its files.
    bytes: Option<Vec<u8>>,
}

impl LoadedSource<'_> {
    /// Returns the fingerprint of the source at the moment it was read.
    pub fn fingerprint(&self) -> &SourceFingerprint {
        &self.fingerprint
    }

    /// Returns a hash of a file's bytes, or of a bundle's fingerprint.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns whether this is a single file.
    pub fn is_file(&self) -> bool {
        self.bytes.is_some()
    }

    /// Returns whether a later write could leave the same fingerprint, with `now` in nanoseconds since 1970.
    pub fn is_fresh(&self, now: i64) -> bool {
        self.stats.iter().any(|stat| stat.is_fresh(now))
    }
}

/// The options for reading sources.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The format that every source is read as; without it, each is recognised by its structure.
    pub format: Option<FormatChoice>,
    /// The size of a file's pieces.
    pub cutting: PieceLengths,
}

/// A document read from a source.
#[derive(Debug)]
pub enum SourceDocument {
    /// A file of text.
    File(FileDocument),
    /// A conversation.
    Conversation(ConversationDocument),
}

/// A file of text and the pieces it is cut into.
#[derive(Debug)]
pub struct FileDocument {
    /// All its text.
    pub decoded: DecodedText,
    /// The pieces that tile the text.
    pub pieces: Vec<TextPiece>,
    /// The shape of the text.
    pub shape: TextShape,
    /// The time the file was last changed.
    pub modified: Option<Timestamp>,
}

/// A conversation, and the key that distinguishes it in its source.
#[derive(Debug)]
pub struct ConversationDocument {
    /// Its key, unique in the source; `None` if the source is the conversation.
    pub key: Option<String>,
    /// The name of the format it was read from.
    pub format: &'static str,
    /// The messages.
    pub conversation: Conversation,
}

/// The outcome of reading a source, apart from its documents.
#[derive(Debug)]
pub struct ReadOutcome {
    /// The name of the format or shape the source was read as.
    pub format: &'static str,
    /// Everything that could not be kept.
    pub notes: Vec<ReadingNote>,
    /// The part of the source that each document covers.
    pub extent: SourceExtent,
    /// Whether the source looks like the format it was read as; if not, the caller demanded that format.
    pub is_recognised: bool,
}

/// The part of its source that a document covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceExtent {
    /// All of it.
    Whole,
    /// One of the conversations in it.
    Several,
    /// There was no document.
    Empty,
}

/// The reason why a source gave no documents, or not all. `E` is the error type of the callback that takes documents.
#[derive(Debug)]
pub enum SourceTrouble<E> {
    /// It is not text.
    NotText(NotTextCause),
    /// Its content is invalid; the reason in words.
    Unreadable(String),
    /// The callback refused a document.
    Refused(E),
}
