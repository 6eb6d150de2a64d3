//! Watching calls: a server for many callers records what each of them does.

use loci_core::{Error, Result};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::tool::ToolEntry;

/// Is told of every call before it begins and after it has ended.
pub(crate) trait CallWatch: Send + Sync {
    /// A tool is about to run. An error refuses the call.
    fn begin_tool(&self, tool: &ToolEntry, arguments: &JsonObject) -> Result<Box<dyn WatchedCall>>;

    /// Resources were listed or read, or could not be.
    fn note_resources(&self, outcome: std::result::Result<(), &Error>);
}

/// A call under way.
pub(crate) trait WatchedCall {
    /// The call has ended, with this value or error.
    fn end(self: Box<Self>, outcome: std::result::Result<&Value, &Error>);
}
