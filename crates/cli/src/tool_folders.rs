//! The folders in which tools keep their settings and transcripts, as the environment names them.

use std::path::PathBuf;

use etcetera::BaseStrategy;
use loci_connect::{ToolFolders, TranscriptHome};
use loci_core::{Error, ErrorKind, Result};
use loci_engine::mine::TranscriptFolder;

use crate::errors;

/// Reads the folders from the environment. With `project`, the settings are those of the current folder.
pub(crate) fn read_tool_folders(project: bool) -> Result<ToolFolders> {
    let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|_| {
        let message = "this user has no home folder, so there are no settings to edit";
        Error::new(ErrorKind::NotFound, message)
            .with_hint("set HOME, or print the entries with --print --project")
    })?;
    // On a Mac, applications keep their settings in the folder for data.
    let applications = if cfg!(target_os = "macos") {
        strategy.data_dir()
    } else {
        strategy.config_dir()
    };
    let project = project.then(std::env::current_dir).transpose();
    Ok(ToolFolders {
        home: strategy.home_dir().to_owned(),
        applications,
        project: project.map_err(|cause| errors::io_error("cannot find the current folder", cause))?,
        claude_code: read_folder("CLAUDE_CONFIG_DIR")?,
        codex: read_folder("CODEX_HOME")?,
        gemini: read_folder("GEMINI_CLI_HOME")?,
    })
}

/// Lists the folders in which tools keep transcripts; none without a home folder.
pub(crate) fn list_transcript_folders() -> Vec<TranscriptFolder> {
    let Ok(folders) = read_tool_folders(false) else {
        return Vec::new();
    };
    // Not this platform's folder for data: opencode uses the same one everywhere.
    let data = read_folder("XDG_DATA_HOME").ok().flatten();
    let data = data.unwrap_or_else(|| folders.home.join(".local/share"));
    let homes = TranscriptHome::list_all(&folders, &data).into_iter();
    let folders = homes.map(|home| TranscriptFolder {
        root: home.root,
        places: home.places,
        formats: home.formats,
    });
    folders.collect()
}

/// Reads a variable that names a folder. An empty one counts as not set.
fn read_folder(variable: &str) -> Result<Option<PathBuf>> {
    // Absolute: the settings are read by a tool that is started in another folder.
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    let folder = value.map(std::path::absolute).transpose();
    folder.map_err(|cause| errors::io_error(format!("cannot find the folder in {variable}"), cause))
}
