//! The folders in which tools keep their settings, as the caller names them.

use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

/// The folders in which tools keep their settings. All paths must be absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFolders {
    /// The user's home folder. It must exist unless a project is named; it is never created.
    pub home: PathBuf,
    /// The folder in which desktop applications keep their settings: `~/.config` on Linux,
    /// `~/Library/Application Support` on macOS.
    pub applications: PathBuf,
    /// The project whose settings are edited. Without one, the user's own settings are.
    pub project: Option<PathBuf>,
    /// The folder Claude Code uses in place of the home folder, as `CLAUDE_CONFIG_DIR` names it.
    pub claude_code: Option<PathBuf>,
    /// The folder Codex uses in place of `~/.codex`, as `CODEX_HOME` names it.
    pub codex: Option<PathBuf>,
    /// The folder Gemini CLI uses in place of the home folder, as `GEMINI_CLI_HOME` names it.
    pub gemini: Option<PathBuf>,
}

impl ToolFolders {
    /// The user's own settings where no tool was told to keep them elsewhere.
    pub fn below_home(home: impl Into<PathBuf>, applications: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            applications: applications.into(),
            project: None,
            claude_code: None,
            codex: None,
            gemini: None,
        }
    }

    /// The project, or else the home folder: the one folder that holds the settings and is not part of them.
    pub(crate) fn root(&self) -> &Path {
        self.project.as_ref().unwrap_or(&self.home)
    }

    /// Refuses a relative path, and a home folder that does not exist.
    pub(crate) fn check_paths(&self) -> Result<()> {
        let is_usable_home = self.home.is_absolute() && self.home.is_dir();
        // Never created: a wrong HOME would otherwise get a tree of settings that no tool reads.
        if self.project.is_none() && !is_usable_home {
            return Err(home_error(&self.home));
        }
        let named = [&self.project, &self.claude_code, &self.codex, &self.gemini];
        let mut named = named.into_iter().flatten();
        match named.find(|folder| folder.is_relative()) {
            Some(folder) => Err(relative_path_error(folder)),
            None => Ok(()),
        }
    }

    /// A folder such as `.cursor` of the project, or else of the home folder.
    pub(crate) fn dot_folder(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Claude Code's list of servers, and its settings. A folder named by the user holds both.
    pub(crate) fn claude_code_files(&self) -> (PathBuf, PathBuf) {
        match (&self.project, &self.claude_code) {
            (Some(project), _) => (project.join(".mcp.json"), project.join(".claude/settings.json")),
            // With CLAUDE_CONFIG_DIR both files move into that folder, and `.claude` is dropped from the
            // second path.
            (None, Some(folder)) => (folder.join(".claude.json"), folder.join("settings.json")),
            (None, None) => (
                self.home.join(".claude.json"),
                self.home.join(".claude/settings.json"),
            ),
        }
    }

    /// The folder of Codex.
    pub(crate) fn codex_folder(&self) -> PathBuf {
        match (&self.project, &self.codex) {
            (None, Some(folder)) => folder.clone(),
            _ => self.dot_folder(".codex"),
        }
    }

    /// The folder of Gemini CLI.
    pub(crate) fn gemini_folder(&self) -> PathBuf {
        match (&self.project, &self.gemini) {
            // GEMINI_CLI_HOME replaces the home folder, unlike CODEX_HOME, which replaces `~/.codex` itself.
            (None, Some(home)) => home.join(".gemini"),
            _ => self.dot_folder(".gemini"),
        }
    }

    /// VS Code's list of servers.
    pub(crate) fn vscode_file(&self) -> PathBuf {
        match &self.project {
            Some(project) => project.join(".vscode/mcp.json"),
            None => self.applications.join("Code/User/mcp.json"),
        }
    }
}

fn home_error(home: &Path) -> Error {
    let message = format!(
        "{} cannot be the home folder: it does not exist or is not an absolute path",
        home.display()
    );
    Error::invalid(message).with_hint("nothing was written; set HOME, or use --project or --print")
}

fn relative_path_error(folder: &Path) -> Error {
    let message = format!("{} is not an absolute path", folder.display());
    Error::invalid(message).with_hint("nothing was written; name the folder by its absolute path")
}
