//! Stamps: how a source looked when it was filed, and the terms it was filed on.

use loci_core::Timestamp;
use loci_mine::SourceFingerprint;
use serde::{Deserialize, Serialize};

/// The version of the readers. It changes whenever the same bytes would give other drawers; sources stamped
/// with another version are read again.
pub const READING_VERSION: u32 = 1;

/// The stamp of a source, kept in its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceStamp {
    /// The [`READING_VERSION`] it was read with.
    pub reading: u32,
    /// Its look.
    pub look: SourceLook,
    /// The hash of its bytes, or of its words if it is one of several conversations in a file.
    pub hash: String,
    /// Its format.
    pub format: String,
    /// The terms it was filed on.
    #[serde(default)]
    pub asked: FilingTerms,
    /// The number of its drawers.
    pub drawers: u64,
    /// The file that contains it, if it is one of several conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<ContainerStamp>,
}

/// A file of several conversations, as it was when one of them was last seen in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerStamp {
    /// The name of the file.
    pub file: String,
    /// The hash of its bytes.
    pub hash: String,
}

/// The terms that decide, besides its bytes, how a source is read and filed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilingTerms {
    /// The requested format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The requested wing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wing: Option<String>,
    /// The requested room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The time before which messages were not filed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The size of pieces.
    pub pieces: usize,
    /// Its transcripts were believed to be what a harness wrote.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
}

impl FilingTerms {
    /// Returns whether a source filed on the terms `before` satisfies these terms; anything not requested now
    /// may stay as it was.
    pub fn is_met_by(&self, before: &Self) -> bool {
        let met = |now: &Option<String>, before: &Option<String>| now.is_none() || now == before;
        met(&self.format, &before.format)
            && met(&self.wing, &before.wing)
            && met(&self.room, &before.room)
            && self.pieces == before.pieces
            // Believed once, the same bytes stay believed; others need a new reason.
            && (before.trusted || !self.trusted)
            && match (before.since, self.since) {
                // Everything was filed then, so any later limit is satisfied.
                (None, _) => true,
                (Some(then), Some(now)) => then <= now,
                (Some(_), None) => false,
            }
    }

    /// Returns these terms, completed by the earlier ones where nothing is requested now.
    pub fn carried_over_from(&self, before: Option<&Self>) -> Self {
        let Some(before) = before else {
            return self.clone();
        };
        Self {
            format: self.format.clone().or_else(|| before.format.clone()),
            wing: self.wing.clone().or_else(|| before.wing.clone()),
            room: self.room.clone().or_else(|| before.room.clone()),
            // Not carried over: a run without a limit files everything, and must say so.
            since: self.since,
            pieces: self.pieces,
            trusted: self.trusted,
        }
    }
}

/// The look of a source: the metadata of its file or files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLook {
    /// The fingerprint of the file or, for several, a hash of all names and metadata.
    #[serde(flatten)]
    pub seen: SourceFingerprint,
    /// The file changed so shortly before it was read that a later change could leave the same timestamp.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

impl SourceStamp {
    /// Parses the output of [`SourceStamp::to_text`]; `None` for a stamp that cannot be parsed, whose source is read
    /// again.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the stamp as it is stored.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a stamp has only text and numbers")
    }

    /// Returns whether a source with this fingerprint is certainly unchanged since it was filed.
    pub fn covers_look(&self, seen: &SourceFingerprint, asked: &FilingTerms) -> bool {
        !self.look.fresh && self.look.seen == *seen && self.meets_terms(asked)
    }

    /// Returns whether the same bytes would give the same drawers on these terms.
    pub fn meets_terms(&self, asked: &FilingTerms) -> bool {
        self.reading == READING_VERSION && asked.is_met_by(&self.asked)
    }
}
