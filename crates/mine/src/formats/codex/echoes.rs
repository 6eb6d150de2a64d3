//! What was said once and is told several times: which telling is kept, and who the user's messages are from.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::conversation::{Kind, Message};

/// Where a thing is told, the most complete first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// An item of the model's context.
    Item,
    /// An event for the screen.
    Event,
    /// A finished item of the screen.
    Completed,
    /// The last words of a turn, told again at its end.
    Last,
}

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Said {
    /// A person's, for certain.
    Human,
    /// In the user's place: a person's, or put there by the program.
    ForUser,
    /// The model's.
    Assistant,
    /// The model's thoughts.
    Thought,
    /// Others', told only once.
    Other,
}

impl Said {
    /// Words that may be each other's echo.
    fn class(self) -> Self {
        match self {
            Self::Human => Self::ForUser,
            other => other,
        }
    }
}

/// Everything that was told, in order.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    told: Vec<Told>,
}

#[derive(Debug)]
struct Told {
    channel: Channel,
    said: Said,
    /// The messages it made.
    range: Range<usize>,
}

/// What the program puts in the user's place, where no event tells a person's words from it.
const WRAPPERS: [&str; 8] = [
    "environment_context",
    "user_instructions",
    "turn_aborted",
    "skill",
    "user_shell_command",
    "subagent_notification",
    "recommended_plugins",
    "user_action",
];

impl Echoes {
    /// Takes note of the messages from `before` up to `after`.
    pub(super) fn add(&mut self, channel: Channel, said: Said, before: usize, after: usize) {
        if before < after {
            let range = before..after;
            self.told.push(Told { channel, said, range });
        }
    }

    /// Leaves each thing once, and makes System what stands in the user's place and is no person's.
    pub(super) fn settle(&self, messages: &mut Vec<Message>) {
        self.give_voices(messages);
        let dropped = self.echoes(messages);
        let mut at = 0;
        messages.retain(|_| {
            at += 1;
            !dropped.contains(&(at - 1))
        });
    }

    fn give_voices(&self, messages: &mut [Message]) {
        let typed: HashSet<String> = self
            .told
            .iter()
            .filter(|told| told.said == Said::Human)
            .flat_map(|told| texts(told, messages))
            .map(|text| text.trim().to_owned())
            .collect();
        for told in self.told.iter().filter(|told| told.said == Said::ForUser) {
            let whole = joined(told, messages).iter().any(|text| typed.contains(text));
            for message in messages.get_mut(told.range.clone()).unwrap_or_default() {
                let by_person = match typed.is_empty() {
                    true => !is_wrapped(message.text.trim()),
                    false => whole || typed.contains(message.text.trim()),
                };
                if message.kind == Kind::Human && !by_person {
                    message.kind = Kind::System;
                    message.speaker = Some("system".to_owned());
                }
            }
        }
    }

    /// The places of messages that only repeat.
    fn echoes(&self, messages: &[Message]) -> HashSet<usize> {
        let mut known: HashMap<(Said, String), usize> = HashMap::new();
        let mut dropped = HashSet::new();
        for channel in [Channel::Item, Channel::Event, Channel::Completed, Channel::Last] {
            let mut here: HashMap<(Said, String), usize> = HashMap::new();
            for told in self.told.iter().filter(|told| told.channel == channel) {
                let class = told.said.class();
                for (at, text) in told.range.clone().zip(texts(told, messages)) {
                    let key = (class, text.trim().to_owned());
                    let before = known.get(&key).copied().unwrap_or_default();
                    let count = here.entry(key).or_default();
                    *count += 1;
                    let told_once = channel == Channel::Last && before > 0;
                    if channel != Channel::Item && (*count <= before || told_once) {
                        dropped.insert(at);
                    }
                }
                for text in joined(told, messages) {
                    *here.entry((class, text)).or_default() += 1;
                }
            }
            for (key, count) in here {
                let most = known.entry(key).or_default();
                *most = count.max(*most);
            }
        }
        dropped
    }
}

fn texts<'a>(told: &Told, messages: &'a [Message]) -> impl Iterator<Item = &'a str> {
    messages
        .get(told.range.clone())
        .unwrap_or_default()
        .iter()
        .map(|message| message.text.as_str())
}

/// The parts of one telling as one text, in the ways events join them.
fn joined(told: &Told, messages: &[Message]) -> Vec<String> {
    if told.range.len() < 2 || told.said == Said::Other {
        return Vec::new();
    }
    let parts: Vec<&str> = texts(told, messages).collect();
    ["", "\n", "\n\n"]
        .iter()
        .map(|between| parts.join(between).trim().to_owned())
        .collect()
}

/// Whether a whole text stands in one of the program's own wrappers.
fn is_wrapped(text: &str) -> bool {
    text.starts_with("# AGENTS.md instructions for ")
        || WRAPPERS
            .iter()
            .any(|name| text.starts_with(&format!("<{name}>")) && text.ends_with(&format!("</{name}>")))
}
