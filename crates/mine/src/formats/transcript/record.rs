//! The records messages are made from: everything known of a message but its text.

use loci_core::{Metadata, Timestamp, Value};

use crate::conversation::Kind;

/// Everything known of a message but its text. The messages of one record share it.
#[derive(Debug, Clone)]
pub(crate) struct MessageRecord {
    pub(crate) kind: Kind,
    pub(crate) speaker: String,
    pub(crate) id: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) about: Metadata,
}

impl MessageRecord {
    /// A record of which only the kind and the speaker are known.
    pub(crate) fn new(kind: Kind, speaker: impl Into<String>) -> Self {
        Self {
            kind,
            speaker: speaker.into(),
            id: None,
            thread: None,
            at: None,
            about: Metadata::new(),
        }
    }

    /// The same record with one more thing known about it, if it is known.
    pub(crate) fn about(mut self, key: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.about = self.about.with(key, value);
        }
        self
    }

    /// The same record as another kind.
    pub(crate) fn of_kind(&self, kind: Kind) -> Self {
        Self { kind, ..self.clone() }
    }

    /// The same record from another speaker.
    pub(crate) fn spoken_by(&self, speaker: impl Into<String>) -> Self {
        Self {
            speaker: speaker.into(),
            ..self.clone()
        }
    }

    /// The same record as a thought, which only a model has.
    pub(crate) fn as_thought(&self) -> Self {
        let thought = self.of_kind(Kind::Thinking);
        if matches!(self.kind, Kind::Assistant | Kind::Thinking) {
            thought
        } else {
            thought.spoken_by(ASSISTANT.speaker)
        }
    }
}

/// Everything the parts of one record share but their speaker.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordStamp {
    /// The record's own id.
    pub(crate) id: Option<String>,
    /// Its time.
    pub(crate) at: Option<Timestamp>,
    /// Everything else known of it.
    pub(crate) about: Metadata,
}

impl RecordStamp {
    /// The stamp with one more thing known, if it is.
    pub(crate) fn with(mut self, key: &str, value: Option<String>) -> Self {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.about.insert(key, value);
        }
        self
    }

    /// The record of a part that this voice speaks.
    pub(crate) fn spoken(&self, voice: Voice) -> MessageRecord {
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

/// The speaker of the plain texts of a record, and what kind of thing they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Voice {
    /// The kind of thing they are.
    pub(crate) kind: Kind,
    /// The speaker's name.
    pub(crate) speaker: &'static str,
}

/// A person.
pub(crate) const HUMAN: Voice = Voice {
    kind: Kind::Human,
    speaker: "user",
};
/// The model.
pub(crate) const ASSISTANT: Voice = Voice {
    kind: Kind::Assistant,
    speaker: "assistant",
};
/// The software.
pub(crate) const SYSTEM: Voice = Voice {
    kind: Kind::System,
    speaker: "system",
};

/// A tool call: its arguments are verbatim, a string's text or a slice of JSON.
#[derive(Debug, Default)]
pub(crate) struct ToolCall {
    pub(crate) tool: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) arguments: Option<String>,
}
