//! A transcript being built: messages as they are found, and a note for everything that cannot be kept.

pub(crate) mod blocks;
mod record;

use std::collections::HashMap;

use loci_core::Result;

use super::Sink;
use super::json::lines::Line;
use super::json::{Fields, Json, top};
use crate::conversation::{Conversation, Kind, Message, Note};
pub(crate) use record::{ASSISTANT, HUMAN, MessageRecord, RecordStamp, SYSTEM, ToolCall, Voice};

/// Takes one value of a file.
pub(crate) type ValueTaker<'a> = dyn FnMut(&mut TranscriptBuilder, Json<'_>) -> Result<()> + 'a;

/// The speaker that a tool call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CallSpeaker {
    /// The tool that is called.
    #[default]
    Tool,
    /// The one who calls it.
    Caller,
}

/// Builds the transcript of a conversation, or of several one after the other.
#[derive(Debug, Default)]
pub(crate) struct TranscriptBuilder {
    /// The conversation so far.
    pub(crate) conversation: Conversation,
    /// A note for everything that could not be kept.
    pub(crate) notes: Vec<Note>,
    /// The line that is being read, where the file has lines.
    pub(crate) line: Option<u64>,
    call_speaker: CallSpeaker,
    /// The tools' names by the ids of their calls, so that an answer can be told whose it is.
    tools: HashMap<String, String>,
}

impl TranscriptBuilder {
    /// A builder whose tool calls have this speaker.
    pub(crate) fn new(call_speaker: CallSpeaker) -> Self {
        Self {
            call_speaker,
            ..Self::default()
        }
    }

    /// Adds a message; one without text is left out. A model's name stays only with what a model made.
    pub(crate) fn push(&mut self, record: &MessageRecord, text: impl Into<String>) {
        let text = text.into();
        if text.is_empty() {
            return;
        }
        let mut about = record.about.clone();
        if matches!(record.kind, Kind::Human | Kind::ToolResult | Kind::System) {
            about.remove("model");
        }
        self.conversation.messages.push(Message {
            id: record.id.clone(),
            thread: record.thread.clone(),
            speaker: Some(record.speaker.clone()).filter(|speaker| !speaker.is_empty()),
            kind: record.kind,
            at: record.at,
            text,
            about,
        });
    }

    /// Adds a text.
    pub(crate) fn say(&mut self, stamp: &RecordStamp, voice: Voice, text: String) {
        self.push(&stamp.spoken(voice), text);
    }

    /// Adds a thought of the model.
    pub(crate) fn think(&mut self, stamp: &RecordStamp, text: String) {
        self.push(&stamp.spoken(ASSISTANT).as_thought(), text);
    }

    /// Adds a tool call.
    pub(crate) fn call(&mut self, caller: &MessageRecord, call: ToolCall) {
        if let (Some(id), Some(tool)) = (&call.id, &call.tool) {
            self.tools.insert(id.clone(), tool.clone());
        }
        let speaker = match self.call_speaker {
            CallSpeaker::Tool => call.tool.clone().unwrap_or_else(|| "tool".to_owned()),
            CallSpeaker::Caller => caller.speaker.clone(),
        };
        let record = caller
            .of_kind(Kind::ToolCall)
            .spoken_by(speaker)
            .about("tool", call.tool)
            .about("call_id", call.id);
        self.push(&record, call.arguments.unwrap_or_default());
    }

    /// Adds the model's call of a tool with these arguments, as they are written.
    pub(crate) fn call_tool(
        &mut self,
        stamp: &RecordStamp,
        tool: Option<String>,
        id: Option<String>,
        arguments: String,
    ) {
        let word = |text: Option<String>| text.filter(|text| !text.is_empty());
        let call = ToolCall {
            tool: word(tool),
            id: word(id),
            arguments: Some(arguments),
        };
        self.call(&stamp.spoken(ASSISTANT), call);
    }

    /// The record of a tool's answer: the tool is known by its name, or by the call with this id.
    pub(crate) fn answer_record(
        &self,
        record: &MessageRecord,
        tool: Option<String>,
        call_id: Option<String>,
    ) -> MessageRecord {
        let known = || self.tools.get(call_id.as_deref()?).cloned();
        let tool = tool.or_else(known);
        record
            .of_kind(Kind::ToolResult)
            .spoken_by(tool.clone().unwrap_or_else(|| "tool".to_owned()))
            .about("tool", tool)
            .about("call_id", call_id)
    }

    /// Adds a tool's answer that is a text.
    pub(crate) fn answer(
        &mut self,
        stamp: &RecordStamp,
        tool: Option<String>,
        call_id: Option<String>,
        text: String,
    ) {
        let record = self.answer_record(&stamp.spoken(SYSTEM), tool, call_id);
        self.push(&record, text);
    }

    /// Gives the messages from number `from` on that a person said to the software: only it speaks there.
    pub(crate) fn without_person(&mut self, from: usize) {
        for message in self.conversation.messages.iter_mut().skip(from) {
            if message.kind == Kind::Human {
                message.kind = SYSTEM.kind;
                message.speaker = Some(SYSTEM.speaker.to_owned());
            }
        }
    }

    /// Gives every value of a JSON file to `take`; where the file breaks off, that is noted.
    pub(crate) fn read_each(&mut self, text: &str, take: &mut ValueTaker<'_>) -> Result<()> {
        let broke = top::each(text, &mut |value| take(self, value))?;
        self.notes.extend(broke);
        Ok(())
    }

    /// The object on a line, which is the one being read from now on; where there is none, that is noted.
    pub(crate) fn read_line<'a>(&mut self, line: Line<'a>) -> Option<Fields<'a>> {
        self.line = Some(line.number);
        line.content
            .map_err(|broken| self.note(format!("{broken}, left out")))
            .ok()
    }

    /// The objects of an array; anything else is noted as not being `what` it should be.
    pub(crate) fn read_objects<'a>(&mut self, items: Vec<Json<'a>>, what: &str) -> Vec<Fields<'a>> {
        let (objects, others): (Vec<_>, Vec<_>) =
            items.into_iter().map(Json::fields).partition(Option::is_some);
        others.iter().for_each(|_| {
            self.note(format!(
                "something that should be {what} is none; it was left out"
            ))
        });
        objects.into_iter().flatten().collect()
    }

    /// Notes something about the line that is being read.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Note {
            line: self.line,
            text: text.into(),
        });
    }

    /// Notes that a block of a kind which is not known here, and in which no text was found, is not kept.
    pub(crate) fn note_unknown(&mut self, block: &Fields<'_>) {
        let kind = block.text("type").unwrap_or_else(|| "unknown".to_owned());
        self.note(format!("a block of the kind {kind:?} is not kept"));
    }

    /// Notes that something which is not text is not kept.
    pub(crate) fn note_not_kept(&mut self, what: &str, media_type: Option<&str>, size: Option<usize>) {
        let size = size.map(|size| format!("{size} bytes"));
        let known: Vec<&str> = media_type.into_iter().chain(size.as_deref()).collect();
        let known = if known.is_empty() {
            String::new()
        } else {
            format!(" ({})", known.join(", "))
        };
        self.note(format!("{what}{known} is not kept"));
    }

    /// The number of messages.
    pub(crate) fn len(&self) -> usize {
        self.conversation.messages.len()
    }

    /// Whether a message was added since there were `before`.
    pub(crate) fn grew(&self, before: usize) -> bool {
        self.len() > before
    }

    /// Hands over the messages so far as a conversation of several, if there are any.
    pub(crate) fn hand_over(&mut self, conversation: Conversation, sink: &mut Sink<'_>) -> Result<()> {
        let messages = std::mem::take(&mut self.conversation.messages);
        self.tools.clear();
        if messages.is_empty() {
            return Ok(());
        }
        sink(Conversation {
            messages,
            ..conversation
        })
    }

    /// Hands over the one conversation there is, and gives the notes back.
    pub(crate) fn finish(self, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
        sink(self.conversation)?;
        Ok(self.notes)
    }
}

/// The number of bytes a text in base64 stands for.
pub(crate) fn decoded_size(base64: &str) -> usize {
    let body = base64.trim_end_matches('=');
    body.len() / 4 * 3 + body.len() % 4 * 3 / 4
}

/// The media type and size of a `data:` address.
pub(crate) fn data_url(url: &str) -> (Option<&str>, Option<usize>) {
    let Some((media_type, body)) = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    else {
        return (None, None);
    };
    (Some(media_type), Some(decoded_size(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_what_is_encoded() {
        assert_eq!(decoded_size("aGk="), 2);
        assert_eq!(decoded_size("aGkh"), 3);
        assert_eq!(
            data_url("data:image/png;base64,aGk="),
            (Some("image/png"), Some(2))
        );
        assert_eq!(data_url("https://example.org/x.png"), (None, None));
    }
}
