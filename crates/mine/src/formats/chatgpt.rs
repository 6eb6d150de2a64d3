//! ChatGPT's export: `conversations.json`, each conversation a tree of messages of which one branch is the current one.

mod content;
mod tree;

use loci_core::Result;

use super::json::{Fields, Json, top};
use super::transcript::{CallSpeaker, TranscriptBuilder};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Note};
use crate::keys::ConversationKeys;
use tree::Tree;

/// ChatGPT's `conversations.json`, or one conversation of it.
pub(super) const CHATGPT: TextFormat = TextFormat {
    name: "chatgpt",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    top::opens(given.text)
        && given.text.contains("\"mapping\"")
        && top::any_object(given.text, 3, is_conversation)
}

/// A conversation's mapping holds nodes, each of which says where it hangs in the tree.
fn is_conversation(conversation: &Fields<'_>) -> bool {
    let mapping = conversation.fields("mapping");
    let nodes: Vec<Fields<'_>> = mapping
        .iter()
        .take(5)
        .filter_map(|(_, node)| node.fields())
        .collect();
    let is_node = |node: &Fields<'_>| node.has("message") && (node.has("parent") || node.has("children"));
    !nodes.is_empty() && nodes.iter().any(is_node)
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let mut keys = ConversationKeys::default();
    said.read_each(given.text, &mut |said, value| {
        conversation(value, &mut keys, said, sink)
    })?;
    Ok(said.notes)
}

fn conversation(
    value: Json<'_>,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let fields = value.fields().unwrap_or_default();
    let id = fields.any_word(&["conversation_id", "id"]);
    let Some(mapping) = fields.object("mapping") else {
        let key = keys.claim_in_export(id);
        said.note(format!("conversation {key} has no mapping; it was left out"));
        return Ok(());
    };
    let tree = Tree::new(&mapping);
    let turns = tree.turns(fields.text("current_node").as_deref());
    let first = turns.first().and_then(|turn| turn.message.word("id"));
    let key = keys.claim_in_export(id.clone().or(first));
    turns.iter().for_each(|turn| content::message(said, turn));
    let title = fields.word("title");
    said.hand_over(
        Conversation {
            key: Some(key),
            id,
            title,
            ..Conversation::default()
        },
        sink,
    )
}
