//! `loci connect` without a tool: every known tool, and whether it is installed and connected.

use loci_connect::{AgentTool, ToolFolders, ToolStatus};
use loci_core::Error;
use serde_json::{Value as Json, json};

use super::program::find_on_path;
use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::session::CommandSession;

/// A tool as it is listed.
struct ToolRow {
    tool: AgentTool,
    installed: bool,
    /// The error is that of settings that cannot be read.
    status: Result<ToolStatus, Error>,
}

impl ToolRow {
    fn read(tool: AgentTool, folders: &ToolFolders) -> Self {
        let status = ToolStatus::read(tool, folders);
        // Settings that cannot be read are there all the same.
        let has_settings = status.as_ref().map_or(true, |status| status.has_settings);
        Self {
            tool,
            installed: has_settings || tool.programs().iter().any(|name| find_on_path(name).is_some()),
            status,
        }
    }

    fn write_command(&self) -> String {
        format!("loci connect {}", self.tool.name())
    }

    fn to_json(&self) -> Json {
        // Settings that cannot be read may or may not name Loci; they count as not connected.
        let mut row = json!({
            "tool": self.tool.name(),
            "title": self.tool.title(),
            "installed": self.installed,
            "connected": self.status.as_ref().is_ok_and(ToolStatus::is_connected),
            "palace": self.status.as_ref().ok().and_then(ToolStatus::palace),
            "files": self.status.as_ref().map_or(Vec::new(), list_files),
            "command": self.write_command(),
        });
        if let (Err(error), Some(fields)) = (&self.status, row.as_object_mut()) {
            fields.insert("error".to_owned(), error.to_string().into());
        }
        row
    }

    fn write_status(&self, page: &mut TextPage) {
        // As wide as the longest title and a space.
        page.bold(&format!("{:<12}", self.tool.title()));
        match &self.status {
            Err(error) => page.red(&error.to_string()),
            Ok(status) if status.is_connected() => {
                let palace = status.palace().unwrap_or("the default palace");
                page.plain("connected      ").dim(palace)
            }
            Ok(_) if self.installed => page.plain("not connected  ").plain(&self.write_command()),
            Ok(_) => page.dim("not installed"),
        };
        page.end();
    }
}

fn list_files(status: &ToolStatus) -> Vec<Json> {
    let files = status.files.iter();
    files
        .map(|path| json!({ "path": path.to_string_lossy(), "exists": path.exists() }))
        .collect()
}

/// Lists every tool.
pub(super) fn list_tools(folders: &ToolFolders, session: &mut CommandSession) -> CommandResult {
    let rows: Vec<ToolRow> = AgentTool::ALL
        .into_iter()
        .map(|tool| ToolRow::read(tool, folders))
        .collect();
    let out = &mut session.out;
    if out.is_json() {
        let rows: Vec<Json> = rows.iter().map(ToolRow::to_json).collect();
        out.write_json(&json!({ "tools": rows }))?;
    } else {
        out.write_page(|page| rows.iter().for_each(|row| row.write_status(page)))?;
    }
    Ok(ExitStatus::Done)
}
