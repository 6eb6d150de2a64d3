//! The formats conversations come in, each recognised by its structure and never by its name alone.
//!
//! A text format is one file of text. A bundle is several files, or a file that is no text, which together hold
//! conversations. To add a format: one file here, one line in the table, one folder of fixtures.

pub mod aider;
pub mod chatgpt;
pub mod claude_ai;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod continue_dev;
pub mod copilot;
pub mod copilot_cli;
pub mod cursor;
pub mod cursor_agent;
pub mod deepseek;
pub mod gemini_cli;
pub mod gemini_web;
mod json;
pub mod kimi;
pub mod openai_messages;
pub mod opencode;
pub mod pi;
pub mod plain;
mod said;
mod script;
pub mod slack;
mod workspace;

use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use super::conversation::{Conversation, Note};

/// A text file, as a parser sees it.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Where it lies; parsers may look at the names around it, and read what lies beside it.
    pub path: &'a Path,
    /// All its text.
    pub text: &'a str,
}

/// Takes conversations as they are read; an error from it ends the reading.
pub type Sink<'a> = dyn FnMut(Conversation) -> Result<()> + 'a;

/// A format of one text file.
#[derive(Debug, Clone, Copy)]
pub struct TextFormat {
    /// What `--as` calls it.
    pub name: &'static str,
    /// Whether a file is of this format: by structure, from its beginning where that is enough. Never fails.
    pub recognise: fn(&Given<'_>) -> bool,
    /// Reads it. Unknown fields are passed over; what is broken or cannot be kept becomes a note with its line, and the
    /// rest is read. Only what is not of this format at all is an error.
    pub parse: fn(&Given<'_>, &mut Sink<'_>) -> Result<Vec<Note>>,
}

/// A format of several files, or of one that is no text.
#[derive(Debug, Clone, Copy)]
pub struct BundleFormat {
    /// What `--as` calls it.
    pub name: &'static str,
    /// The files that make up the bundle whose root is this folder or file, if it is one; `None` if it is not.
    /// Opens as little as it can; never follows a link out of the folder. The files are not mined for themselves.
    pub files: fn(&Path) -> Option<Vec<PathBuf>>,
    /// Reads it, as a text format is read.
    pub parse: fn(&Path, &mut Sink<'_>) -> Result<Vec<Note>>,
}

/// What somebody asked every file to be taken for.
#[derive(Debug, Clone, Copy)]
pub enum Chosen {
    /// Any file of text.
    File,
    /// A conversation in one file of text.
    Text(TextFormat),
    /// A bundle.
    Bundle(BundleFormat),
}

/// What `--as` calls a file that is no conversation.
pub const FILE: &str = "text";

/// The text formats, those that are told most surely first: where several claim a file, the first has it.
static TEXTS: [&TextFormat; 18] = [
    &claude_code::CLAUDE_CODE,
    &codex::CODEX,
    &gemini_cli::GEMINI_CLI,
    &pi::PI,
    &copilot_cli::COPILOT_CLI,
    &deepseek::DEEPSEEK,
    &chatgpt::CHATGPT,
    &claude_ai::CLAUDE_AI,
    &copilot::COPILOT,
    &continue_dev::CONTINUE,
    &cline::CLINE,
    &gemini_web::GEMINI_WEB,
    &slack::SLACK_DAY,
    &cursor_agent::CURSOR_AGENT,
    &kimi::KIMI,
    &openai_messages::OPENAI_MESSAGES,
    &aider::AIDER,
    &plain::CHAT_TEXT,
];

/// The bundle formats.
static BUNDLES: [BundleFormat; 3] = [opencode::OPENCODE, slack::SLACK, cursor::CURSOR_VSCDB];

/// The bundle formats.
pub fn bundles() -> &'static [BundleFormat] {
    &BUNDLES
}

/// The text formats.
pub fn texts() -> &'static [&'static TextFormat] {
    &TEXTS
}

/// Everything `--as` takes.
pub fn names() -> Vec<&'static str> {
    let texts = texts().iter().map(|format| format.name);
    let bundles = bundles().iter().map(|format| format.name);
    let mut names: Vec<_> = texts.chain(bundles).chain([FILE]).collect();
    names.sort_unstable();
    names
}

/// What a name stands for; an unknown one is refused with all that are known.
pub fn chosen(name: Option<&str>) -> Result<Option<Chosen>> {
    let Some(name) = name else { return Ok(None) };
    let text = texts().iter().find(|format| format.name == name);
    let bundle = bundles().iter().find(|format| format.name == name);
    match (name, text, bundle) {
        (FILE, _, _) => Ok(Some(Chosen::File)),
        (_, Some(format), _) => Ok(Some(Chosen::Text(**format))),
        (_, None, Some(format)) => Ok(Some(Chosen::Bundle(*format))),
        (_, None, None) => Err(
            Error::invalid(format!("{name:?} is no format that sources come in"))
                .hint(format!("take one of {}", names().join(", "))),
        ),
    }
}

/// Whether this is the name of a format of conversations.
pub fn is_talk(name: &str) -> bool {
    texts().iter().any(|format| format.name == name) || bundles().iter().any(|format| format.name == name)
}

/// The format a text is of, if it is a conversation.
pub fn recognise(given: &Given<'_>) -> Option<TextFormat> {
    let found = texts().iter().find(|format| (format.recognise)(given));
    found.map(|format| **format)
}
