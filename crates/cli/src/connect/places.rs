//! Where tools keep their configs, as the environment says.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use loci_core::{Error, ErrorKind, Result};

/// Where tools keep their configs.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The project whose own configs are meant, if not the user's.
    pub(super) project: Option<PathBuf>,
    /// Whether `LOCI_PALACE` names a palace here.
    pub(crate) names_palace: bool,
    home: PathBuf,
    programs: PathBuf,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    gemini: Option<PathBuf>,
}

impl Places {
    /// Reads the environment; with `project`, the current folder is meant.
    pub(crate) fn read(project: bool) -> Result<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = |name: &str| set(name).map(|value| std::path::absolute(value).map_err(unknown));
        let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|_| homeless())?;
        let home = strategy.home_dir();
        let is_home = home.is_absolute() && home.is_dir();
        if !project && !is_home {
            return Err(no_home(home));
        }
        Ok(Self {
            project: project.then(std::env::current_dir).transpose().map_err(unknown)?,
            names_palace: set("LOCI_PALACE").is_some(),
            home: home.to_owned(),
            // Where programs like VS Code keep what they know: on a Mac that is among the data.
            programs: match cfg!(target_os = "macos") {
                true => strategy.data_dir(),
                false => strategy.config_dir(),
            },
            claude: folder("CLAUDE_CONFIG_DIR").transpose()?,
            codex: folder("CODEX_HOME").transpose()?,
            gemini: folder("GEMINI_CLI_HOME").transpose()?,
        })
    }

    /// What the project, or else the home folder, calls `hidden`.
    pub(super) fn dotted(&self, hidden: &str) -> PathBuf {
        self.project.as_ref().unwrap_or(&self.home).join(hidden)
    }

    /// Claude Code's servers and settings. They lie together where its folder was moved.
    pub(super) fn claude_code(&self) -> (PathBuf, PathBuf) {
        match (&self.project, &self.claude) {
            (Some(project), _) => (project.join(".mcp.json"), project.join(".claude/settings.json")),
            (None, Some(folder)) => (folder.join(".claude.json"), folder.join("settings.json")),
            (None, None) => (
                self.home.join(".claude.json"),
                self.home.join(".claude/settings.json"),
            ),
        }
    }

    /// Codex's folder.
    pub(super) fn codex(&self) -> PathBuf {
        match (&self.project, &self.codex) {
            (None, Some(folder)) => folder.clone(),
            _ => self.dotted(".codex"),
        }
    }

    /// Gemini's folder.
    pub(super) fn gemini(&self) -> PathBuf {
        match (&self.project, &self.gemini) {
            (None, Some(home)) => home.join(".gemini"),
            _ => self.dotted(".gemini"),
        }
    }

    /// The list of servers of VS Code.
    pub(super) fn vscode(&self) -> PathBuf {
        match &self.project {
            Some(project) => project.join(".vscode/mcp.json"),
            None => self.programs.join("Code/User/mcp.json"),
        }
    }
}

fn no_home(home: &Path) -> Error {
    let message = format!(
        "{} is no home folder: it is not there, or no whole path",
        home.display()
    );
    Error::invalid(message).hint("nothing was written; set HOME, or use --project or --print")
}

fn homeless() -> Error {
    Error::new(
        ErrorKind::NotFound,
        "this user has no home folder to find configs in",
    )
    .hint("set HOME, or print what to paste with --print --project")
}

fn unknown(cause: std::io::Error) -> Error {
    crate::errors::io("cannot tell which folder is the current one", cause)
}
