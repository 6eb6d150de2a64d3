//! Prompts that a person typed while the model was busy. Most occur again as messages; the others exist only in the
//! queue.

use std::collections::HashMap;

use loci_core::Timestamp;

use super::super::json::JsonFields;
use crate::conversation::{ConversationMessage, MessageKind};

/// Prompts that were queued, and texts that occurred as messages.
#[derive(Debug, Default)]
pub(super) struct PromptQueue {
    waiting: Vec<QueuedPrompt>,
    said: HashMap<String, usize>,
}

#[derive(Debug)]
struct QueuedPrompt {
    text: String,
    at: Option<Timestamp>,
    /// The number of messages before it.
    place: usize,
}

impl PromptQueue {
    /// Registers a prompt that was queued after `place` messages.
    pub(super) fn note_operation(&mut self, fields: &JsonFields<'_>, place: usize) {
        if fields.text("operation").as_deref() != Some("enqueue") {
            return;
        }
        if let Some(text) = fields.text("content").filter(|text| !text.trim().is_empty()) {
            let at = fields.timestamp("timestamp");
            self.waiting.push(QueuedPrompt { text, at, place });
        }
    }

    /// Registers the texts of messages outside the queue.
    pub(super) fn note_said_elsewhere(&mut self, messages: Option<&[ConversationMessage]>) {
        let plain =
            |message: &&ConversationMessage| matches!(message.kind, MessageKind::Human | MessageKind::System);
        for message in messages.unwrap_or_default().iter().filter(plain) {
            *self.said.entry(message.text.trim().to_owned()).or_default() += 1;
        }
    }

    /// Inserts the prompts that occur only in the queue at their places.
    pub(super) fn insert_unsaid(&mut self, messages: &mut Vec<ConversationMessage>) {
        let said = &mut self.said;
        self.waiting
            .retain(|waiting| match said.get_mut(waiting.text.trim()) {
                // Counted and not just looked up: the same words ("go on") may be queued twice and sent once.
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            });
        // From the back, so that an insertion does not shift the places of the prompts before it.
        for waiting in self.waiting.drain(..).rev() {
            let place = waiting.place.min(messages.len());
            let message = ConversationMessage {
                speaker: Some("user".to_owned()),
                at: waiting.at,
                ..ConversationMessage::new(MessageKind::Human, waiting.text)
            };
            messages.insert(place, message);
        }
    }
}
