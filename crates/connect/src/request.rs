//! The request: which tool to connect, with which program; previewed, applied or printed.

use loci_core::{Error, ErrorKind, Result};

use crate::disk::StagedFile;
use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::report::{ConnectReport, SettingsEdit, SettingsSnippet};
use crate::settings_file::{PlannedEdit, SettingsFile};
use crate::tool::AgentTool;

/// Attempts to write files that another program keeps changing.
const ATTEMPTS: usize = 20;

/// A request to connect a tool, or to undo that.
#[derive(Debug, Clone)]
pub struct ConnectRequest {
    /// The tool.
    pub tool: AgentTool,
    /// Whether entries are added or removed.
    pub action: ConnectAction,
    /// The folders in which tools keep their settings.
    pub folders: ToolFolders,
    /// The command the tool is to run.
    pub program: ProgramCommand,
}

/// The action of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectAction {
    /// Adds the server and the hooks, or brings them up to date.
    Connect,
    /// Removes the server and the hooks, and nothing else.
    Undo,
}

impl ConnectRequest {
    /// Reads and checks every settings file and reports the edits. Writes nothing.
    pub fn preview(&self) -> Result<ConnectReport> {
        let edits = self.plan_edits()?.into_iter().map(|planned| planned.edit);
        Ok(ConnectReport {
            edits: edits.collect(),
            written: false,
        })
    }

    /// Makes the edits and reports those that were made.
    ///
    /// All files are read and checked before the first is written; if one cannot be edited, none is. Each
    /// file is replaced in one step. A file that another program changed meanwhile is read and edited again.
    pub fn apply(&self) -> Result<ConnectReport> {
        let mut made: Vec<Option<SettingsEdit>> = Vec::new();
        // A tool that runs may rewrite its settings at any time. Each attempt reads all files again.
        for _ in 0..ATTEMPTS {
            let plan = self.plan_edits()?;
            made.resize(plan.len(), None);
            if place_edits(&plan, &mut made)? {
                return Ok(build_report(plan, made));
            }
        }
        let message = format!(
            "another program keeps writing to the settings of {}",
            self.tool.name()
        );
        Err(Error::new(ErrorKind::Locked, message).with_hint("quit the tool and run the same command again"))
    }

    /// The entries of each settings file on their own, to be pasted by hand. Reads and writes no settings.
    pub fn snippets(&self) -> Result<Vec<SettingsSnippet>> {
        let files = self.list_settings()?;
        files.iter().map(SettingsFile::build_snippet).collect()
    }

    fn list_settings(&self) -> Result<Vec<SettingsFile>> {
        self.folders.check_paths()?;
        Ok(self.tool.list_settings(&self.folders, &self.program))
    }

    fn plan_edits(&self) -> Result<Vec<PlannedEdit>> {
        let root = self.folders.root();
        let files = self.list_settings()?;
        let plan_edit = |file: &SettingsFile| match self.action {
            ConnectAction::Connect => file.plan_connect(root),
            ConnectAction::Undo => file.plan_undo(root),
        };
        files.iter().map(plan_edit).collect()
    }
}

/// Makes the edits in order and notes each in `made`. False if a file changed since it was read; the edits
/// from there on are not made.
fn place_edits(plan: &[PlannedEdit], made: &mut [Option<SettingsEdit>]) -> Result<bool> {
    // Every new file is complete on the disk before the first is put in place: a full disk leaves all as they
    // were.
    let mut staged = Vec::with_capacity(plan.len());
    for planned in plan {
        let is_change = planned.edit.is_change();
        staged.push(is_change.then(|| StagedFile::write(planned)).transpose()?);
    }
    // All backups exist before the first file changes, so that an undo is exact even after a crash in
    // between.
    for file in staged.iter().flatten() {
        file.back_up_original()?;
    }
    for ((planned, file), made) in plan.iter().zip(staged).zip(made) {
        let Some(file) = file else { continue };
        if !file.place_file()? {
            return Ok(false);
        }
        *made = Some(planned.edit.clone());
    }
    Ok(true)
}

/// The report of the last attempt, whose plan leaves out the edits that earlier attempts made.
fn build_report(plan: Vec<PlannedEdit>, made: Vec<Option<SettingsEdit>>) -> ConnectReport {
    let written = made.iter().any(Option::is_some);
    // An edit made by an earlier attempt is unchanged in the last plan, but the user must still see it.
    let edits = plan.into_iter().zip(made);
    ConnectReport {
        edits: edits
            .map(|(planned, made)| made.unwrap_or(planned.edit))
            .collect(),
        written,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::report::EditKind;

    #[test]
    fn a_file_that_changed_meanwhile_is_edited_again_and_all_edits_are_reported() {
        let home = tempfile::tempdir().unwrap();
        let request = ConnectRequest {
            tool: AgentTool::Cursor,
            action: ConnectAction::Connect,
            folders: ToolFolders::below_home(home.path(), home.path()),
            program: ProgramCommand::new(Path::new("loci")).unwrap(),
        };
        let hooks = home.path().join(".cursor/hooks.json");
        let mut made = vec![None, None];
        let plan = request.plan_edits().unwrap();
        fs::create_dir(hooks.parent().unwrap()).unwrap();
        fs::write(&hooks, "{\"a\": 1}").unwrap();
        assert!(!place_edits(&plan, &mut made).unwrap());
        assert_eq!(fs::read_to_string(&hooks).unwrap(), "{\"a\": 1}");

        let plan = request.plan_edits().unwrap();
        assert!(!plan[0].edit.is_change(), "the first attempt made it");
        assert!(place_edits(&plan, &mut made).unwrap());
        let report = build_report(plan, made);
        let kinds: Vec<EditKind> = report.edits.iter().map(SettingsEdit::kind).collect();
        assert_eq!(kinds, [EditKind::Create, EditKind::Edit]);
        assert!(report.written);
        assert!(fs::read_to_string(&hooks).unwrap().starts_with("{\"a\": 1, "));
    }
}
