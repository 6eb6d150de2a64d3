//! The answer of Copilot to one request: prose, thoughts, tools, edits.

use std::collections::VecDeque;

use crate::conversation::MessageKind;
use crate::formats::json::{JsonFields, JsonSlice};
use crate::formats::transcript::{MessageRecord, ToolCall, TranscriptBuilder, blocks};

/// Adds the answer to a request.
pub(super) fn add_answer(said: &mut TranscriptBuilder, request: &JsonFields<'_>) {
    let mut record = MessageRecord::new(MessageKind::Assistant, "assistant")
        .with_about("model", request.nonempty_text("modelId"));
    record.id = request
        .nonempty_text("responseId")
        .or_else(|| request.nonempty_text("requestId"));
    record.at = request
        .timestamp("responseTimestamp")
        .or_else(|| request.timestamp("timestamp"));
    let result = request.fields("result");
    let mut tools = CopilotTools::new(&result.fields("metadata"));
    let parts = request.get("response");
    for part in parts.map(|parts| parts.items_or_self()).unwrap_or_default() {
        add_part(said, &record, part, &mut tools);
    }
    // Calls that no part summarises, such as those of a response that was interrupted.
    while let Some(call) = tools.calls.pop_front() {
        tools.add_call(said, &record, call);
    }
    let error = result.fields("errorDetails").text("message");
    let software = record.as_kind(MessageKind::System).spoken_by("copilot");
    said.push(
        &software.with_about("error", Some(true)),
        error.unwrap_or_default(),
    );
}

/// The calls as the model made them, which the parts only summarise, and the answers by call id.
struct CopilotTools<'a> {
    calls: VecDeque<ToolCall>,
    answers: JsonFields<'a>,
}

impl<'a> CopilotTools<'a> {
    fn new(metadata: &JsonFields<'a>) -> Self {
        let rounds = metadata.objects("toolCallRounds");
        let calls = rounds
            .flat_map(|round| round.items("toolCalls"))
            .filter_map(JsonSlice::fields);
        Self {
            calls: calls.map(|call| blocks::parse_call(&call)).collect(),
            answers: metadata.fields("toolCallResults"),
        }
    }

    /// Takes the call that a part summarises: the one with its id, else the next one.
    fn take_call(&mut self, id: Option<&str>) -> Option<ToolCall> {
        let same =
            // Copilot appends `__vscode-N` to the ids of the calls as it stores them; the parts may lack the
            // suffix.
            |call: &ToolCall| id.is_some_and(|id| call.id.as_deref().is_some_and(|own| own.starts_with(id)));
        let place = self.calls.iter().position(same).unwrap_or(0);
        self.calls.remove(place)
    }

    /// Adds a call and its answer; returns whether there was an answer.
    fn add_call(&self, said: &mut TranscriptBuilder, record: &MessageRecord, call: ToolCall) -> bool {
        let (tool, id) = (call.tool.clone(), call.id.clone());
        let answer = id.as_ref().map(|id| self.answers.fields(id)).unwrap_or_default();
        // The name of the tool is registered by this call, so it has to come before the answer.
        said.add_call(record, call);
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

fn add_part(
    said: &mut TranscriptBuilder,
    record: &MessageRecord,
    part: JsonSlice<'_>,
    tools: &mut CopilotTools<'_>,
) {
    if let Some(text) = part.text() {
        return said.push(record, text);
    }
    let fields = part.fields().unwrap_or_default();
    let kind = fields.text("kind").unwrap_or_default();
    match kind.as_str() {
        "" | "markdownContent" | "markdownVuln" => said.push(record, part_text(&fields).unwrap_or_default()),
        "thinking" => add_thought(said, record, &fields),
        "toolInvocationSerialized" | "toolInvocation" => add_invocation(said, record, &fields, tools),
        "inlineReference" => add_reference(said, record, &fields),
        // An edit is filed as a call: it is the model's action, and the text is the change it made.
        "textEditGroup" | "notebookEditGroup" => {
            let edits = fields
                .get("edits")
                .map(JsonSlice::raw)
                // A group without an edit, such as `[[]]`, changes nothing.
                .filter(|edits| edits.contains('{'));
            let record = record.clone().with_about(
                "file",
                fields.fields("uri").any_nonempty_text(&["path", "fsPath"]),
            );
            said.add_call(
                &record,
                ToolCall {
                    tool: Some(kind),
                    id: None,
                    arguments: edits.map(str::to_owned),
                },
            );
        }
        _ => {
            let record = record.as_kind(MessageKind::System).spoken_by("copilot");
            said.push(&record, fields.text("title").unwrap_or_default());
            said.push(
                &record,
                part_text(&fields)
                    .or_else(|| fields.text("message"))
                    .unwrap_or_default(),
            );
        }
    }
}

/// Returns the text of a part, which is under `value` or one level below.
fn part_text(fields: &JsonFields<'_>) -> Option<String> {
    let below = |name: &str| fields.fields(name).text("value");
    let direct = fields.any_text(&["value", "content"]);
    direct
        .or_else(|| below("content"))
        .or_else(|| below("value"))
        .or_else(|| below("message"))
}

fn add_thought(said: &mut TranscriptBuilder, record: &MessageRecord, fields: &JsonFields<'_>) {
    let record = record.as_kind(MessageKind::Thinking);
    let many = fields.items("value").into_iter().filter_map(JsonSlice::text);
    for text in fields.text("value").into_iter().chain(many) {
        said.push(&record, text);
    }
}

/// Adds a tool call: as the model made it if that is stored, else as VS Code summarises it.
fn add_invocation(
    said: &mut TranscriptBuilder,
    record: &MessageRecord,
    fields: &JsonFields<'_>,
    tools: &mut CopilotTools<'_>,
) {
    let id = fields.nonempty_text("toolCallId");
    let call = tools.take_call(id.as_deref()).unwrap_or_else(|| ToolCall {
        tool: fields.any_nonempty_text(&["toolId", "toolName"]),
        id,
        arguments: summarise_call(fields),
    });
    let (tool, id) = (call.tool.clone(), call.id.clone());
    if !tools.add_call(said, record, call) {
        let record = said.answer_record(record, tool, id);
        add_outcome(said, &record, fields);
    }
}

/// Returns the arguments of a call, or VS Code's description of it.
fn summarise_call(fields: &JsonFields<'_>) -> Option<String> {
    let details = fields.fields("resultDetails").get("input");
    let given = details
        .or_else(|| fields.get("toolSpecificData"))
        .and_then(JsonSlice::text_or_raw);
    let shown = |name: &str| {
        fields
            .nonempty_text(name)
            .or_else(|| fields.fields(name).nonempty_text("value"))
    };
    given
        .or_else(|| shown("invocationMessage"))
        .or_else(|| shown("pastTenseMessage"))
}

/// Adds the outcome of a call.
fn add_outcome(said: &mut TranscriptBuilder, record: &MessageRecord, fields: &JsonFields<'_>) {
    let output = fields.fields("resultDetails").get("output");
    for item in output.and_then(JsonSlice::items).unwrap_or_default() {
        let text = item.fields().and_then(|item| item.text("value"));
        said.push(record, text.unwrap_or_else(|| item.raw().to_owned()));
    }
    let whole = output
        .filter(|output| !output.is_array())
        .and_then(JsonSlice::text_or_raw);
    let terminal = fields
        .fields("toolSpecificData")
        .fields("terminalCommandOutput")
        .text("text");
    said.push(record, whole.or(terminal).unwrap_or_default());
}

/// Adds a file or a symbol named within the prose.
fn add_reference(said: &mut TranscriptBuilder, record: &MessageRecord, fields: &JsonFields<'_>) {
    let target = fields.fields("inlineReference");
    let place = target.fields("location").fields("uri");
    let path = target
        .any_nonempty_text(&["fsPath", "path"])
        .or_else(|| target.fields("uri").any_nonempty_text(&["fsPath", "path"]));
    let path = path.or_else(|| place.any_nonempty_text(&["fsPath", "path"]));
    let name = fields
        .nonempty_text("name")
        .or_else(|| target.nonempty_text("name"))
        .or_else(|| path.clone());
    said.push(
        &record.clone().with_about("reference", path),
        name.unwrap_or_default(),
    );
}
