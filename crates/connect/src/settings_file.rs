//! A settings file of a tool and the entries it is to have: from the text it has to the text it gets.

use std::path::{Path, PathBuf};

use loci_core::Result;

use crate::disk::{SettingsState, format_error};
use crate::entries::{JsonEntry, add_entries, find_json_args, remove_entries};
use crate::report::{SettingsEdit, SettingsSnippet};
use crate::toml_server::{TomlServer, add_server, find_toml_args, remove_server};

/// A settings file and the entries it is to have.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    path: PathBuf,
    format: SettingsFormat,
}

#[derive(Debug)]
enum SettingsFormat {
    Json(Vec<JsonEntry>),
    Toml(TomlServer),
}

/// An edit that was worked out and not yet made.
#[derive(Debug)]
pub(crate) struct PlannedEdit {
    /// The edit.
    pub(crate) edit: SettingsEdit,
    /// The file as it was read.
    pub(crate) state: SettingsState,
    /// Whether the text is the original, which is to be kept.
    pub(crate) keeps_original: bool,
}

impl SettingsFile {
    /// A JSON file.
    pub(crate) fn json(path: PathBuf, entries: impl Into<Vec<JsonEntry>>) -> Self {
        let format = SettingsFormat::Json(entries.into());
        Self { path, format }
    }

    /// A TOML file.
    pub(crate) fn toml(path: PathBuf, server: TomlServer) -> Self {
        let format = SettingsFormat::Toml(server);
        Self { path, format }
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The arguments of the server in `text`, if the server is there.
    pub(crate) fn find_server_args(&self, text: &str) -> Result<Option<Vec<String>>> {
        let found = match &self.format {
            SettingsFormat::Json(entries) => find_json_args(text, entries),
            SettingsFormat::Toml(_) => find_toml_args(text),
        };
        found.map_err(|problem| format_error(&self.path, &problem))
    }

    /// The entries on their own.
    pub(crate) fn build_snippet(&self) -> Result<SettingsSnippet> {
        Ok(SettingsSnippet {
            path: self.path.clone(),
            text: self.add_to("", None)?,
        })
    }

    /// Works out the edit that adds the entries or brings them up to date.
    pub(crate) fn plan_connect(&self, root: &Path) -> Result<PlannedEdit> {
        let state = SettingsState::read(&self.path, root)?;
        let text = state.text.as_deref().unwrap_or_default();
        // A file without an entry of ours is itself the original, whatever an earlier backup says.
        let is_original = self.remove_from(text, None)?.as_deref() == Some(text);
        let original = if is_original {
            state.text.clone()
        } else {
            state.read_backup()
        };
        let after = self.add_to(text, original.as_deref())?;
        Ok(self.build_edit(state, Some(after), is_original))
    }

    /// Works out the edit that removes the entries.
    pub(crate) fn plan_undo(&self, root: &Path) -> Result<PlannedEdit> {
        let state = SettingsState::read(&self.path, root)?;
        // The backup tells which containers the user had before, so that those stay even if they are empty.
        let after = match &state.text {
            Some(text) => self.remove_from(text, state.read_backup().as_deref())?,
            None => None,
        };
        Ok(self.build_edit(state, after, false))
    }

    fn build_edit(&self, state: SettingsState, after: Option<String>, keeps_original: bool) -> PlannedEdit {
        let edit = SettingsEdit {
            path: self.path.clone(),
            before: state.text.clone(),
            after,
        };
        PlannedEdit {
            edit,
            state,
            keeps_original,
        }
    }

    /// `text` with the entries. `original` is the text before any entry was added.
    fn add_to(&self, text: &str, original: Option<&str>) -> Result<String> {
        let edited = match &self.format {
            SettingsFormat::Json(entries) => add_entries(text, entries, original),
            SettingsFormat::Toml(server) => add_server(text, server),
        };
        edited.map_err(|problem| format_error(&self.path, &problem))
    }

    /// `text` without the entries, or `None` if the file is to be removed.
    fn remove_from(&self, text: &str, original: Option<&str>) -> Result<Option<String>> {
        let edited = match &self.format {
            SettingsFormat::Json(entries) => remove_entries(text, entries, original),
            SettingsFormat::Toml(_) => remove_server(text, original),
        };
        edited.map_err(|problem| format_error(&self.path, &problem))
    }
}
