//! One event: a harness reports that something happened in a conversation.

use loci_core::Timestamp;
use serde::{Deserialize, Serialize};

/// The version of the event lines this build writes.
pub const EVENT_VERSION: u32 = 1;

/// An event in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolEvent {
    /// The version of the line.
    pub v: u32,
    /// When it happened.
    pub at: Timestamp,
    /// The harness that reports it.
    pub harness: String,
    /// The name of the event, as the harness calls it.
    pub event: String,
    /// The id of the conversation, as the harness calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file the conversation is written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The working folder of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The palace it belongs in; for people who read the file.
    pub palace: String,
    /// The collection, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The number of tries that did not succeed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// The time before which it is not tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Timestamp>,
    /// The reason the last try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The conversation of an event, and the collection it goes to.
pub(super) type ConversationKey = [Option<String>; 4];

impl SpoolEvent {
    /// Returns the key of its conversation. Events with one key are one piece of work, since mining takes
    /// everything new.
    pub(super) fn conversation_key(&self) -> ConversationKey {
        let collection = self.collection.clone();
        // A path identifies a conversation by itself; a session id does so only within its harness.
        match &self.transcript {
            Some(transcript) => [collection, Some(transcript.clone()), None, None],
            None => [collection, None, Some(self.harness.clone()), self.session.clone()],
        }
    }

    /// Returns the event as a line, without the line break.
    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(self).expect("an event is made of texts and numbers")
    }

    /// Returns this event with the tries, pause and reason of an earlier one of the same conversation.
    pub(super) fn merged_with(mut self, earlier: Self) -> Self {
        self.tries = self.tries.max(earlier.tries);
        self.after = self.after.max(earlier.after);
        self.why = self.why.or(earlier.why);
        self
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
