//! Conversations with DeepSeek: the site's own export, a tree of fragments, and the lists of third-party exporters.

use std::collections::{HashMap, HashSet};

use loci_core::Result;

use super::gemini_web::{add_messages, is_conversation_list, read_list};
use super::json::whole::{first_objects, json_body};
use super::json::{JsonFields, JsonSlice};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::ReadingNote;

/// Exports of DeepSeek.
pub(super) const DEEPSEEK: TextFormat = TextFormat {
    name: "deepseek",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    let text = json_body(given);
    if !text.starts_with('[') {
        return false;
    }
    let list = || {
        let list = JsonSlice::parse(text)
            .ok()
            .and_then(JsonSlice::items)
            .unwrap_or_default();
        first_objects(&list, 1)
    };
    let tree = text.contains("\"fragments\"") && text.contains("\"mapping\"");
    if tree {
        return list()
            .iter()
            .any(|first| first.object("mapping").is_some() && first.has("inserted_at"));
    }
    text.contains("\"messages\"")
        && text.contains("deepseek")
        && is_conversation_list(given, |role, message| {
            let model = message.text("model").unwrap_or_default();
            role == "assistant" && model.starts_with("deepseek")
        })
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    read_list(given, sink, |script, fields| match fields.object("mapping") {
        Some(tree) => walk_tree(script, &tree),
        None => add_messages(script, fields),
    })
}

/// Adds a tree, each node after the one it answers; nodes that the root does not reach are left out.
fn walk_tree(script: &mut TranscriptBuilder, tree: &JsonFields<'_>) {
    let nodes: HashMap<&str, JsonSlice<'_>> = tree.iter().collect();
    let mut left = vec!["root".to_owned()];
    let mut seen = HashSet::new();
    while let Some(id) = left.pop() {
        let Some(node) = nodes.get(id.as_str()).and_then(|node| node.fields()) else {
            continue;
        };
        // A damaged tree may lead back to a node; each is added once.
        if !seen.insert(id.clone()) {
            continue;
        }
        add_node(script, &id, &node);
        let children = node.items("children").into_iter().filter_map(JsonSlice::text);
        let mut children: Vec<String> = children.collect();
        // The list is a stack, so the first child has to be pushed last.
        children.reverse();
        left.append(&mut children);
    }
}

fn add_node(script: &mut TranscriptBuilder, id: &str, node: &JsonFields<'_>) {
    let message = node.fields("message");
    let stamp = RecordStamp {
        id: Some(id.to_owned()),
        at: message.timestamp("inserted_at"),
        ..RecordStamp::default()
    }
    .with("model", message.text("model"))
    .with("reply_to", node.text("parent"));
    for fragment in message.objects("fragments") {
        let text = fragment.text("content").unwrap_or_default();
        match fragment.text("type").as_deref() {
            Some("REQUEST") => script.add_text(&stamp, HUMAN, text),
            Some("RESPONSE") => script.add_text(&stamp, ASSISTANT, text),
            Some("THINK") => script.add_thought(&stamp, text),
            _ => script.add_text(&stamp, SYSTEM, text),
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
