//! Aider's `.aider.chat.history.md`: one heading for each session, with the person's and Aider's lines marked.

use loci_core::Result;

use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};
use crate::keys::ConversationKeys;

/// Aider's chat history.
pub(super) const AIDER: TextFormat = TextFormat {
    name: "aider",
    recognise,
    parse,
};

/// The beginning of a session's heading; its local time without a zone follows.
const STARTED: &str = "# aider chat started at ";

fn recognise(given: &ParserInput<'_>) -> bool {
    let named = given
        .path
        .file_name()
        .is_some_and(|name| name == ".aider.chat.history.md");
    let mut lines = given.text.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next().is_some_and(|line| line.starts_with(STARTED));
    // The file may begin with something else; then its name has to vouch for it.
    first || (named && lines.any(|line| line.starts_with(STARTED)))
}

/// The speaker of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AiderSpeaker {
    Person,
    Aider,
    Model,
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut reader = AiderReader::new(given.text);
    for line in given.text.split_inclusive('\n') {
        match line.strip_prefix(STARTED) {
            Some(started) => {
                reader.end_session(sink)?;
                reader.started = Some(started.trim_end().to_owned());
            }
            None => reader.take_line(line),
        }
    }
    reader.end_session(sink)?;
    Ok(reader.said.notes)
}

/// Reads line by line and collects the current block.
struct AiderReader {
    said: TranscriptBuilder,
    keys: ConversationKeys,
    started: Option<String>,
    voice: AiderSpeaker,
    block: String,
    /// Whether Aider's own lines end with two blanks, which distinguishes them from a model's headings and
    /// quotations. An editor may have stripped the blanks; then only code fences help.
    blanks: bool,
    in_fence: bool,
}

impl AiderReader {
    fn new(text: &str) -> Self {
        let marked = |line: &str| line.starts_with("#### ") || line.starts_with("> ");
        let blanks = text.lines().any(|line| marked(line) && line.ends_with("  "));
        Self {
            said: TranscriptBuilder::new(CallSpeaker::Caller),
            keys: ConversationKeys::default(),
            started: None,
            voice: AiderSpeaker::Model,
            block: String::new(),
            blanks,
            in_fence: false,
        }
    }

    fn take_line(&mut self, line: &str) {
        let bare = line.trim_end_matches(['\n', '\r']);
        let (voice, text) = self.identify_speaker(bare);
        if voice != self.voice {
            self.end_block();
            self.voice = voice;
        }
        if voice == AiderSpeaker::Model {
            // Lines inside a model's fence may look like Aider's or a person's, but are code.
            self.in_fence ^= bare.trim_start().starts_with("```");
            self.block.push_str(line);
        } else {
            self.block.push_str(text);
            self.block.push('\n');
        }
    }

    /// Returns the speaker of this line, and its text without Aider's marks.
    fn identify_speaker<'l>(&self, bare: &'l str) -> (AiderSpeaker, &'l str) {
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
            (Some(text), _) if own => (AiderSpeaker::Person, text),
            (_, Some(text)) if own => (AiderSpeaker::Aider, text),
            _ => (AiderSpeaker::Model, bare),
        }
    }

    fn end_block(&mut self) {
        let (kind, speaker) = match self.voice {
            AiderSpeaker::Person => (MessageKind::Human, "user"),
            AiderSpeaker::Aider => (MessageKind::System, "aider"),
            AiderSpeaker::Model => (MessageKind::Assistant, "assistant"),
        };
        let block = std::mem::take(&mut self.block);
        // The time has no zone, so it cannot become `at`; it is kept as it is written.
        let record = MessageRecord::new(kind, speaker).with_about("started", self.started.clone());
        match self.voice {
            AiderSpeaker::Model => self.said.push(&record, without_outer_blank_lines(&block)),
            AiderSpeaker::Person | AiderSpeaker::Aider => {
                self.said
                    .push(&record, block.strip_suffix('\n').unwrap_or(&block));
            }
        }
        self.in_fence = false;
    }

    fn end_session(&mut self, sink: &mut ConversationSink<'_>) -> Result<()> {
        self.end_block();
        self.voice = AiderSpeaker::Model;
        let name = self.started.take();
        // Claiming a key for an empty session would shift the numbers of later ones with the same time.
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

/// Returns the text without the blank lines that only separate it from its neighbours.
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
