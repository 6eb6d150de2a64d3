//! The stamp of a source: what it looked like when it was filed, and what was asked for then.

use loci_core::Timestamp;
use loci_mine::SourceFingerprint;
use serde::{Deserialize, Serialize};

/// Changes whenever the same bytes would give other drawers; sources stamped with another one are read again.
pub const READING: u32 = 1;

/// What a source looked like, as the collection remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The [`READING`] it was read with.
    pub reading: u32,
    /// What a stat said of it.
    pub look: Look,
    /// The hash of its bytes, or of its words where it is one of several conversations in a file.
    pub hash: String,
    /// What it was taken for.
    pub format: String,
    /// How it was asked for.
    #[serde(default)]
    pub asked: Asked,
    /// How many drawers it has.
    pub drawers: u64,
    /// The file it is one conversation of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
}

/// A file that holds several conversations, as it was when one of them was last seen in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    /// The name of the file.
    pub file: String,
    /// The hash of its bytes.
    pub hash: String,
}

/// What decides how a source is read and filed, beside its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// The format that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The wing that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wing: Option<String>,
    /// The room that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// Nothing said before this was filed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The size of pieces.
    pub pieces: usize,
}

impl Asked {
    /// Whether what was filed as `before` asked is what this asks for; what is not asked for now stays as it was.
    pub fn is_met_by(&self, before: &Self) -> bool {
        let met = |now: &Option<String>, before: &Option<String>| now.is_none() || now == before;
        met(&self.format, &before.format)
            && met(&self.wing, &before.wing)
            && met(&self.room, &before.room)
            && self.pieces == before.pieces
            && match (before.since, self.since) {
                (None, _) => true,
                (Some(then), Some(now)) => then <= now,
                (Some(_), None) => false,
            }
    }

    /// This, with what is not asked for now as it was asked for before.
    pub fn after(&self, before: Option<&Self>) -> Self {
        let Some(before) = before else {
            return self.clone();
        };
        Self {
            format: self.format.clone().or_else(|| before.format.clone()),
            wing: self.wing.clone().or_else(|| before.wing.clone()),
            room: self.room.clone().or_else(|| before.room.clone()),
            since: self.since,
            pieces: self.pieces,
        }
    }
}

/// What a stat, or the stats of several files, said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The file or, for several, a hash of all their names and stats.
    #[serde(flatten)]
    pub seen: SourceFingerprint,
    /// It was changed so shortly before it was read that a later change could look the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

impl Stamp {
    /// Reads what [`Stamp::to_text`] wrote; a stamp nobody can read is none.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The stamp as it is remembered.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a stamp has only text and numbers")
    }

    /// Whether a source that looks like `seen` now is certainly as it was filed.
    pub fn covers(&self, seen: &SourceFingerprint, asked: &Asked) -> bool {
        !self.look.fresh && self.look.seen == *seen && self.meets(asked)
    }

    /// Whether the same bytes would give the same drawers now.
    pub fn meets(&self, asked: &Asked) -> bool {
        self.reading == READING && asked.is_met_by(&self.asked)
    }
}
