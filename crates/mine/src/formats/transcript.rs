//! Builds transcripts: messages in order, and a note for everything that cannot be kept.

pub(crate) mod blocks;
mod record;

use std::collections::HashMap;

use loci_core::Result;

use super::ConversationSink;
use super::json::lines::JsonLine;
use super::json::{JsonFields, JsonSlice, top};
use crate::conversation::{Conversation, ConversationMessage, MessageKind, ReadingNote};
use crate::recalled::{self, TextWithoutRecall};
pub(crate) use record::{ASSISTANT, HUMAN, MessageRecord, RecordStamp, RecordVoice, SYSTEM, ToolCall};

/// A callback that takes one value of a file.
pub(crate) type ValueTaker<'a> = dyn FnMut(&mut TranscriptBuilder, JsonSlice<'_>) -> Result<()> + 'a;

/// The speaker of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CallSpeaker {
    /// The tool.
    #[default]
    Tool,
    /// The caller.
    Caller,
}

/// Builds the transcript of one conversation, or of several in turn.
#[derive(Debug, Default)]
pub(crate) struct TranscriptBuilder {
    /// The conversation so far.
    pub(crate) conversation: Conversation,
    /// A note for everything that could not be kept.
    pub(crate) notes: Vec<ReadingNote>,
    /// The line that is being read, if the file has lines.
    pub(crate) line: Option<u64>,
    call_speaker: CallSpeaker,
    /// The tools' names by the ids of their calls, so that an answer can name its tool.
    tools: HashMap<String, String>,
}

impl TranscriptBuilder {
    /// Creates a builder whose tool calls have this speaker.
    pub(crate) fn new(call_speaker: CallSpeaker) -> Self {
        Self {
            call_speaker,
            ..Self::default()
        }
    }

    /// Adds a message, unless its text is empty, without lines that were recalled into it. The model's name is kept
    /// only on messages that a model made.
    pub(crate) fn push(&mut self, record: &MessageRecord, text: impl Into<String>) {
        let text = self.without_recall(record.kind, text.into());
        if text.is_empty() {
            return;
        }
        let mut about = record.about.clone();
        // The parts of one record share its metadata, and a model's turn often carries tool results and
        // reminders.
        if matches!(
            record.kind,
            MessageKind::Human | MessageKind::ToolResult | MessageKind::System
        ) {
            about.remove("model");
        }
        self.conversation.messages.push(ConversationMessage {
            id: record.id.clone(),
            thread: record.thread.clone(),
            speaker: Some(record.speaker.clone()).filter(|speaker| !speaker.is_empty()),
            kind: record.kind,
            at: record.at,
            text,
            about,
        });
    }

    /// Returns a text without the lines that a hook of Loci recalled into it, and notes them.
    fn without_recall(&mut self, kind: MessageKind, text: String) -> String {
        let dropped = match kind {
            MessageKind::System => recalled::drop_from_harness(&text),
            MessageKind::Human => recalled::drop_from_person(&text),
            _ => None,
        };
        match dropped {
            Some(TextWithoutRecall { text, lines }) => {
                let lines = loci_core::format_count(lines, "recalled line");
                self.note(format!("{lines} not kept again"));
                text
            }
            None => text,
        }
    }

    /// Adds a text in this voice.
    pub(crate) fn add_text(&mut self, stamp: &RecordStamp, voice: RecordVoice, text: String) {
        self.push(&stamp.record_for(voice), text);
    }

    /// Adds a thought of the model.
    pub(crate) fn add_thought(&mut self, stamp: &RecordStamp, text: String) {
        self.push(&stamp.record_for(ASSISTANT).as_thought(), text);
    }

    /// Adds a tool call.
    pub(crate) fn add_call(&mut self, caller: &MessageRecord, call: ToolCall) {
        if let (Some(id), Some(tool)) = (&call.id, &call.tool) {
            // Most formats put the tool's name on the call only; its answer refers to it by id.
            self.tools.insert(id.clone(), tool.clone());
        }
        let speaker = match self.call_speaker {
            // The choice is fixed for each format: speakers are part of drawers that are already filed
            // (decision 018).
            CallSpeaker::Tool => call.tool.clone().unwrap_or_else(|| "tool".to_owned()),
            CallSpeaker::Caller => caller.speaker.clone(),
        };
        let record = caller
            .as_kind(MessageKind::ToolCall)
            .spoken_by(speaker)
            .with_about("tool", call.tool)
            .with_about("call_id", call.id);
        self.push(&record, call.arguments.unwrap_or_default());
    }

    /// Adds the model's call of a tool with these arguments, verbatim.
    pub(crate) fn add_model_call(
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
        self.add_call(&stamp.record_for(ASSISTANT), call);
    }

    /// Returns the record of a tool's answer. The tool is known by its name, or by the call with this id.
    pub(crate) fn answer_record(
        &self,
        record: &MessageRecord,
        tool: Option<String>,
        call_id: Option<String>,
    ) -> MessageRecord {
        let known = || self.tools.get(call_id.as_deref()?).cloned();
        let tool = tool.or_else(known);
        record
            .as_kind(MessageKind::ToolResult)
            .spoken_by(tool.clone().unwrap_or_else(|| "tool".to_owned()))
            .with_about("tool", tool)
            .with_about("call_id", call_id)
    }

    /// Adds the textual answer of a tool.
    pub(crate) fn add_answer(
        &mut self,
        stamp: &RecordStamp,
        tool: Option<String>,
        call_id: Option<String>,
        text: String,
    ) {
        let record = self.answer_record(&stamp.record_for(SYSTEM), tool, call_id);
        self.push(&record, text);
    }

    /// Reassigns a person's messages from number `from` on to the software, for conversations without a person.
    pub(crate) fn reassign_people_to_system(&mut self, from: usize) {
        for message in self.conversation.messages.iter_mut().skip(from) {
            if message.kind == MessageKind::Human {
                message.kind = SYSTEM.kind;
                message.speaker = Some(SYSTEM.speaker.to_owned());
            }
        }
    }

    /// Passes every value of a JSON file to `take`; notes where the file breaks off.
    pub(crate) fn read_each(&mut self, text: &str, take: &mut ValueTaker<'_>) -> Result<()> {
        let broke = top::each_value(text, &mut |value| take(self, value))?;
        self.notes.extend(broke);
        Ok(())
    }

    /// Returns the object on a line, which becomes the current line; notes a line without one.
    pub(crate) fn read_line<'a>(&mut self, line: JsonLine<'a>) -> Option<JsonFields<'a>> {
        self.line = Some(line.number);
        line.content
            .map_err(|broken| self.note(format!("{broken}, left out")))
            .ok()
    }

    /// Returns the objects of an array; any other element is noted as not being `what` it should be.
    pub(crate) fn read_objects<'a>(&mut self, items: Vec<JsonSlice<'a>>, what: &str) -> Vec<JsonFields<'a>> {
        let (objects, others): (Vec<_>, Vec<_>) = items
            .into_iter()
            .map(JsonSlice::fields)
            .partition(Option::is_some);
        others.iter().for_each(|_| {
            self.note(format!(
                "an entry that should be {what} is not an object; it was left out"
            ))
        });
        objects.into_iter().flatten().collect()
    }

    /// Adds a note about the current line.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(ReadingNote {
            line: self.line,
            text: text.into(),
        });
    }

    /// Notes that a block of an unknown kind without any text is not kept.
    pub(crate) fn note_unknown(&mut self, block: &JsonFields<'_>) {
        let kind = block.text("type").unwrap_or_else(|| "unknown".to_owned());
        self.note(format!("a block of the kind {kind:?} is not kept"));
    }

    /// Notes that content other than text is not kept.
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

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.conversation.messages.len()
    }

    /// Returns whether a message was added since there were `before`.
    pub(crate) fn has_grown_since(&self, before: usize) -> bool {
        self.len() > before
    }

    /// Hands over the messages so far as one of several conversations, unless there are none.
    pub(crate) fn hand_over(
        &mut self,
        conversation: Conversation,
        sink: &mut ConversationSink<'_>,
    ) -> Result<()> {
        let messages = std::mem::take(&mut self.conversation.messages);
        // Ids of calls are unique within a conversation only.
        self.tools.clear();
        if messages.is_empty() {
            return Ok(());
        }
        sink(Conversation {
            messages,
            ..conversation
        })
    }

    /// Hands over the only conversation and returns the notes.
    pub(crate) fn finish(self, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
        sink(self.conversation)?;
        Ok(self.notes)
    }
}

/// Returns the size of base64 text when decoded, in bytes.
pub(crate) fn decoded_size(base64: &str) -> usize {
    let body = base64.trim_end_matches('=');
    body.len() / 4 * 3 + body.len() % 4 * 3 / 4
}

/// Returns the media type and size of a `data:` URL.
pub(crate) fn parse_data_url(url: &str) -> (Option<&str>, Option<usize>) {
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
            parse_data_url("data:image/png;base64,aGk="),
            (Some("image/png"), Some(2))
        );
        assert_eq!(parse_data_url("https://example.org/x.png"), (None, None));
    }
}
