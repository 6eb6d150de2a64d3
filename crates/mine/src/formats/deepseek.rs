//! Conversations with DeepSeek: the site's own export, a tree of fragments, and the lists that exporters write.

use std::collections::{HashMap, HashSet};

use loci_core::Result;

use super::gemini_web::{listed, messages, read_list};
use super::json::whole::{body, objects};
use super::json::{Fields, Json};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder};
use super::{Given, Sink, TextFormat};
use crate::conversation::Note;

/// Exports of DeepSeek.
pub(super) const DEEPSEEK: TextFormat = TextFormat {
    name: "deepseek",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let text = body(given);
    if !text.starts_with('[') {
        return false;
    }
    let list = || {
        let list = Json::parse(text).ok().and_then(Json::items).unwrap_or_default();
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
fn walk(script: &mut TranscriptBuilder, tree: &Fields<'_>) {
    let nodes: HashMap<&str, Json<'_>> = tree.iter().collect();
    let mut left = vec!["root".to_owned()];
    let mut seen = HashSet::new();
    while let Some(id) = left.pop() {
        let Some(node) = nodes.get(id.as_str()).and_then(|node| node.fields()) else {
            continue;
        };
        if !seen.insert(id.clone()) {
            continue;
        }
        said(script, &id, &node);
        let children = node.items("children").into_iter().filter_map(Json::text);
        let mut children: Vec<String> = children.collect();
        children.reverse();
        left.append(&mut children);
    }
}

fn said(script: &mut TranscriptBuilder, id: &str, node: &Fields<'_>) {
    let message = node.fields("message");
    let stamp = RecordStamp {
        id: Some(id.to_owned()),
        at: message.moment("inserted_at"),
        ..RecordStamp::default()
    }
    .with("model", message.text("model"))
    .with("reply_to", node.text("parent"));
    for fragment in message.objects("fragments") {
        let text = fragment.text("content").unwrap_or_default();
        match fragment.text("type").as_deref() {
            Some("REQUEST") => script.say(&stamp, HUMAN, text),
            Some("RESPONSE") => script.say(&stamp, ASSISTANT, text),
            Some("THINK") => script.think(&stamp, text),
            _ => script.say(&stamp, SYSTEM, text),
        }
    }
    for file in message.objects("files") {
        let named = file.any_text(&["file_name", "name"]);
        let what = named.map_or("an attached file".to_owned(), |name| {
            format!("the attached file {name}")
        });
        script.note_not_kept(&what, None, None);
    }
}
