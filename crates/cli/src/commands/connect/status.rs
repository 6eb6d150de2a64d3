//! `loci connect` without a tool: every known tool, and whether it is installed and connected.

use loci_connect::{AgentTool, ToolFolders, ToolStatus};
use loci_core::Error;

use super::documents::{ListedSettingsFile, ListedTool, ToolList};
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

    fn describe(&self) -> ListedTool {
        let status = self.status.as_ref();
        ListedTool {
            tool: self.tool.name(),
            title: self.tool.title(),
            installed: self.installed,
            // Settings that cannot be read may or may not name Loci; they count as not connected.
            connected: status.is_ok_and(ToolStatus::is_connected),
            palace: status.ok().and_then(ToolStatus::palace).map(str::to_owned),
            files: status.map_or(Vec::new(), list_files),
            command: self.write_command(),
            error: status.err().map(ToString::to_string),
        }
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

fn list_files(status: &ToolStatus) -> Vec<ListedSettingsFile> {
    let files = status.files.iter();
    files
        .map(|path| ListedSettingsFile {
            path: path.to_string_lossy().into_owned(),
            exists: path.exists(),
        })
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
        out.write_json(&ToolList {
            tools: rows.iter().map(ToolRow::describe).collect(),
        })?;
    } else {
        out.write_page(|page| rows.iter().for_each(|row| row.write_status(page)))?;
    }
    Ok(ExitStatus::Done)
}
