//! What Copilot answered to one request: prose, thoughts, tools, edits.

use std::collections::VecDeque;

use crate::conversation::Kind;
use crate::formats::json::{Fields, Json};
use crate::formats::transcript::{MessageRecord, ToolCall, TranscriptBuilder, blocks};

/// Adds the answer to a request.
pub(super) fn add(said: &mut TranscriptBuilder, request: &Fields<'_>) {
    let mut record = MessageRecord::new(Kind::Assistant, "assistant").about("model", request.word("modelId"));
    record.id = request.word("responseId").or_else(|| request.word("requestId"));
    record.at = request
        .moment("responseTimestamp")
        .or_else(|| request.moment("timestamp"));
    let result = request.fields("result");
    let mut tools = Tools::new(&result.fields("metadata"));
    let parts = request.get("response");
    for part in parts.map(|parts| parts.all()).unwrap_or_default() {
        add_part(said, &record, part, &mut tools);
    }
    while let Some(call) = tools.calls.pop_front() {
        tools.make(said, &record, call);
    }
    let error = result.fields("errorDetails").text("message");
    let software = record.of_kind(Kind::System).spoken_by("copilot");
    said.push(&software.about("error", Some(true)), error.unwrap_or_default());
}

/// The calls as the model made them, which the parts only sum up, and the answers by the calls' ids.
struct Tools<'a> {
    calls: VecDeque<ToolCall>,
    answers: Fields<'a>,
}

impl<'a> Tools<'a> {
    fn new(metadata: &Fields<'a>) -> Self {
        let rounds = metadata.objects("toolCallRounds");
        let calls = rounds
            .flat_map(|round| round.items("toolCalls"))
            .filter_map(Json::fields);
        Self {
            calls: calls.map(|call| blocks::call(&call)).collect(),
            answers: metadata.fields("toolCallResults"),
        }
    }

    /// The call that a part sums up: the one with its id, else the next one.
    fn take(&mut self, id: Option<&str>) -> Option<ToolCall> {
        let same =
            |call: &ToolCall| id.is_some_and(|id| call.id.as_deref().is_some_and(|own| own.starts_with(id)));
        let place = self.calls.iter().position(same).unwrap_or(0);
        self.calls.remove(place)
    }

    /// Adds a call and its answer, if it is kept; says whether it is.
    fn make(&self, said: &mut TranscriptBuilder, record: &MessageRecord, call: ToolCall) -> bool {
        let (tool, id) = (call.tool.clone(), call.id.clone());
        let answer = id.as_ref().map(|id| self.answers.fields(id)).unwrap_or_default();
        said.call(record, call);
        let record = said.answer_record(record, tool, id);
        let before = said.conversation.messages.len();
        for content in answer.items("content") {
            let text = content
                .fields()
                .and_then(|content| content.get("value"))
                .unwrap_or(content);
            said.push(&record, text.text_or_raw().unwrap_or_default());
        }
        said.conversation.messages.len() > before
    }
}

fn add_part(said: &mut TranscriptBuilder, record: &MessageRecord, part: Json<'_>, tools: &mut Tools<'_>) {
    if let Some(text) = part.text() {
        return said.push(record, text);
    }
    let fields = part.fields().unwrap_or_default();
    let kind = fields.text("kind").unwrap_or_default();
    match kind.as_str() {
        "" | "markdownContent" | "markdownVuln" => said.push(record, words(&fields).unwrap_or_default()),
        "thinking" => thought(said, record, &fields),
        "toolInvocationSerialized" | "toolInvocation" => invoked(said, record, &fields, tools),
        "inlineReference" => reference(said, record, &fields),
        "textEditGroup" | "notebookEditGroup" => {
            let edits = fields
                .get("edits")
                .map(Json::raw)
                .filter(|edits| edits.contains('{'));
            let record = record
                .clone()
                .about("file", fields.fields("uri").any_word(&["path", "fsPath"]));
            said.call(
                &record,
                ToolCall {
                    tool: Some(kind),
                    id: None,
                    arguments: edits.map(str::to_owned),
                },
            );
        }
        _ => {
            let record = record.of_kind(Kind::System).spoken_by("copilot");
            said.push(&record, fields.text("title").unwrap_or_default());
            said.push(
                &record,
                words(&fields)
                    .or_else(|| fields.text("message"))
                    .unwrap_or_default(),
            );
        }
    }
}

/// The words of a part, which stand under `value` or one level below.
fn words(fields: &Fields<'_>) -> Option<String> {
    let below = |name: &str| fields.fields(name).text("value");
    let direct = fields.any_text(&["value", "content"]);
    direct
        .or_else(|| below("content"))
        .or_else(|| below("value"))
        .or_else(|| below("message"))
}

fn thought(said: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>) {
    let record = record.of_kind(Kind::Thinking);
    let many = fields.items("value").into_iter().filter_map(Json::text);
    for text in fields.text("value").into_iter().chain(many) {
        said.push(&record, text);
    }
}

/// A tool that was called: as the model called it where that is kept, else as VS Code sums it up.
fn invoked(said: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>, tools: &mut Tools<'_>) {
    let id = fields.word("toolCallId");
    let call = tools.take(id.as_deref()).unwrap_or_else(|| ToolCall {
        tool: fields.any_word(&["toolId", "toolName"]),
        id,
        arguments: summed_up(fields),
    });
    let (tool, id) = (call.tool.clone(), call.id.clone());
    if !tools.make(said, record, call) {
        let record = said.answer_record(record, tool, id);
        outcome(said, &record, fields);
    }
}

/// What the call was about, in what VS Code keeps of it.
fn summed_up(fields: &Fields<'_>) -> Option<String> {
    let details = fields.fields("resultDetails").get("input");
    let given = details
        .or_else(|| fields.get("toolSpecificData"))
        .and_then(Json::text_or_raw);
    let shown = |name: &str| fields.word(name).or_else(|| fields.fields(name).word("value"));
    given
        .or_else(|| shown("invocationMessage"))
        .or_else(|| shown("pastTenseMessage"))
}

/// What came of the call.
fn outcome(said: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>) {
    let output = fields.fields("resultDetails").get("output");
    for item in output.and_then(Json::items).unwrap_or_default() {
        let text = item.fields().and_then(|item| item.text("value"));
        said.push(record, text.unwrap_or_else(|| item.raw().to_owned()));
    }
    let whole = output
        .filter(|output| !output.is_array())
        .and_then(Json::text_or_raw);
    let terminal = fields
        .fields("toolSpecificData")
        .fields("terminalCommandOutput")
        .text("text");
    said.push(record, whole.or(terminal).unwrap_or_default());
}

/// A file or a symbol named within the prose.
fn reference(said: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>) {
    let target = fields.fields("inlineReference");
    let place = target.fields("location").fields("uri");
    let path = target
        .any_word(&["fsPath", "path"])
        .or_else(|| target.fields("uri").any_word(&["fsPath", "path"]));
    let path = path.or_else(|| place.any_word(&["fsPath", "path"]));
    let name = fields
        .word("name")
        .or_else(|| target.word("name"))
        .or_else(|| path.clone());
    said.push(&record.clone().about("reference", path), name.unwrap_or_default());
}
