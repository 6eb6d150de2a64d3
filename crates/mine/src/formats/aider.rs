//! Aider's `.aider.chat.history.md`: sessions under a heading each, the person's lines and the tool's marked.

use loci_core::Result;

use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};
use crate::keys::ConversationKeys;

/// Aider's chat history.
pub(super) const AIDER: TextFormat = TextFormat {
    name: "aider",
    recognise,
    parse,
};

/// What a session's heading begins with; its local time without a zone follows.
const STARTED: &str = "# aider chat started at ";

fn recognise(given: &Given<'_>) -> bool {
    let named = given
        .path
        .file_name()
        .is_some_and(|name| name == ".aider.chat.history.md");
    let mut lines = given.text.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next().is_some_and(|line| line.starts_with(STARTED));
    first || (named && lines.any(|line| line.starts_with(STARTED)))
}

/// Whose a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Person,
    Aider,
    Model,
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut reader = Reader::new(given.text);
    for line in given.text.split_inclusive('\n') {
        match line.strip_prefix(STARTED) {
            Some(started) => {
                reader.end_session(sink)?;
                reader.started = Some(started.trim_end().to_owned());
            }
            None => reader.line(line),
        }
    }
    reader.end_session(sink)?;
    Ok(reader.said.notes)
}

/// Reads line by line and keeps the block it is in.
struct Reader {
    said: TranscriptBuilder,
    keys: ConversationKeys,
    started: Option<String>,
    voice: Voice,
    block: String,
    /// Aider ends its own lines with two blanks, which tells them from a model's headings and quotations. A file that
    /// an editor has tidied has none; there, fences do what they can.
    blanks: bool,
    in_fence: bool,
}

impl Reader {
    fn new(text: &str) -> Self {
        let marked = |line: &str| line.starts_with("#### ") || line.starts_with("> ");
        let blanks = text.lines().any(|line| marked(line) && line.ends_with("  "));
        Self {
            said: TranscriptBuilder::new(CallSpeaker::Caller),
            keys: ConversationKeys::default(),
            started: None,
            voice: Voice::Model,
            block: String::new(),
            blanks,
            in_fence: false,
        }
    }

    fn line(&mut self, line: &str) {
        let bare = line.trim_end_matches(['\n', '\r']);
        let (voice, text) = self.heard(bare);
        if voice != self.voice {
            self.end_block();
            self.voice = voice;
        }
        if voice == Voice::Model {
            self.in_fence ^= bare.trim_start().starts_with("```");
            self.block.push_str(line);
        } else {
            self.block.push_str(text);
            self.block.push('\n');
        }
    }

    /// Whose this line is, and what it says without Aider's marks.
    fn heard<'l>(&self, bare: &'l str) -> (Voice, &'l str) {
        let unmarked = bare.strip_suffix("  ");
        let own = if self.blanks {
            unmarked.is_some()
        } else {
            !self.in_fence
        };
        let text = unmarked.unwrap_or(bare);
        let person = text
            .strip_prefix("#### ")
            .or_else(|| text.strip_prefix("####").filter(|rest| rest.is_empty()));
        let aider = text
            .strip_prefix("> ")
            .or_else(|| text.strip_prefix('>').filter(|rest| rest.is_empty()));
        match (person, aider) {
            (Some(text), _) if own => (Voice::Person, text),
            (_, Some(text)) if own => (Voice::Aider, text),
            _ => (Voice::Model, bare),
        }
    }

    fn end_block(&mut self) {
        let (kind, speaker) = match self.voice {
            Voice::Person => (Kind::Human, "user"),
            Voice::Aider => (Kind::System, "aider"),
            Voice::Model => (Kind::Assistant, "assistant"),
        };
        let block = std::mem::take(&mut self.block);
        let record = MessageRecord::new(kind, speaker).about("started", self.started.clone());
        match self.voice {
            Voice::Model => self.said.push(&record, without_outer_blank_lines(&block)),
            Voice::Person | Voice::Aider => {
                self.said
                    .push(&record, block.strip_suffix('\n').unwrap_or(&block));
            }
        }
        self.in_fence = false;
    }

    fn end_session(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        self.end_block();
        self.voice = Voice::Model;
        let name = self.started.take();
        if self.said.conversation.messages.is_empty() {
            return Ok(());
        }
        let key = Some(
            self.keys
                .claim_in_export(name.or_else(|| Some("before the first session".to_owned()))),
        );
        self.said.hand_over(
            Conversation {
                key,
                ..Conversation::default()
            },
            sink,
        )
    }
}

/// The text without the blank lines that only part it from its neighbours.
fn without_outer_blank_lines(text: &str) -> &str {
    let mut inner = text;
    while let Some((_, rest)) = inner
        .split_once('\n')
        .filter(|(first, _)| first.trim().is_empty())
    {
        inner = rest;
    }
    if inner.trim().is_empty() {
        ""
    } else {
        inner.trim_end_matches(['\n', '\r'])
    }
}
