//! The formats of conversations, each recognised by its structure and never by its name alone.
//!
//! A text format is one file of text. A bundle is several files, or one that is not text, which together hold
//! conversations. To add a format, add its file with a folder of fixtures, and its line in [`FORMATS`]; names, docs and
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

use crate::conversation::{Conversation, ReadingNote};
use ConversationFormat::{Bundle, Text};

/// A text file, as a parser sees it.
#[derive(Debug, Clone, Copy)]
pub struct ParserInput<'a> {
    /// Its path; parsers may look at the names around it and read files beside it.
    pub path: &'a Path,
    /// All its text.
    pub text: &'a str,
}

/// A callback that takes conversations as they are read; an error from it ends the reading.
pub type ConversationSink<'a> = dyn FnMut(Conversation) -> Result<()> + 'a;

/// A format of one text file.
#[derive(Debug, Clone, Copy)]
pub struct TextFormat {
    /// The name that `--as` accepts.
    pub name: &'static str,
    /// Returns whether a file is of this format, by structure and from its beginning if that is enough. Never fails.
    pub recognise: fn(&ParserInput<'_>) -> bool,
    /// Reads the file. Unknown fields are ignored; a part that is broken or cannot be kept becomes a note with its
    /// line, and the rest is read. Only a file that is not of this format at all is an error.
    pub parse: fn(&ParserInput<'_>, &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>>,
}

/// A format of several files, or of one that is not text.
#[derive(Debug, Clone, Copy)]
pub struct BundleFormat {
    /// The name that `--as` accepts.
    pub name: &'static str,
    /// Returns the files of the bundle whose root is this folder or file; `None` if it is not a bundle. Opens as
    /// little as possible and never follows a link out of the folder. The files are not mined separately.
    pub files: fn(&Path) -> Option<Vec<PathBuf>>,
    /// Reads the bundle, under the rules of a text format.
    pub parse: fn(&BundleInput<'_>, &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>>,
}

/// A bundle to read.
#[derive(Debug, Clone, Copy)]
pub struct BundleInput<'a> {
    /// The folder or file at which it begins.
    pub path: &'a Path,
    /// The most bytes of one of its parts, such as a file or the value of a database. A larger part is left out, with a
    /// note, and is never read into memory.
    pub max_bytes: u64,
}

/// The format that every source is read as.
#[derive(Debug, Clone, Copy)]
pub enum FormatChoice {
    /// Any file of text.
    File,
    /// A conversation in one file of text.
    Text(TextFormat),
    /// A bundle.
    Bundle(BundleFormat),
}

/// The name that `--as` accepts for a file that is not a conversation.
pub const FILE_FORMAT: &str = "text";

/// A format of conversations.
#[derive(Debug, Clone, Copy)]
pub enum ConversationFormat {
    /// One file of text.
    Text(TextFormat),
    /// Several files, or one that is not text.
    Bundle(BundleFormat),
}

impl ConversationFormat {
    /// The name that `--as` accepts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(format) => format.name,
            Self::Bundle(format) => format.name,
        }
    }
}

/// All formats, the most distinctive first: if several recognise a file, the first one reads it.
pub static FORMATS: [ConversationFormat; 21] = [
    Text(claude_code::CLAUDE_CODE),
    Text(codex::CODEX),
    Text(gemini_cli::GEMINI_CLI),
    Text(pi::PI),
    Text(copilot_cli::COPILOT_CLI),
    // Before ChatGPT, because DeepSeek's export also has a `mapping` of nodes.
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
    // Any list of messages with roles fits this one, so it comes after all others that have roles.
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

/// Returns the bundle formats.
pub fn bundle_formats() -> &'static [BundleFormat] {
    &BUNDLES
}

/// Returns the bundles to look for if every source is read as this format.
pub fn bundles_to_find(chosen: Option<FormatChoice>) -> &'static [BundleFormat] {
    match chosen {
        None => bundle_formats(),
        Some(FormatChoice::Bundle(format)) => {
            let known = BUNDLES.iter().find(|known| known.name == format.name);
            known.map(std::slice::from_ref).unwrap_or_default()
        }
        // No bundles: `--as text` mines the files of a bundle one by one, and a text format cannot read one.
        Some(FormatChoice::File | FormatChoice::Text(_)) => &[],
    }
}

/// Returns the text formats.
pub fn text_formats() -> impl Iterator<Item = &'static TextFormat> {
    FORMATS.iter().filter_map(|format| match format {
        Text(format) => Some(format),
        Bundle(_) => None,
    })
}

/// Returns all names that `--as` accepts, sorted.
pub fn format_names() -> Vec<&'static str> {
    let mut names: Vec<_> = FORMATS
        .iter()
        .map(ConversationFormat::name)
        .chain([FILE_FORMAT])
        .collect();
    names.sort_unstable();
    names
}

/// Returns the format of a name; an unknown one is refused with the list of known ones.
pub fn choose_format(name: Option<&str>) -> Result<Option<FormatChoice>> {
    match name {
        None => Ok(None),
        // Checked before the table, which holds conversation formats only.
        Some(FILE_FORMAT) => Ok(Some(FormatChoice::File)),
        Some(name) => match FORMATS.iter().find(|format| format.name() == name) {
            Some(Text(format)) => Ok(Some(FormatChoice::Text(*format))),
            Some(Bundle(format)) => Ok(Some(FormatChoice::Bundle(*format))),
            None => Err(Error::invalid(format!("{name:?} is not a known format"))
                .with_hint(format!("use one of {}", format_names().join(", ")))),
        },
    }
}

/// Returns whether this is the name of a conversation format.
pub fn is_conversation_format(name: &str) -> bool {
    FORMATS.iter().any(|format| format.name() == name)
}

/// Returns the format of a text, if it is a conversation.
pub fn recognise_format(given: &ParserInput<'_>) -> Option<TextFormat> {
    text_formats().find(|format| (format.recognise)(given)).copied()
}
