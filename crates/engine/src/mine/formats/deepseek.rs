//! Conversations with DeepSeek: the site's own export, a tree of fragments, and the lists that exporters write.

use std::collections::HashSet;

use loci_core::Result;

use super::gemini_web::{listed, messages, read_list};
use super::json::Object;
use super::script::{ASSISTANT, HUMAN, SYSTEM, Script, Stamp, objects};
use super::{Given, Sink, TextFormat};
use crate::mine::conversation::Note;

/// Exports of DeepSeek.
pub static DEEPSEEK: TextFormat = TextFormat {
    name: "deepseek",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let text = given.text.trim_start_matches('\u{feff}').trim();
    if !text.starts_with('[') {
        return false;
    }
    let list = || {
        let list: Vec<super::json::Raw<'_>> = serde_json::from_str(text).unwrap_or_default();
        objects(&list, 1)
    };
    let tree = text.contains("\"fragments\"") && text.contains("\"mapping\"");
    if tree {
        return list()
            .iter()
            .any(|first| first.object("mapping").is_some() && first.has("inserted_at"));
    }
    text.contains("\"messages\"")
        && text.contains("deepseek")
        && listed(given, |role, message| {
            let model = message.text("model").unwrap_or_default();
            role == "assistant" && model.starts_with("deepseek")
        })
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    read_list(given, sink, |script, fields| match fields.object("mapping") {
        Some(tree) => walk(script, &tree),
        None => messages(script, fields),
    })
}

/// Writes down a tree, each node after the one it answers; nodes that are out of reach are left where nothing leads.
fn walk(script: &mut Script, tree: &Object<'_>) {
    let mut left = vec!["root".to_owned()];
    let mut seen = HashSet::new();
    while let Some(id) = left.pop() {
        let Some(node) = tree.object(&id) else { continue };
        if !seen.insert(id.clone()) {
            continue;
        }
        said(script, &id, &node);
        let children = node.list("children").into_iter().filter_map(super::json::text);
        let mut children: Vec<String> = children.collect();
        children.reverse();
        left.append(&mut children);
    }
}

fn said(script: &mut Script, id: &str, node: &Object<'_>) {
    let message = node.object("message").unwrap_or_default();
    let stamp = Stamp {
        id: Some(id.to_owned()),
        at: message.time("inserted_at"),
        ..Stamp::default()
    }
    .with("model", message.text("model"))
    .with("reply_to", node.text("parent"));
    for fragment in objects(&message.list("fragments"), usize::MAX) {
        let text = fragment.text("content").unwrap_or_default();
        match fragment.text("type").as_deref() {
            Some("REQUEST") => script.say(&stamp, HUMAN, text),
            Some("RESPONSE") => script.say(&stamp, ASSISTANT, text),
            Some("THINK") => script.think(&stamp, text),
            _ => script.say(&stamp, SYSTEM, text),
        }
    }
    for file in objects(&message.list("files"), usize::MAX) {
        let named = file.first_text(&["file_name", "name"]);
        let what = named.map_or("an attached file".to_owned(), |name| {
            format!("the attached file {name}")
        });
        script.not_kept(&what, None, None);
    }
}
