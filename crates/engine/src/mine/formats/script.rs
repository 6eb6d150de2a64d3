//! A conversation being written down: messages as they are found, notes for what cannot be kept.

pub(super) mod blocks;

use std::collections::HashMap;

use loci_core::{Metadata, Result, Timestamp};

use super::Sink;
use super::json::Fields;
use super::json::lines::Line;
use crate::mine::conversation::{Conversation, Kind, Message, Note};

/// What the parts of one record share.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamp {
    /// The record's own id.
    pub(super) id: Option<String>,
    /// Its time.
    pub(super) at: Option<Timestamp>,
    /// What else is known of it.
    pub(super) about: Metadata,
}

impl Stamp {
    /// The stamp with one more thing known, if it is.
    pub(super) fn with(mut self, key: &str, value: Option<String>) -> Self {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.about.insert(key, value);
        }
        self
    }
}

/// Who speaks the plain texts of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Voice {
    /// What kind of thing they are.
    pub(super) kind: Kind,
    /// Who says them.
    pub(super) speaker: &'static str,
}

/// A person.
pub(super) const HUMAN: Voice = Voice {
    kind: Kind::Human,
    speaker: "user",
};
/// The model.
pub(super) const ASSISTANT: Voice = Voice {
    kind: Kind::Assistant,
    speaker: "assistant",
};
/// The software.
pub(super) const SYSTEM: Voice = Voice {
    kind: Kind::System,
    speaker: "system",
};

/// A conversation being written down.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// What there is of it.
    pub(super) conversation: Conversation,
    /// What could not be kept.
    pub(super) notes: Vec<Note>,
    /// The line that is being read.
    pub(super) line: Option<u64>,
    /// The name of the tool of each call.
    tools: HashMap<String, String>,
}

impl Script {
    /// Writes down a text; an empty one is left out.
    pub(super) fn say(&mut self, stamp: &Stamp, voice: Voice, text: String) {
        self.push(stamp, voice.kind, voice.speaker.to_owned(), text);
    }

    /// Writes down a thought of the model.
    pub(super) fn think(&mut self, stamp: &Stamp, text: String) {
        self.push(stamp, Kind::Thinking, ASSISTANT.speaker.to_owned(), text);
    }

    /// Writes down the call of a tool.
    pub(super) fn call(
        &mut self,
        stamp: &Stamp,
        tool: Option<String>,
        id: Option<String>,
        arguments: String,
    ) {
        if let (Some(id), Some(tool)) = (&id, &tool) {
            self.tools.insert(id.clone(), tool.clone());
        }
        let speaker = tool.clone().unwrap_or_else(|| "tool".to_owned());
        let stamp = stamp.clone().with("tool", tool).with("call_id", id);
        self.push(&stamp, Kind::ToolCall, speaker, arguments);
    }

    /// Writes down what a tool answered. The tool is known by its name, or by the call.
    pub(super) fn answer(&mut self, stamp: &Stamp, tool: Option<String>, id: Option<String>, text: String) {
        let tool = tool.or_else(|| self.tools.get(id.as_deref()?).cloned());
        let speaker = tool.clone().unwrap_or_else(|| "tool".to_owned());
        let stamp = stamp.clone().with("tool", tool).with("call_id", id);
        self.push(&stamp, Kind::ToolResult, speaker, text);
    }

    fn push(&mut self, stamp: &Stamp, kind: Kind, speaker: String, text: String) {
        if text.is_empty() {
            return;
        }
        let mut about = stamp.about.clone();
        if matches!(kind, Kind::Human | Kind::ToolResult | Kind::System) {
            about.remove("model");
        }
        self.conversation.messages.push(Message {
            id: stamp.id.clone(),
            speaker: Some(speaker),
            at: stamp.at,
            about,
            ..Message::new(kind, text)
        });
    }

    /// Takes a person's voice from messages: nobody but the software speaks in the user's place there.
    pub(super) fn without_person(&mut self, from: usize) {
        for message in self.conversation.messages.iter_mut().skip(from) {
            if message.kind == Kind::Human {
                message.kind = SYSTEM.kind;
                message.speaker = Some(SYSTEM.speaker.to_owned());
            }
        }
    }

    /// The record on a line, which is the one being read from now on; where there is none, that is noted.
    pub(super) fn record<'a>(&mut self, line: Line<'a>) -> Option<Fields<'a>> {
        self.line = Some(line.number);
        line.content
            .map_err(|broken| self.note(format!("{broken}, left out")))
            .ok()
    }

    /// Notes something about the line that is being read.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Note {
            line: self.line,
            text: text.into(),
        });
    }

    /// Notes that something which is no text is not kept.
    pub(super) fn not_kept(&mut self, what: &str, media_type: Option<&str>, size: Option<usize>) {
        let size = size.map(|size| format!("{size} bytes"));
        let known: Vec<&str> = media_type.into_iter().chain(size.as_deref()).collect();
        let known = match known.is_empty() {
            true => String::new(),
            false => format!(" ({})", known.join(", ")),
        };
        self.note(format!("{what}{known} is not kept"));
    }

    /// Whether something was written down since there were `before` messages.
    pub(super) fn grew(&self, before: usize) -> bool {
        self.conversation.messages.len() > before
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.conversation.messages.len()
    }

    /// Hands the conversation over and gives the notes back.
    pub(super) fn finish(self, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
        sink(self.conversation)?;
        Ok(self.notes)
    }
}

/// How many bytes a text in base64 stands for.
pub(super) fn decoded_size(base64: &str) -> usize {
    let body = base64.trim_end_matches('=');
    body.len() / 4 * 3 + body.len() % 4 * 3 / 4
}

/// The media type and size of a `data:` address.
pub(super) fn data_url(url: &str) -> (Option<&str>, Option<usize>) {
    let Some((media_type, body)) = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    else {
        return (None, None);
    };
    (Some(media_type), Some(decoded_size(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_what_is_encoded() {
        assert_eq!(decoded_size("aGk="), 2);
        assert_eq!(decoded_size("aGkh"), 3);
        assert_eq!(
            data_url("data:image/png;base64,aGk="),
            (Some("image/png"), Some(2))
        );
        assert_eq!(data_url("https://example.org/x.png"), (None, None));
    }
}
