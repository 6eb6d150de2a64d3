//! The documents that `loci connect` prints for scripts.

use loci_connect::{AgentTool, ConnectReport, SettingsEdit, SettingsSnippet};
use schemars::JsonSchema;
use serde::Serialize;

/// The change to the settings of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolConnection {
    /// The tool.
    tool: &'static str,
    /// Its settings files.
    files: Vec<EditedFile>,
    /// Whether the change was written.
    written: bool,
    /// Past sessions that can be mined, if the tool was just connected and has some.
    past_sessions: Option<OfferedSessions>,
}

impl ToolConnection {
    /// Describes the outcome of a connection.
    pub(super) fn new(tool: AgentTool, report: &ConnectReport, past: Option<OfferedSessions>) -> Self {
        let describe_edit = |edit: &SettingsEdit| EditedFile {
            path: edit.path.to_string_lossy().into_owned(),
            change: edit.kind().name(),
            diff: edit.diff(),
        };
        Self {
            tool: tool.name(),
            files: report.edits.iter().map(describe_edit).collect(),
            written: report.written,
            past_sessions: past,
        }
    }
}

/// The change to one settings file.
#[derive(Debug, Serialize, JsonSchema)]
struct EditedFile {
    /// The file.
    path: String,
    /// The kind of change.
    change: &'static str,
    /// The change as a unified diff; empty if there is none.
    diff: String,
}

/// Past sessions of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OfferedSessions {
    /// Their folder.
    pub(super) folder: String,
    /// Their number.
    pub(super) sessions: usize,
    /// The command that mines them.
    pub(super) command: String,
}

/// The entries that the settings of a tool would get.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PrintedSettings {
    /// The tool.
    tool: &'static str,
    /// Its settings files.
    files: Vec<PrintedFile>,
}

impl PrintedSettings {
    /// Describes the entries.
    pub(super) fn new(tool: AgentTool, snippets: &[SettingsSnippet]) -> Self {
        let describe_snippet = |snippet: &SettingsSnippet| PrintedFile {
            path: snippet.path.to_string_lossy().into_owned(),
            snippet: snippet.text.clone(),
        };
        Self {
            tool: tool.name(),
            files: snippets.iter().map(describe_snippet).collect(),
        }
    }
}

/// The entries for one settings file.
#[derive(Debug, Serialize, JsonSchema)]
struct PrintedFile {
    /// The file.
    path: String,
    /// The entries, in the file's own format.
    snippet: String,
}

/// The tools that can be connected.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolList {
    /// Every known tool.
    pub(super) tools: Vec<ListedTool>,
}

/// A tool as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedTool {
    /// Its name on the command line.
    pub(super) tool: &'static str,
    /// Its own name.
    pub(super) title: &'static str,
    /// Whether it is installed.
    pub(super) installed: bool,
    /// Whether its settings name Loci.
    pub(super) connected: bool,
    /// The palace its settings name; null for the default palace and for a tool that is not connected.
    pub(super) palace: Option<String>,
    /// Its settings files.
    pub(super) files: Vec<ListedSettingsFile>,
    /// The command that connects it.
    pub(super) command: String,
    /// The reason its settings cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// A settings file of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedSettingsFile {
    /// The file.
    pub(super) path: String,
    /// Whether it exists.
    pub(super) exists: bool,
}
