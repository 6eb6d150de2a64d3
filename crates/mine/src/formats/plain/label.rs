//! The names a turn may begin with, and the ways they are written.

use crate::conversation::Kind;

/// Names of people. `You` is whoever copied the chat.
const PEOPLE: [&str; 4] = ["Human", "User", "You", "Me"];

/// Names of models and their software.
const MODELS: [&str; 14] = [
    "Assistant",
    "AI",
    "Bot",
    "Chatbot",
    "ChatGPT",
    "GPT",
    "GPT-4",
    "Claude",
    "Gemini",
    "Bard",
    "Copilot",
    "DeepSeek",
    "Grok",
    "AI Assistant",
];

/// How a label is written; a chat keeps to one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `Human: text`
    Plain,
    /// `**Human**: text` or `**Human:** text`
    Bold,
    /// `### Human` with this many signs.
    Heading(usize),
}

/// A label at the beginning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Label<'t> {
    pub(super) name: &'t str,
    pub(super) kind: Kind,
    pub(super) form: Form,
    /// How many bytes of the line it takes, with the one blank that follows it.
    pub(super) length: usize,
    /// Whether the line holds nothing else.
    pub(super) alone: bool,
}

/// The label this line begins with, if it does. `lower_case` takes `user:` alone on its line too, which in most
/// files is a setting.
pub(super) fn label(line: &str, lower_case: bool) -> Option<Label<'_>> {
    heading(line)
        .or_else(|| bold(line))
        .or_else(|| plain(line, lower_case))
}

fn heading(line: &str) -> Option<Label<'_>> {
    let named = line.trim_start_matches('#');
    let signs = line.len() - named.len();
    let name = named
        .strip_prefix(' ')
        .filter(|_| (1..=6).contains(&signs))?
        .trim();
    let name = name.strip_suffix(':').unwrap_or(name).trim_matches('*');
    let name = name.strip_suffix(':').unwrap_or(name);
    let kind = kind(name)?;
    Some(Label {
        name,
        kind,
        form: Form::Heading(signs),
        length: line.len(),
        alone: true,
    })
}

fn bold(line: &str) -> Option<Label<'_>> {
    let (inner, after) = line.strip_prefix("**")?.split_once("**")?;
    let (name, after) = match inner.strip_suffix(':') {
        Some(name) => (name, after),
        None => (inner, after.strip_prefix(':')?),
    };
    finish(line, name, after, Form::Bold)
}

fn plain(line: &str, lower_case: bool) -> Option<Label<'_>> {
    let (name, after) = line.split_once(':')?;
    let alone = after.trim().is_empty();
    if lower_case && alone && matches!(name, "user" | "assistant") {
        let kind = if name == "user" {
            Kind::Human
        } else {
            Kind::Assistant
        };
        return Some(Label {
            name,
            kind,
            form: Form::Plain,
            length: line.len(),
            alone,
        });
    }
    finish(line, name, after, Form::Plain)
}

fn finish<'t>(line: &'t str, name: &'t str, after: &'t str, form: Form) -> Option<Label<'t>> {
    let kind = kind(name)?;
    let alone = after.trim().is_empty();
    let text = after.strip_prefix(' ').unwrap_or(after);
    // `User:x` is an address or a setting; a turn has a blank after its label.
    let parted = alone || text.len() < after.len() || after.starts_with('\t');
    let length = if alone {
        line.len()
    } else {
        line.len() - text.len()
    };
    parted.then_some(Label {
        name,
        kind,
        form,
        length,
        alone,
    })
}

fn kind(name: &str) -> Option<Kind> {
    let spoken = name.strip_suffix(" said").unwrap_or(name);
    let is = |known: &&str| *known == spoken || known.to_uppercase() == spoken;
    if PEOPLE.iter().any(is) {
        Some(Kind::Human)
    } else if MODELS.iter().any(is) {
        Some(Kind::Assistant)
    } else {
        matches!(spoken, "System" | "SYSTEM").then_some(Kind::System)
    }
}
