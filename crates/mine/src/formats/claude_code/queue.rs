//! What a person typed while the model was at work. Most of it comes again as a message of its own; what does not is
//! said only in the queue.

use std::collections::HashMap;

use loci_core::Timestamp;

use super::super::json::Fields;
use crate::conversation::{Kind, Message};

/// Texts that waited, and texts that were said.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Vec<Waiting>,
    said: HashMap<String, usize>,
}

#[derive(Debug)]
struct Waiting {
    text: String,
    at: Option<Timestamp>,
    /// How many messages there were before it.
    place: usize,
}

impl Queue {
    /// Takes note of a text that was put into the queue after `place` messages.
    pub(super) fn operation(&mut self, fields: &Fields<'_>, place: usize) {
        if fields.text("operation").as_deref() != Some("enqueue") {
            return;
        }
        if let Some(text) = fields.text("content").filter(|text| !text.trim().is_empty()) {
            let at = fields.moment("timestamp");
            self.waiting.push(Waiting { text, at, place });
        }
    }

    /// Takes note of what was said outside the queue.
    pub(super) fn was_said(&mut self, messages: Option<&[Message]>) {
        let plain = |message: &&Message| matches!(message.kind, Kind::Human | Kind::System);
        for message in messages.unwrap_or_default().iter().filter(plain) {
            *self.said.entry(message.text.trim().to_owned()).or_default() += 1;
        }
    }

    /// Puts what was said only in the queue where it was said.
    pub(super) fn settle(&mut self, messages: &mut Vec<Message>) {
        let said = &mut self.said;
        self.waiting
            .retain(|waiting| match said.get_mut(waiting.text.trim()) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            });
        for waiting in self.waiting.drain(..).rev() {
            let place = waiting.place.min(messages.len());
            let message = Message {
                speaker: Some("user".to_owned()),
                at: waiting.at,
                ..Message::new(Kind::Human, waiting.text)
            };
            messages.insert(place, message);
        }
    }
}
