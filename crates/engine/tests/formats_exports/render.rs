//! Conversations and notes as plain text, one fact a line, so that a difference can be read.

use std::fmt::Write;

use loci_engine::mine::conversation::{Conversation, Message, Note};

/// Everything that was read.
pub(crate) fn all(conversations: &[Conversation], notes: &[Note]) -> String {
    let mut text = String::new();
    conversations
        .iter()
        .for_each(|conversation| one(&mut text, conversation));
    for note in notes {
        let line = note.line.map(|line| format!(" {line}")).unwrap_or_default();
        writeln!(text, "note{line}: {}", note.text).unwrap();
    }
    text
}

fn one(text: &mut String, conversation: &Conversation) {
    let facts = [
        ("key", &conversation.key),
        ("id", &conversation.id),
        ("title", &conversation.title),
        ("cwd", &conversation.cwd),
        ("parent", &conversation.parent),
    ];
    text.push_str("conversation");
    for (name, value) in facts {
        if let Some(value) = value {
            write!(text, " {name}={value:?}").unwrap();
        }
    }
    text.push('\n');
    conversation
        .messages
        .iter()
        .for_each(|message| said(text, message));
}

fn said(text: &mut String, message: &Message) {
    write!(text, "  {}", message.kind.name()).unwrap();
    let at = message.at.map(|at| at.to_string());
    let facts = [
        ("by", &message.speaker),
        ("id", &message.id),
        ("thread", &message.thread),
        ("at", &at),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            write!(text, " {name}={value:?}").unwrap();
        }
    }
    if !message.about.is_empty() {
        write!(text, " about={}", serde_json::to_string(&message.about).unwrap()).unwrap();
    }
    writeln!(text, "\n    {:?}", message.text).unwrap();
}
