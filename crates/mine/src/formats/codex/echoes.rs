//! Removes repetitions: decides which record of a text is kept, and whether a user's message is a person's.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::conversation::{ConversationMessage, MessageKind};

/// The channel of a record, the most complete first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodexChannel {
    /// An item of the model's context.
    Item,
    /// An event for the screen.
    Event,
    /// A finished item of the screen.
    Completed,
    /// The last words of a turn, repeated at its end.
    Last,
}

/// The speaker of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CodexSpeaker {
    /// A person, for certain.
    Human,
    /// The user's role: a person, or the program.
    ForUser,
    /// The model.
    Assistant,
    /// The model, thinking.
    Thought,
    /// Others, which are recorded only once.
    Other,
}

impl CodexSpeaker {
    /// Returns the class within which texts may repeat each other.
    fn echo_class(self) -> Self {
        match self {
            Self::Human => Self::ForUser,
            other => other,
        }
    }
}

/// All records that made messages, in order.
#[derive(Debug, Default)]
pub(super) struct CodexEchoes {
    told: Vec<CodexTelling>,
}

#[derive(Debug)]
struct CodexTelling {
    channel: CodexChannel,
    said: CodexSpeaker,
    /// The range of messages it made.
    range: Range<usize>,
}

/// Tags of texts that the program writes in the user's role, for rollouts without events of typed text.
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

impl CodexEchoes {
    /// Registers the messages from `before` up to `after`.
    pub(super) fn note_telling(
        &mut self,
        channel: CodexChannel,
        said: CodexSpeaker,
        before: usize,
        after: usize,
    ) {
        if before < after {
            let range = before..after;
            self.told.push(CodexTelling { channel, said, range });
        }
    }

    /// Keeps each text once, and makes texts in the user's role that are not a person's System.
    pub(super) fn drop_echoes(&self, messages: &mut Vec<ConversationMessage>) {
        // First the voices, while the ranges still count all messages; dropping echoes shifts them.
        self.settle_speakers(messages);
        let dropped = self.find_echoes(messages);
        let mut at = 0;
        messages.retain(|_| {
            at += 1;
            !dropped.contains(&(at - 1))
        });
    }

    fn settle_speakers(&self, messages: &mut [ConversationMessage]) {
        let typed: HashSet<String> = self
            .told
            .iter()
            .filter(|told| told.said == CodexSpeaker::Human)
            .flat_map(|told| telling_texts(told, messages))
            .map(|text| text.trim().to_owned())
            .collect();
        for told in self.told.iter().filter(|told| told.said == CodexSpeaker::ForUser) {
            let whole = joined_texts(told, messages)
                .iter()
                .any(|text| typed.contains(text));
            for message in messages.get_mut(told.range.clone()).unwrap_or_default() {
                // Without events of typed text, only the program's own tags tell its texts from a person's.
                let by_person = if typed.is_empty() {
                    !is_wrapped(message.text.trim())
                } else {
                    whole || typed.contains(message.text.trim())
                };
                if message.kind == MessageKind::Human && !by_person {
                    message.kind = MessageKind::System;
                    message.speaker = Some("system".to_owned());
                }
            }
        }
    }

    /// Returns the places of messages that only repeat others.
    fn find_echoes(&self, messages: &[ConversationMessage]) -> HashSet<usize> {
        // Counts and not a set: a person who says "yes" twice is recorded twice in each channel and has to
        // stay twice.
        let mut known: HashMap<(CodexSpeaker, String), usize> = HashMap::new();
        let mut dropped = HashSet::new();
        for channel in [
            CodexChannel::Item,
            CodexChannel::Event,
            CodexChannel::Completed,
            CodexChannel::Last,
        ] {
            let mut here: HashMap<(CodexSpeaker, String), usize> = HashMap::new();
            for told in self.told.iter().filter(|told| told.channel == channel) {
                let class = told.said.echo_class();
                for (at, text) in told.range.clone().zip(telling_texts(told, messages)) {
                    let key = (class, text.trim().to_owned());
                    let before = known.get(&key).copied().unwrap_or_default();
                    let count = here.entry(key).or_default();
                    *count += 1;
                    // The end of a turn repeats its last words once more, so for this channel the count says
                    // nothing.
                    let told_once = channel == CodexChannel::Last && before > 0;
                    if channel != CodexChannel::Item && (*count <= before || told_once) {
                        dropped.insert(at);
                    }
                }
                // An item has several parts where the event has one text, so the joined text counts as
                // recorded, too.
                for text in joined_texts(told, messages) {
                    *here.entry((class, text)).or_default() += 1;
                }
            }
            // The largest count of any channel so far: each channel may lack some of what another has.
            for (key, count) in here {
                let most = known.entry(key).or_default();
                *most = count.max(*most);
            }
        }
        dropped
    }
}

fn telling_texts<'a>(
    told: &CodexTelling,
    messages: &'a [ConversationMessage],
) -> impl Iterator<Item = &'a str> {
    messages
        .get(told.range.clone())
        .unwrap_or_default()
        .iter()
        .map(|message| message.text.as_str())
}

/// Returns the parts of one record joined to one text, in each way that events join them.
fn joined_texts(told: &CodexTelling, messages: &[ConversationMessage]) -> Vec<String> {
    if told.range.len() < 2 || told.said == CodexSpeaker::Other {
        return Vec::new();
    }
    let parts: Vec<&str> = telling_texts(told, messages).collect();
    ["", "\n", "\n\n"]
        .iter()
        .map(|between| parts.join(between).trim().to_owned())
        .collect()
}

/// Returns whether a whole text is enclosed in one of the program's own tags.
fn is_wrapped(text: &str) -> bool {
    text.starts_with("# AGENTS.md instructions for ")
        || WRAPPERS
            .iter()
            .any(|name| text.starts_with(&format!("<{name}>")) && text.ends_with(&format!("</{name}>")))
}
