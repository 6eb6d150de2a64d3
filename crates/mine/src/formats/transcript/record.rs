//! The records that messages are made from: everything about a message except its text.

use loci_core::{Metadata, MetadataValue, Timestamp};

use crate::conversation::MessageKind;

/// Everything about a message except its text. The messages of one record share it.
#[derive(Debug, Clone)]
pub(crate) struct MessageRecord {
    pub(crate) kind: MessageKind,
    pub(crate) speaker: String,
    pub(crate) id: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) about: Metadata,
}

impl MessageRecord {
    /// Creates a record with only a kind and a speaker.
    pub(crate) fn new(kind: MessageKind, speaker: impl Into<String>) -> Self {
        Self {
            kind,
            speaker: speaker.into(),
            id: None,
            thread: None,
            at: None,
            about: Metadata::new(),
        }
    }

    /// Returns the record with one more metadata value, if there is one.
    pub(crate) fn with_about(mut self, key: &str, value: Option<impl Into<MetadataValue>>) -> Self {
        if let Some(value) = value {
            self.about = self.about.with_entry(key, value);
        }
        self
    }

    /// Returns a copy of another kind.
    pub(crate) fn as_kind(&self, kind: MessageKind) -> Self {
        Self { kind, ..self.clone() }
    }

    /// Returns a copy from another speaker.
    pub(crate) fn spoken_by(&self, speaker: impl Into<String>) -> Self {
        Self {
            speaker: speaker.into(),
            ..self.clone()
        }
    }

    /// Returns a copy as a thought, which is always the model's.
    pub(crate) fn as_thought(&self) -> Self {
        let thought = self.as_kind(MessageKind::Thinking);
        // A record in the user's role can carry thoughts of the model; its speaker must not be credited with
        // them.
        if matches!(self.kind, MessageKind::Assistant | MessageKind::Thinking) {
            thought
        } else {
            thought.spoken_by(ASSISTANT.speaker)
        }
    }
}

/// Everything that the parts of one record share except their speaker.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordStamp {
    /// The record's own id.
    pub(crate) id: Option<String>,
    /// The time of the record.
    pub(crate) at: Option<Timestamp>,
    /// Further metadata.
    pub(crate) about: Metadata,
}

impl RecordStamp {
    /// Returns the stamp with one more metadata value, unless that is empty.
    pub(crate) fn with(mut self, key: &str, value: Option<String>) -> Self {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.about.insert(key, value);
        }
        self
    }

    /// Returns the record of a part in this voice.
    pub(crate) fn record_for(&self, voice: RecordVoice) -> MessageRecord {
        MessageRecord {
            kind: voice.kind,
            speaker: voice.speaker.to_owned(),
            id: self.id.clone(),
            thread: None,
            at: self.at,
            about: self.about.clone(),
        }
    }
}

/// The kind and the speaker of the plain texts of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordVoice {
    /// The kind of the texts.
    pub(crate) kind: MessageKind,
    /// The speaker's name.
    pub(crate) speaker: &'static str,
}

/// A person.
pub(crate) const HUMAN: RecordVoice = RecordVoice {
    kind: MessageKind::Human,
    speaker: "user",
};
/// The model.
pub(crate) const ASSISTANT: RecordVoice = RecordVoice {
    kind: MessageKind::Assistant,
    speaker: "assistant",
};
/// The software.
pub(crate) const SYSTEM: RecordVoice = RecordVoice {
    kind: MessageKind::System,
    speaker: "system",
};

/// A tool call. Its arguments are verbatim: the text of a string or a slice of JSON.
#[derive(Debug, Default)]
pub(crate) struct ToolCall {
    pub(crate) tool: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) arguments: Option<String>,
}
