//! A conversation as it was had: messages in order, each with its own speaker, kind, time and id.

use loci_core::{Metadata, Timestamp};

/// What kind of thing was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A person said it.
    Human,
    /// A model said it.
    Assistant,
    /// A model called a tool; the text holds the arguments.
    ToolCall,
    /// A tool answered; kept whole.
    ToolResult,
    /// A model thought it.
    Thinking,
    /// The software said it: instructions, summaries, errors.
    System,
}

impl Kind {
    /// The name drawers carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Assistant => "assistant",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Thinking => "thinking",
            Self::System => "system",
        }
    }
}

/// One message, or one part of a message that has several kinds of parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its own id, as the software that wrote it calls it. Parts of one message share it. Without one, the message is
    /// known by its place in the conversation.
    pub id: Option<String>,
    /// The thread it belongs to, where that is not the conversation's own.
    pub thread: Option<String>,
    /// Who said it: a name where one is known, else the role ("user", "assistant", the tool's name).
    pub speaker: Option<String>,
    /// What kind of thing it is.
    pub kind: Kind,
    /// When it was said.
    pub at: Option<Timestamp>,
    /// What was said, exactly.
    pub text: String,
    /// What else is worth keeping, under plain keys: `tool`, `call_id`, `model`, `reply_to`, `branch`, `parent`…
    pub about: Metadata,
}

impl Message {
    /// A message with a kind and a text and nothing else.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            id: None,
            thread: None,
            speaker: None,
            kind,
            at: None,
            text: text.into(),
            about: Metadata::new(),
        }
    }
}

/// A conversation read from a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// What tells it from the others in the same file; `None` where the file is the conversation.
    pub key: Option<String>,
    /// Its own id, as the software that wrote it calls it: the session or thread.
    pub id: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// The folder it was had in.
    pub cwd: Option<String>,
    /// The id of the conversation that started this one, for a sub-agent's.
    pub parent: Option<String>,
    /// What was said, in order. Messages without any text are left out.
    pub messages: Vec<Message>,
}

/// Something of a source that could not be taken over: a broken line, an image, an attachment that is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The line it stands on, counted from 1, where the source has lines.
    pub line: Option<u64>,
    /// What it is, and what became of it.
    pub text: String,
}

impl Note {
    /// A note about one line.
    pub fn at_line(line: u64, text: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            text: text.into(),
        }
    }

    /// A note about the whole source.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            line: None,
            text: text.into(),
        }
    }
}
