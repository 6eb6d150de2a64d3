//! ChatGPT's export: `conversations.json`, each conversation a tree of messages with one current branch.

mod content;
mod tree;

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, top};
use super::transcript::{CallSpeaker, TranscriptBuilder};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, ReadingNote};
use crate::keys::ConversationKeys;
use tree::ChatgptTree;

/// ChatGPT's `conversations.json`, or one conversation of it.
pub(super) const CHATGPT: TextFormat = TextFormat {
    name: "chatgpt",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    top::opens_container(given.text)
        && given.text.contains("\"mapping\"")
        && top::any_object(given.text, 3, is_conversation)
}

/// Returns whether the `mapping` of a conversation holds nodes with a message and a place in the tree.
fn is_conversation(conversation: &JsonFields<'_>) -> bool {
    let mapping = conversation.fields("mapping");
    let nodes: Vec<JsonFields<'_>> = mapping
        .iter()
        .take(5)
        .filter_map(|(_, node)| node.fields())
        .collect();
    let is_node = |node: &JsonFields<'_>| node.has("message") && (node.has("parent") || node.has("children"));
    !nodes.is_empty() && nodes.iter().any(is_node)
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let mut keys = ConversationKeys::default();
    said.read_each(given.text, &mut |said, value| {
        read_conversation(value, &mut keys, said, sink)
    })?;
    Ok(said.notes)
}

fn read_conversation(
    value: JsonSlice<'_>,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    let fields = value.fields().unwrap_or_default();
    let id = fields.any_nonempty_text(&["conversation_id", "id"]);
    let Some(mapping) = fields.object("mapping") else {
        let key = keys.claim_in_export(id);
        said.note(format!("conversation {key} has no mapping; it was left out"));
        return Ok(());
    };
    let tree = ChatgptTree::new(&mapping);
    let turns = tree.turns(fields.text("current_node").as_deref());
    let first = turns.first().and_then(|turn| turn.message.nonempty_text("id"));
    // Some exports have no conversation id. The first message's id is as stable, unlike a position in the
    // file.
    let key = keys.claim_in_export(id.clone().or(first));
    turns.iter().for_each(|turn| content::add_message(said, turn));
    let title = fields.nonempty_text("title");
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
