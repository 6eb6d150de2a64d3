//! A conversation: messages in order, each with its own speaker, kind, time and id.

use loci_core::{Metadata, Timestamp};

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Words of a person.
    Human,
    /// Words of a model.
    Assistant,
    /// A model's call of a tool; the text holds the arguments.
    ToolCall,
    /// The answer of a tool, kept whole.
    ToolResult,
    /// A thought of a model.
    Thinking,
    /// Words of the software: instructions, summaries, errors.
    System,
}

impl MessageKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Human,
        Self::Assistant,
        Self::ToolCall,
        Self::ToolResult,
        Self::Thinking,
        Self::System,
    ];

    /// Returns the name that drawers carry.
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
pub struct ConversationMessage {
    /// The id given by the software that wrote it. Parts of one message share it. Without an id, the message is
    /// identified by its place in the conversation.
    pub id: Option<String>,
    /// The thread it belongs to, if that is not the conversation's own.
    pub thread: Option<String>,
    /// The speaker: a name if one is known, else the role ("user", "assistant", the tool's name).
    pub speaker: Option<String>,
    /// The kind of message.
    pub kind: MessageKind,
    /// The time it was said.
    pub at: Option<Timestamp>,
    /// The exact words.
    pub text: String,
    /// Further metadata under plain keys: `tool`, `call_id`, `model`, `reply_to`, `branch`, `parent`…
    pub about: Metadata,
}

impl ConversationMessage {
    /// Creates a message with a kind and a text and nothing else.
    pub fn new(kind: MessageKind, text: impl Into<String>) -> Self {
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
    /// The key that distinguishes it in its file; `None` if the file is the conversation.
    pub key: Option<String>,
    /// The id given by the software that wrote it: the session or thread.
    pub id: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The working folder of the conversation.
    pub cwd: Option<String>,
    /// The id of the conversation that started this one, for a sub-agent.
    pub parent: Option<String>,
    /// The messages in order. Messages without text are left out.
    pub messages: Vec<ConversationMessage>,
}

/// A part of a source that could not be kept: a broken line, an image, an attachment stored elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingNote {
    /// The line it is on, counted from 1, if the source has lines.
    pub line: Option<u64>,
    /// A description of the part and of what became of it.
    pub text: String,
}

impl ReadingNote {
    /// Creates a note about one line.
    pub fn at_line(line: u64, text: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            text: text.into(),
        }
    }

    /// Creates a note about the whole source.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            line: None,
            text: text.into(),
        }
    }
}
