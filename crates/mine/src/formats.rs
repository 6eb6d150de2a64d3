//! The formats conversations come in, each recognised by its structure and never by its name alone.
//!
//! A text format is one file of text. A bundle is several files, or a file that is no text, which together hold
//! conversations. To add a format: its own file with a folder of fixtures, and its line in [`FORMATS`]; names, docs and
//! tests follow from the table.

mod aider;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod cline;
mod codex;
mod continue_dev;
mod copilot;
mod copilot_cli;
mod cursor;
mod cursor_agent;
mod deepseek;
mod gemini_cli;
mod gemini_web;
mod json;
mod kimi;
mod openai_messages;
mod opencode;
mod pi;
mod plain;
mod slack;
mod transcript;
mod workspace;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use loci_core::{Error, Result};

use crate::conversation::{Conversation, Note};
use ConversationFormat::{Bundle, Text};

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

/// The format every file is to be taken for.
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

/// A format of conversations.
#[derive(Debug, Clone, Copy)]
pub enum ConversationFormat {
    /// One file of text.
    Text(TextFormat),
    /// Several files, or one that is not text.
    Bundle(BundleFormat),
}

impl ConversationFormat {
    /// What `--as` calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(format) => format.name,
            Self::Bundle(format) => format.name,
        }
    }
}

/// Every format, those that are told most surely first: where several claim a file, the first has it.
pub static FORMATS: [ConversationFormat; 21] = [
    Text(claude_code::CLAUDE_CODE),
    Text(codex::CODEX),
    Text(gemini_cli::GEMINI_CLI),
    Text(pi::PI),
    Text(copilot_cli::COPILOT_CLI),
    Text(deepseek::DEEPSEEK),
    Text(chatgpt::CHATGPT),
    Text(claude_ai::CLAUDE_AI),
    Text(copilot::COPILOT),
    Text(continue_dev::CONTINUE),
    Text(cline::CLINE),
    Text(gemini_web::GEMINI_WEB),
    Text(slack::SLACK_DAY),
    Text(cursor_agent::CURSOR_AGENT),
    Text(kimi::KIMI),
    Text(openai_messages::OPENAI_MESSAGES),
    Text(aider::AIDER),
    Text(plain::CHAT_TEXT),
    Bundle(opencode::OPENCODE),
    Bundle(slack::SLACK),
    Bundle(cursor::CURSOR_VSCDB),
];

static BUNDLES: LazyLock<Vec<BundleFormat>> = LazyLock::new(|| {
    let bundle = |format: &ConversationFormat| match format {
        Bundle(format) => Some(*format),
        Text(_) => None,
    };
    FORMATS.iter().filter_map(bundle).collect()
});

/// The bundle formats.
pub fn bundles() -> &'static [BundleFormat] {
    &BUNDLES
}

/// The bundles to look for where every source is taken for this format.
pub fn bundles_of(chosen: Option<Chosen>) -> &'static [BundleFormat] {
    match chosen {
        None => bundles(),
        Some(Chosen::Bundle(format)) => {
            let known = BUNDLES.iter().find(|known| known.name == format.name);
            known.map(std::slice::from_ref).unwrap_or_default()
        }
        Some(Chosen::File | Chosen::Text(_)) => &[],
    }
}

/// The text formats.
pub fn texts() -> impl Iterator<Item = &'static TextFormat> {
    FORMATS.iter().filter_map(|format| match format {
        Text(format) => Some(format),
        Bundle(_) => None,
    })
}

/// Everything `--as` takes.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = FORMATS
        .iter()
        .map(ConversationFormat::name)
        .chain([FILE])
        .collect();
    names.sort_unstable();
    names
}

/// What a name stands for; an unknown one is refused with all that are known.
pub fn chosen(name: Option<&str>) -> Result<Option<Chosen>> {
    match name {
        None => Ok(None),
        Some(FILE) => Ok(Some(Chosen::File)),
        Some(name) => match FORMATS.iter().find(|format| format.name() == name) {
            Some(Text(format)) => Ok(Some(Chosen::Text(*format))),
            Some(Bundle(format)) => Ok(Some(Chosen::Bundle(*format))),
            None => Err(
                Error::invalid(format!("{name:?} is no format that sources come in"))
                    .hint(format!("take one of {}", names().join(", "))),
            ),
        },
    }
}

/// Whether this is the name of a format of conversations.
pub fn is_talk(name: &str) -> bool {
    FORMATS.iter().any(|format| format.name() == name)
}

/// The format a text is of, if it is a conversation.
pub fn recognise(given: &Given<'_>) -> Option<TextFormat> {
    texts().find(|format| (format.recognise)(given)).copied()
}
