//! The settings of agents' tools: read, edit, undo.
//!
//! Agents' tools (Claude Code, Codex, Gemini CLI, Cursor, VS Code) keep a list of MCP servers and hooks in
//! JSON or TOML files that people edit by hand. This crate adds the server and the hooks of Loci to them and
//! removes them again. Every other byte stays: comments, order, indentation, line endings, permissions. An
//! edit followed by an undo gives the same bytes.
//!
//! A [`ConnectRequest`] names the tool, the folders and the program. [`ConnectRequest::preview`] reports the
//! edits and writes nothing, [`ConnectRequest::apply`] makes them. The crate reads no environment variable
//! and looks for no home folder: the caller hands in every path.
//!
//! ```
//! use loci_connect::{AgentTool, ConnectAction, ConnectRequest, EditKind, ProgramCommand, ToolFolders};
//!
//! # fn main() -> loci_core::Result<()> {
//! # let home = tempfile::tempdir().unwrap();
//! # let home = home.path();
//! let request = ConnectRequest {
//!     tool: AgentTool::Cursor,
//!     action: ConnectAction::Connect,
//!     folders: ToolFolders::below_home(home, home.join(".config")),
//!     program: ProgramCommand::new("/usr/local/bin/loci".as_ref())?,
//! };
//! let report = request.apply()?;
//! assert!(report.written);
//! assert_eq!(report.edits[0].path, home.join(".cursor/mcp.json"));
//! assert_eq!(report.edits[0].kind(), EditKind::Create);
//!
//! let undo = ConnectRequest { action: ConnectAction::Undo, ..request };
//! undo.apply()?;
//! assert!(!home.join(".cursor").exists());
//! # Ok(())
//! # }
//! ```

mod diff;
mod disk;
mod entries;
mod folders;
mod json;
#[cfg(test)]
mod laws;
mod program;
mod report;
mod request;
mod sessions;
mod settings_file;
mod shell_line;
mod splice;
mod status;
mod toml_server;
mod tool;
mod transcripts;

pub use folders::ToolFolders;
pub use program::ProgramCommand;
pub use report::{ConnectReport, EditKind, SettingsEdit, SettingsSnippet};
pub use request::{ConnectAction, ConnectRequest};
pub use sessions::PastSessions;
pub use status::ToolStatus;
pub use tool::AgentTool;
pub use transcripts::TranscriptHome;

/// The name of the server in the settings of every tool.
const SERVER_NAME: &str = "loci";

/// The outcome of editing a text. The error says what is wrong with the file, to follow its name in a
/// sentence.
type EditResult<T> = Result<T, String>;
