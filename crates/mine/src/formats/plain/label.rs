//! The labels of turns: their names, and the ways they are written.

use crate::conversation::MessageKind;

/// Names of people. `You` is the person who copied the chat.
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

/// The form of a label; a chat uses only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelForm {
    /// `Human: text`
    Plain,
    /// `**Human**: text` or `**Human:** text`
    Bold,
    /// `### Human` with this many hashes.
    Heading(usize),
}

/// A label at the beginning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TurnLabel<'t> {
    pub(super) name: &'t str,
    pub(super) kind: MessageKind,
    pub(super) form: LabelForm,
    /// The length of the label in bytes, with the one blank that follows it.
    pub(super) length: usize,
    /// Whether the line holds nothing else.
    pub(super) alone: bool,
}

/// Returns the label at the beginning of this line. `lower_case` also accepts `user:` alone on its line, which in most
/// files is a setting.
pub(super) fn parse_label(line: &str, lower_case: bool) -> Option<TurnLabel<'_>> {
    heading_label(line)
        .or_else(|| bold_label(line))
        .or_else(|| plain_label(line, lower_case))
}

fn heading_label(line: &str) -> Option<TurnLabel<'_>> {
    let named = line.trim_start_matches('#');
    let signs = line.len() - named.len();
    let name = named
        .strip_prefix(' ')
        .filter(|_| (1..=6).contains(&signs))?
        .trim();
    // `### **Human:**`, `### **Human**:` and `### Human` are all in use.
    let name = name.strip_suffix(':').unwrap_or(name).trim_matches('*');
    let name = name.strip_suffix(':').unwrap_or(name);
    let kind = speaker_kind(name)?;
    Some(TurnLabel {
        name,
        kind,
        form: LabelForm::Heading(signs),
        length: line.len(),
        alone: true,
    })
}

fn bold_label(line: &str) -> Option<TurnLabel<'_>> {
    let (inner, after) = line.strip_prefix("**")?.split_once("**")?;
    let (name, after) = match inner.strip_suffix(':') {
        Some(name) => (name, after),
        None => (inner, after.strip_prefix(':')?),
    };
    finish_label(line, name, after, LabelForm::Bold)
}

fn plain_label(line: &str, lower_case: bool) -> Option<TurnLabel<'_>> {
    let (name, after) = line.split_once(':')?;
    let alone = after.trim().is_empty();
    if lower_case && alone && matches!(name, "user" | "assistant") {
        let kind = if name == "user" {
            MessageKind::Human
        } else {
            MessageKind::Assistant
        };
        return Some(TurnLabel {
            name,
            kind,
            form: LabelForm::Plain,
            length: line.len(),
            alone,
        });
    }
    finish_label(line, name, after, LabelForm::Plain)
}

fn finish_label<'t>(line: &'t str, name: &'t str, after: &'t str, form: LabelForm) -> Option<TurnLabel<'t>> {
    let kind = speaker_kind(name)?;
    let alone = after.trim().is_empty();
    let text = after.strip_prefix(' ').unwrap_or(after);
    // `User:x` is a URL or a setting; a turn has a blank after its label.
    let parted = alone || text.len() < after.len() || after.starts_with('\t');
    let length = if alone {
        line.len()
    } else {
        line.len() - text.len()
    };
    parted.then_some(TurnLabel {
        name,
        kind,
        form,
        length,
        alone,
    })
}

fn speaker_kind(name: &str) -> Option<MessageKind> {
    let spoken = name.strip_suffix(" said").unwrap_or(name);
    // Exact spelling or capitals only: in running text, a lower-case "user:" is rarely a speaker.
    let is = |known: &&str| *known == spoken || known.to_uppercase() == spoken;
    if PEOPLE.iter().any(is) {
        Some(MessageKind::Human)
    } else if MODELS.iter().any(is) {
        Some(MessageKind::Assistant)
    } else {
        matches!(spoken, "System" | "SYSTEM").then_some(MessageKind::System)
    }
}
