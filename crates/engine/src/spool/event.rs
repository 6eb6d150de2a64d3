//! One event: who said that something happened in which conversation.

use loci_core::Timestamp;
use serde::{Deserialize, Serialize};

/// The version of the lines this build writes.
pub const VERSION: u32 = 1;

/// Something happened in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The version of the line.
    pub v: u32,
    /// When it happened.
    pub at: Timestamp,
    /// Who says so.
    pub harness: String,
    /// What happened, by the harness's own name.
    pub event: String,
    /// The conversation, by the harness's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file the conversation is written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The folder it is had in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The palace it belongs in, for those who read the line.
    pub palace: String,
    /// The collection, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// How often mining was begun and did not succeed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// Not to be tried again before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Timestamp>,
    /// Why it did not succeed the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Which conversation an event is of, and where it goes.
pub(super) type Key = [Option<String>; 4];

impl Event {
    /// Events of one key are one piece of work: mining takes everything that is new.
    pub(super) fn key(&self) -> Key {
        let collection = self.collection.clone();
        match &self.transcript {
            Some(transcript) => [collection, Some(transcript.clone()), None, None],
            None => [collection, None, Some(self.harness.clone()), self.session.clone()],
        }
    }

    /// It as a line, without its end.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).expect("an event is made of texts and numbers")
    }

    /// This event with what is known from an earlier one of the same conversation.
    pub(super) fn following(mut self, earlier: Self) -> Self {
        self.tries = self.tries.max(earlier.tries);
        self.after = self.after.max(earlier.after);
        self.why = self.why.or(earlier.why);
        self
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
