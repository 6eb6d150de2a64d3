//! One call: its tool and arguments, and the reply.

use loci_core::{Error, ErrorKind, Result};
use loci_engine::Palace;
use loci_engine::mine::StopSignal;
use serde_json::{Map, Value};

use super::problem::ApiProblem;
use crate::mcp::budget;
use crate::mcp::tool::{CallContext, ToolEntry};
use crate::mcp::tools::find_tool;
use crate::mcp::words::cut_to_bytes;

/// The longest name of a tool that an error repeats, in bytes.
const LONGEST_NAME: usize = 60;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiCall {
    /// The name of the tool.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) arguments: Map<String, Value>,
}

impl ApiCall {
    /// Parses the body of a request: a JSON object, or nothing for a tool without arguments.
    pub(crate) fn from_body(tool: &str, body: &[u8]) -> Result<Self> {
        let refused = |words: String| {
            Error::invalid(words)
                .with_hint("nothing was done; send the arguments as one JSON object, such as {}")
        };
        let arguments = if body.trim_ascii().is_empty() {
            Map::new()
        } else {
            // Parsed without a type: an error then names a place in the body, and repeats nothing of it.
            match serde_json::from_slice(body) {
                Ok(Value::Object(arguments)) => arguments,
                Ok(_) => return Err(refused("the body is not a JSON object".to_owned())),
                Err(cause) => return Err(refused(format!("the body is not JSON: {cause}"))),
            }
        };
        Ok(Self {
            tool: tool.to_owned(),
            arguments,
        })
    }
}

/// The reply to a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiReply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The kind of the failure, unless the call succeeded.
    pub(crate) failure: Option<ErrorKind>,
    /// The tool's value, or the problem.
    pub(crate) value: Value,
}

impl ApiReply {
    /// Makes the reply of a call that succeeded.
    pub(crate) fn from_value(value: Value) -> Self {
        Self {
            status: 200,
            failure: None,
            value,
        }
    }

    /// Makes the reply of a call that failed.
    pub(crate) fn from_error(error: &Error) -> Self {
        let problem = ApiProblem::from_error(error);
        Self {
            status: problem.status,
            failure: Some(error.kind()),
            value: problem.to_value(),
        }
    }

    /// Returns the media type of the body.
    pub(crate) fn media_type(&self) -> &'static str {
        if self.failure.is_none() {
            "application/json"
        } else {
            ApiProblem::MEDIA_TYPE
        }
    }

    /// Returns the body.
    pub(crate) fn to_body(&self) -> Vec<u8> {
        self.value.to_string().into_bytes()
    }
}

/// Runs a call to its end on this thread. `client` is the name of the filer in what it files; once `stop` is set, work
/// that can end early does.
///
/// The reply is bounded. Its length follows the tool's `limit`, and what is left is behind its cursor.
pub(crate) fn run_api_call(
    palace: &Palace,
    call: ApiCall,
    client: Option<String>,
    stop: StopSignal,
) -> ApiReply {
    match run_tool(palace, call, client, stop) {
        Ok(value) => ApiReply::from_value(value),
        Err(error) => ApiReply::from_error(&error),
    }
}

fn run_tool(palace: &Palace, call: ApiCall, client: Option<String>, stop: StopSignal) -> Result<Value> {
    let ApiCall { tool, mut arguments } = call;
    let tool = find_tool(palace.access(), &tool).ok_or_else(|| unknown_tool_error(&tool))?;
    widen_budget(tool, &mut arguments);
    let context = CallContext {
        palace,
        client,
        stop,
        progress: &|_, _, _| {},
    };
    Ok(tool.call(arguments, &context)?.value)
}

/// Gives a page the largest budget if the caller named none: a program asks for a number of items, and pays for no token.
fn widen_budget(tool: &ToolEntry, arguments: &mut Map<String, Value>) {
    let is_given = |value: &Value| !value.is_null() && value.as_str() != Some("");
    if is_paged(tool) && !arguments.get("tokens").is_some_and(is_given) {
        arguments.insert("tokens".into(), budget::MOST.into());
    }
}

/// Returns whether a tool answers in pages of a token budget.
pub(super) fn is_paged(tool: &ToolEntry) -> bool {
    let properties = tool.input.get("properties").and_then(Value::as_object);
    // With a budget but without a cursor, the budget is the length that is asked for, as in `wake_up`.
    properties.is_some_and(|all| all.contains_key("tokens") && all.contains_key("cursor"))
}

fn unknown_tool_error(name: &str) -> Error {
    let name = cut_to_bytes(name, LONGEST_NAME);
    Error::new(
        ErrorKind::NotFound,
        format!("the operation {name:?} does not exist here"),
    )
    .with_hint("nothing was done; GET /api/v1/openapi.json describes all operations")
}
