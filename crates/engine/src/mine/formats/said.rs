//! What the records of a file say, gathered in order: messages, and notes on what cannot be kept.

pub(crate) mod blocks;

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Metadata, Timestamp, Value};

use super::Sink;
use super::json::lines::{Broken, Line};
use super::json::{Fields, Json, top};
use crate::mine::conversation::{Conversation, Kind, Message, Note};

/// Takes one value of a file.
pub(crate) type ValueTaker<'a> = dyn FnMut(&mut Said, Json<'_>) -> loci_core::Result<()> + 'a;

/// What all messages of one record share.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) speaker: String,
    pub(crate) id: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) about: Metadata,
}

impl Record {
    /// A record of which only the kind and the speaker are known.
    pub(crate) fn new(kind: Kind, speaker: impl Into<String>) -> Self {
        Self {
            kind,
            speaker: speaker.into(),
            id: None,
            thread: None,
            at: None,
            about: Metadata::new(),
        }
    }

    /// The same record with one more thing known about it, if it is known.
    pub(crate) fn about(mut self, key: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.about = self.about.with(key, value);
        }
        self
    }

    /// The same record as another kind.
    pub(crate) fn of_kind(&self, kind: Kind) -> Self {
        Self { kind, ..self.clone() }
    }

    /// The same record from another speaker.
    pub(crate) fn spoken_by(&self, speaker: impl Into<String>) -> Self {
        Self {
            speaker: speaker.into(),
            ..self.clone()
        }
    }
}

/// Gathers what is said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) messages: Vec<Message>,
    pub(crate) notes: Vec<Note>,
    /// The line of the record being read, where the file has lines.
    pub(crate) line: Option<u64>,
    /// The tools' names by the ids of their calls, so that an answer can be told whose it is.
    calls: BTreeMap<String, String>,
}

impl Said {
    /// Adds a message of the record's own kind; a message without text is none.
    pub(crate) fn push(&mut self, record: &Record, text: impl Into<String>) {
        let text = text.into();
        if text.is_empty() {
            return;
        }
        self.messages.push(Message {
            id: record.id.clone(),
            thread: record.thread.clone(),
            speaker: Some(record.speaker.clone()).filter(|speaker| !speaker.is_empty()),
            kind: record.kind,
            at: record.at,
            text,
            about: record.about.clone(),
        });
    }

    /// Adds a tool call: who called, which tool with which arguments.
    pub(crate) fn call(&mut self, caller: &Record, call: Call) {
        if let (Some(id), Some(tool)) = (&call.id, &call.tool) {
            self.calls.insert(id.clone(), tool.clone());
        }
        let record = caller
            .of_kind(Kind::ToolCall)
            .about("tool", call.tool)
            .about("call_id", call.id);
        self.push(&record, call.arguments.unwrap_or_default());
    }

    /// The record of a tool's answer to the call with this id.
    pub(crate) fn answer(&self, record: &Record, tool: Option<String>, call_id: Option<String>) -> Record {
        let known = call_id.as_ref().and_then(|id| self.calls.get(id)).cloned();
        let tool = tool.or(known);
        record
            .of_kind(Kind::ToolResult)
            .spoken_by(tool.clone().unwrap_or_else(|| "tool".to_owned()))
            .about("tool", tool)
            .about("call_id", call_id)
    }

    /// Gives every value of a JSON file to `take`; where the file breaks off, that is noted.
    pub(crate) fn read_each(&mut self, text: &str, take: &mut ValueTaker<'_>) -> loci_core::Result<()> {
        let broke = top::each(text, &mut |value| take(self, value))?;
        self.notes.extend(broke);
        Ok(())
    }

    /// The object on a line, which is the one being read from now on; where there is none, that is noted.
    pub(crate) fn record<'a>(&mut self, line: Line<'a>) -> Option<Fields<'a>> {
        self.line = Some(line.number);
        let why = match line.content {
            Ok(fields) => return Some(fields),
            Err(Broken::NoObject) => "no JSON object".to_owned(),
            Err(Broken::NotJson { column, .. }) => format!("broken JSON at column {column}"),
        };
        self.note(format!("the line is {why}; it was left out"));
        None
    }

    /// Notes something that cannot be kept.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Note {
            line: self.line,
            text: text.into(),
        });
    }

    /// The objects of an array; what is none of them is noted as not being `what` it should be.
    pub(crate) fn objects<'a>(&mut self, items: Vec<Json<'a>>, what: &str) -> Vec<Fields<'a>> {
        let (objects, others): (Vec<_>, Vec<_>) =
            items.into_iter().map(Json::fields).partition(Option::is_some);
        others.iter().for_each(|_| {
            self.note(format!(
                "something that should be {what} is none; it was left out"
            ))
        });
        objects.into_iter().flatten().collect()
    }

    /// Hands over the messages so far as a conversation, if there are any.
    pub(crate) fn hand_over(
        &mut self,
        conversation: Conversation,
        sink: &mut Sink<'_>,
    ) -> loci_core::Result<()> {
        let messages = std::mem::take(&mut self.messages);
        self.calls.clear();
        if messages.is_empty() {
            Ok(())
        } else {
            sink(Conversation {
                messages,
                ..conversation
            })
        }
    }
}

/// A tool call: its arguments are verbatim, a string's text or a slice of JSON.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) tool: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) arguments: Option<String>,
}

/// Tells conversations of one file apart, even where the file gives two of them the same name.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    given: BTreeSet<String>,
    count: usize,
}

impl Keys {
    /// The name as it is the first time, with a number after it from then on; without a name, the place in the file.
    pub(crate) fn unique(&mut self, name: Option<String>) -> String {
        self.count += 1;
        let name = name.unwrap_or_else(|| format!("#{}", self.count));
        let mut key = name.clone();
        let mut number = 1;
        while !self.given.insert(key.clone()) {
            number += 1;
            key = format!("{name} ({number})");
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_never_given_twice() {
        let mut keys = Keys::default();
        let given = [Some("a"), None, Some("a"), Some("a (2)"), Some("a")]
            .map(|name| keys.unique(name.map(str::to_owned)));
        assert_eq!(given, ["a", "#2", "a (2)", "a (2) (2)", "a (3)"]);
    }
}
