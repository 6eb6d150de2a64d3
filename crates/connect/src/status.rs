//! The status of a tool: whether it keeps settings on this machine, and whether they name Loci.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};

use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::tool::AgentTool;

/// The status of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStatus {
    /// The settings files the tool reads, whether they exist or not.
    pub files: Vec<PathBuf>,
    /// Whether the tool has made the folder of its settings.
    pub has_settings: bool,
    /// The arguments with which its settings run the server of Loci, if they do.
    pub server_args: Option<Vec<String>>,
}

impl ToolStatus {
    /// Reads the settings of a tool. Writes nothing.
    pub fn read(tool: AgentTool, folders: &ToolFolders) -> Result<Self> {
        // The entries that would be written do not matter here, only where they would go.
        let program = ProgramCommand::new(Path::new("loci"))?;
        let settings = tool.list_settings(folders, &program);
        let mut server_args = None;
        for file in &settings {
            if let Some(text) = read_settings(file.path())? {
                server_args = server_args.or(file.find_server_args(&text)?);
            }
        }
        let user_folders = ToolFolders {
            project: None,
            ..folders.clone()
        };
        Ok(Self {
            files: settings.iter().map(|file| file.path().to_owned()).collect(),
            has_settings: tool.settings_folder(&user_folders).is_dir(),
            server_args,
        })
    }

    /// Whether the settings run the server of Loci.
    pub fn is_connected(&self) -> bool {
        self.server_args.is_some()
    }

    /// The palace that the settings name, if they name one.
    pub fn palace(&self) -> Option<&str> {
        let mut words = self.server_args.iter().flatten();
        words.find(|word| *word == "--palace")?;
        words.next().map(String::as_str)
    }
}

fn read_settings(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => {
            Err(Error::new(ErrorKind::Io, format!("cannot read {}", path.display())).caused_by(cause))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{ConnectAction, ConnectRequest};

    #[test]
    fn a_tool_is_connected_from_apply_to_undo_and_names_its_palace() {
        for tool in AgentTool::ALL {
            let home = tempfile::tempdir().unwrap();
            let folders = ToolFolders::below_home(home.path(), home.path().join(".config"));
            let read = || ToolStatus::read(tool, &folders).unwrap();
            assert!(!read().has_settings && !read().is_connected(), "{tool:?}");
            let program = ProgramCommand::new(Path::new("/bin/loci")).unwrap();
            let connect = ConnectRequest {
                tool,
                action: ConnectAction::Connect,
                folders: folders.clone(),
                program: program.with_palace_args(vec!["--palace".into(), "/my palace".into()]),
            };
            connect.apply().unwrap();
            assert_eq!(read().palace(), Some("/my palace"), "{tool:?}");
            assert!(read().has_settings, "{tool:?}");
            let undo = ConnectRequest {
                action: ConnectAction::Undo,
                ..connect
            };
            undo.apply().unwrap();
            assert!(!read().is_connected(), "{tool:?}");
        }
    }

    #[test]
    fn settings_that_cannot_be_read_are_an_error_that_names_them() {
        let home = tempfile::tempdir().unwrap();
        let folders = ToolFolders::below_home(home.path(), home.path());
        let file = home.path().join(".cursor/mcp.json");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "{").unwrap();
        let error = ToolStatus::read(AgentTool::Cursor, &folders).unwrap_err();
        assert!(error.message().contains("mcp.json"), "{error}");
    }
}
