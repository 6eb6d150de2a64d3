//! Finds the project of a path, and forms the names of wings and rooms.

mod cwd;
mod git;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

pub(crate) use git::shared_folder;

/// The length limit of a name, in characters.
const LONGEST_NAME: usize = 128;
/// The number of folder levels in a room's name.
const ROOM_DEPTH: usize = 2;
/// The room of files in the root itself.
const GENERAL: &str = "general";

/// A project: a repository and all its worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitProject {
    /// The name of its main folder.
    pub name: String,
    /// Its main folder, which may no longer exist if only a worktree is left.
    pub root: PathBuf,
    /// The checkout that contains the requested folder: the main folder or a worktree. Rooms are relative to it.
    pub checkout: PathBuf,
}

/// Finds the projects of paths. Caches what it found, so one finder serves one run.
#[derive(Debug, Default)]
pub struct ProjectFinder {
    folders: HashMap<PathBuf, Option<GitProject>>,
    cwds: HashMap<String, Option<String>>,
}

impl ProjectFinder {
    /// Creates a finder with an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the project of an existing folder, given by its canonical path: the nearest ancestor with a
    /// repository. A worktree belongs to its main repository; a submodule is a separate project. `None` without a
    /// repository.
    pub fn project_of_folder(&mut self, folder: &Path) -> Option<GitProject> {
        let mut asked = Vec::new();
        let mut project = None;
        for ancestor in folder.ancestors() {
            if let Some(known) = self.folders.get(ancestor) {
                project = known.clone();
                break;
            }
            asked.push(ancestor);
            project = git::project_at(ancestor);
            if project.is_some() {
                break;
            }
        }
        // Every folder on the way up has the same answer, so siblings end their search at the first shared
        // ancestor.
        for ancestor in asked {
            self.folders.insert(ancestor.to_path_buf(), project.clone());
        }
        project
    }

    /// Returns the project named by a transcript's working folder, whether or not that exists on this machine: the
    /// repository that contains it, or contained it before it was removed; else the folder's own name, with worktree
    /// folders resolved. Windows paths are understood. A relative path is never looked up on disk.
    pub fn name_of_cwd(&mut self, cwd: &str) -> Option<String> {
        if let Some(known) = self.cwds.get(cwd) {
            return known.clone();
        }
        let spelled = || tidy_name(cwd::SpelledPath::new(cwd).project_name()?);
        let name = self.repository_of(cwd).or_else(spelled);
        self.cwds.insert(cwd.to_owned(), name.clone());
        name
    }

    fn repository_of(&mut self, cwd: &str) -> Option<String> {
        let path = Path::new(cwd.trim());
        if !path.is_absolute() {
            return None;
        }
        if let Ok(folder) = path.canonicalize() {
            return self.project_of_folder(&folder).map(|project| project.name);
        }
        // The folder is gone, often a deleted worktree; the nearest ancestor that still exists may tell the
        // repository.
        let left = path.ancestors().find_map(|one| one.canonicalize().ok())?;
        let project = self.project_of_folder(&left)?;
        // A repository of a whole home folder says nothing about a folder that may never have existed here.
        let home = cwd::SpelledPath::new(&project.checkout.to_string_lossy()).is_home();
        (!home).then_some(project.name)
    }
}

/// Returns a folder's name as a project name.
fn folder_name(folder: &Path) -> Option<String> {
    tidy_name(&folder.file_name()?.to_string_lossy())
}

/// Normalises the name of a wing or room: Unicode NFC, white space trimmed and collapsed to single spaces, control
/// characters removed, at most 128 characters; `None` if nothing is left.
pub fn tidy_name(text: &str) -> Option<String> {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().filter(|c| !c.is_control()).collect::<String>())
        .filter(|word| !word.is_empty())
        .collect();
    let name: String = words.join(" ").nfc().take(LONGEST_NAME).collect();
    let name = name.trim_end();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the form that all spellings of one name share: NFKC, lower case, runs of white space, `-`, `_` and `.`
/// collapsed to one `-`, without `-` at either end.
pub fn fold_name(name: &str) -> String {
    // Lower-casing can produce characters that are not in NFKC, so it is applied again.
    let lower: String = name.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    let separates = |c: char| c.is_whitespace() || matches!(c, '-' | '_' | '.');
    let parts: Vec<&str> = lower.split(separates).filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// Returns the room of a file: its folder below `root`, at most two levels, joined by `/`; "general" for files in the
/// root itself and for those outside it.
pub fn room_of(path: &Path, root: &Path) -> String {
    let below = path.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let folders = below.into_iter().flat_map(Path::components).take(ROOM_DEPTH);
    let names: Vec<String> = folders
        .filter_map(|one| tidy_name(&one.as_os_str().to_string_lossy()))
        .collect();
    tidy_name(&names.join("/")).unwrap_or_else(|| GENERAL.to_owned())
}

#[cfg(test)]
mod tests;
