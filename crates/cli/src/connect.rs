//! Connecting tools: which files each one reads, what stands there for Loci, and how it gets there and out again.

mod claude_code;
mod codex;
mod cursor;
mod diff;
mod entries;
mod file;
mod gemini;
mod json;
#[cfg(test)]
mod laws;
mod line;
mod places;
mod program;
mod toml;
mod vscode;

use std::path::PathBuf;

use clap::ValueEnum;
use loci_core::Result;

use entries::Part;
use file::{Current, Prepared, malformed};
use toml::Server;

pub(crate) use places::Places;
pub(crate) use program::Program;

/// A tool that can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// VS Code.
    #[value(name = "vscode")]
    VsCode,
}

impl Tool {
    /// How it is called on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// The configs it reads, and what is to stand in them.
    pub(crate) fn configs(self, places: &Places, program: &Program) -> Vec<Config> {
        match self {
            Self::ClaudeCode => claude_code::configs(places, program),
            Self::Codex => codex::configs(places, program),
            Self::Gemini => gemini::configs(places, program),
            Self::Cursor => cursor::configs(places, program),
            Self::VsCode => vscode::configs(places, program),
        }
    }
}

/// A config, and what is to stand in it.
#[derive(Debug)]
pub(crate) struct Config {
    /// Where it lies.
    pub(crate) path: PathBuf,
    format: Format,
}

#[derive(Debug)]
enum Format {
    Json(Vec<Part>),
    Toml(Server),
}

impl Config {
    fn json(path: PathBuf, parts: impl Into<Vec<Part>>) -> Self {
        let format = Format::Json(parts.into());
        Self { path, format }
    }

    fn toml(path: PathBuf, server: Server) -> Self {
        let format = Format::Toml(server);
        Self { path, format }
    }

    /// What it says where nothing else does.
    pub(crate) fn snippet(&self) -> Result<String> {
        self.connected("", None)
    }

    /// `text` with our entries in it, where `original` is what it was before we came.
    fn connected(&self, text: &str, original: Option<&str>) -> Result<String> {
        let made = match &self.format {
            Format::Json(parts) => entries::connected(text, parts, original),
            Format::Toml(server) => toml::connected(text, server),
        };
        made.map_err(|what| malformed(&self.path, &what))
    }

    /// `text` without our entries, or nothing.
    fn parted(&self, text: &str, original: Option<&str>) -> Result<Option<String>> {
        let made = match &self.format {
            Format::Json(parts) => entries::parted(text, parts, original),
            Format::Toml(_) => toml::parted(text, original),
        };
        made.map_err(|what| malformed(&self.path, &what))
    }

    fn connect(&self) -> Result<Change> {
        let current = Current::read(&self.path)?;
        let text = current.text.as_deref().unwrap_or_default();
        // A file that holds nothing of ours is itself what there was before we came.
        let is_first = self.parted(text, None)?.as_deref() == Some(text);
        let original = match is_first {
            true => current.text.clone(),
            false => current.original(),
        };
        let after = self.connected(text, original.as_deref())?;
        Ok(Change {
            path: self.path.clone(),
            is_first,
            after: Some(after),
            current,
        })
    }

    fn part(&self) -> Result<Change> {
        let current = Current::read(&self.path)?;
        let after = match &current.text {
            Some(text) => self.parted(text, current.original().as_deref())?,
            None => None,
        };
        Ok(Change {
            path: self.path.clone(),
            is_first: false,
            after,
            current,
        })
    }
}

/// What becomes of one config.
#[derive(Debug)]
pub(crate) struct Change {
    /// Where it lies.
    pub(crate) path: PathBuf,
    current: Current,
    after: Option<String>,
    /// Whether nothing of ours was in it.
    is_first: bool,
}

impl Change {
    /// What is done to the file, in one word.
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.current.text, &self.after) {
            (before, after) if before == after => "none",
            (None, _) => "create",
            (Some(_), None) => "remove",
            _ => "edit",
        }
    }

    /// Whether anything is done.
    pub(crate) fn is_any(&self) -> bool {
        self.current.text != self.after
    }

    /// What is done, line by line.
    pub(crate) fn diff(&self) -> String {
        let name = self.path.to_string_lossy();
        diff::unified(&name, self.current.text.as_deref(), self.after.as_deref())
    }
}

/// Reads every config, makes sure that each can be edited, and says what would become of it.
pub(crate) fn plan(configs: &[Config], undo: bool) -> Result<Vec<Change>> {
    let change = |config: &Config| match undo {
        true => config.part(),
        false => config.connect(),
    };
    configs.iter().map(change).collect()
}

/// Carries changes out: all new files are written before the first takes its place. False if somebody changed a
/// config since it was read; then it is to be read again.
pub(crate) fn apply(changes: &[Change], undo: bool) -> Result<bool> {
    let changes: Vec<&Change> = changes.iter().filter(|change| change.is_any()).collect();
    let mut all = Vec::with_capacity(changes.len());
    for change in &changes {
        all.push(Prepared::write(&change.current, change.after.as_deref())?);
    }
    for (change, prepared) in changes.iter().zip(&all) {
        if change.is_first {
            prepared.keep()?;
        }
    }
    for prepared in all {
        if !prepared.place()? {
            return Ok(false);
        }
    }
    if undo {
        for change in changes {
            change.current.forget(change.after.as_deref());
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(path: PathBuf) -> Config {
        let entry = vec![("command".to_owned(), json::Plain::text("loci"))];
        Config::json(
            path,
            [Part::Server {
                list: "servers",
                entry,
            }],
        )
    }

    #[test]
    fn a_config_that_changed_since_it_was_read_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        for (before, meanwhile) in [
            (Some("{\"a\": 1}"), Some("{\"a\": 2}")),
            (Some("{}"), None),
            (None, Some("{}")),
        ] {
            let _ = std::fs::remove_file(&path);
            let put = |text: Option<&str>| match text {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            };
            if before.is_some() {
                put(before);
            }
            let changes = plan(&[config(path.clone())], false).unwrap();
            put(meanwhile);
            assert!(!apply(&changes, false).unwrap());
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), meanwhile);
            assert!(apply(&plan(&[config(path.clone())], false).unwrap(), false).unwrap());
            assert!(std::fs::read_to_string(&path).unwrap().contains("loci"));
            let unfinished = std::fs::read_dir(folder.path()).unwrap();
            let names: Vec<_> = unfinished.map(|entry| entry.unwrap().file_name()).collect();
            assert!(
                !names
                    .iter()
                    .any(|name| name.to_string_lossy().ends_with(".partial")),
                "{names:?}"
            );
        }
    }
}
