//! Conversations and notes as plain text, one fact a line, so that a difference can be read.
//!
//! There are two layouts, and each fixture keeps to the one it was written down in.

use std::fmt::Write;

use loci_mine::conversation::{Conversation, ConversationMessage, ReadingNote};

/// Each fact of a conversation on a line of its own, those of a message in a fixed order. Beside fixtures as `.txt`.
pub(crate) fn columns(conversations: &[Conversation], notes: &[ReadingNote]) -> String {
    let mut text = String::new();
    for conversation in conversations {
        text.push_str("conversation\n");
        for (name, value) in known(facts(conversation)) {
            writeln!(text, "  {name}: {value}").unwrap();
        }
        for message in &conversation.messages {
            let speaker = message.speaker.as_deref().unwrap_or("-");
            let id = message.id.as_deref().unwrap_or("-");
            let at = message.at.map_or("-".to_owned(), |at| at.to_string());
            write!(text, "{} {speaker} {id} {at}", message.kind.name()).unwrap();
            for (key, value) in message.about.iter() {
                write!(text, " {key}={}", serde_json::to_string(value).unwrap()).unwrap();
            }
            writeln!(text, "\n    {:?}", message.text).unwrap();
        }
    }
    add_notes(&mut text, notes, "at line ");
    text
}

/// Every fact by its name, those of one thing on one line. Beside fixtures as `.expected.txt`.
pub(crate) fn named(conversations: &[Conversation], notes: &[ReadingNote]) -> String {
    let mut text = String::new();
    for conversation in conversations {
        text.push_str("conversation");
        for (name, value) in known(facts(conversation)) {
            write!(text, " {name}={value:?}").unwrap();
        }
        text.push('\n');
        for message in &conversation.messages {
            add_message(&mut text, message);
        }
    }
    add_notes(&mut text, notes, "");
    text
}

fn add_message(text: &mut String, message: &ConversationMessage) {
    write!(text, "  {}", message.kind.name()).unwrap();
    let facts = [
        ("by", message.speaker.clone()),
        ("id", message.id.clone()),
        ("thread", message.thread.clone()),
        ("at", message.at.map(|at| at.to_string())),
    ];
    for (name, value) in known(facts) {
        write!(text, " {name}={value:?}").unwrap();
    }
    if !message.about.is_empty() {
        write!(text, " about={}", serde_json::to_string(&message.about).unwrap()).unwrap();
    }
    writeln!(text, "\n    {:?}", message.text).unwrap();
}

fn facts(conversation: &Conversation) -> [(&'static str, Option<String>); 5] {
    [
        ("key", conversation.key.clone()),
        ("id", conversation.id.clone()),
        ("title", conversation.title.clone()),
        ("cwd", conversation.cwd.clone()),
        ("parent", conversation.parent.clone()),
    ]
}

fn known<const N: usize>(
    facts: [(&'static str, Option<String>); N],
) -> impl Iterator<Item = (&'static str, String)> {
    facts.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

fn add_notes(text: &mut String, notes: &[ReadingNote], before_line: &str) {
    for note in notes {
        let line = note.line.map(|line| format!(" {before_line}{line}"));
        writeln!(text, "note{}: {}", line.unwrap_or_default(), note.text).unwrap();
    }
}
