//! Which project a path belongs to, and the names of wings and rooms.

mod cwd;
mod git;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

pub(crate) use git::shared_folder;

/// How many characters a name has at most.
const LONGEST_NAME: usize = 128;
/// How many folders deep rooms go.
const ROOM_DEPTH: usize = 2;
/// The room of what lies in the root itself.
const GENERAL: &str = "general";

/// A project: a repository and all its worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// What it is called: the name of its main folder.
    pub name: String,
    /// Its main folder, which may be gone where only a worktree is left.
    pub root: PathBuf,
    /// The folder asked for lies in this checkout: the main folder or a worktree. Rooms are counted from here.
    pub checkout: PathBuf,
}

/// Finds the project a path belongs to; remembers what it found, so it serves one run.
#[derive(Debug, Default)]
pub struct Projects {
    folders: HashMap<PathBuf, Option<Project>>,
    cwds: HashMap<String, Option<String>>,
}

impl Projects {
    /// Remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The project of a folder that exists, given by its canonical path: the nearest ancestor with a repository. A
    /// worktree belongs to its main repository; a submodule is a project of its own. Without a repository, `None`.
    pub fn of_folder(&mut self, folder: &Path) -> Option<Project> {
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
        for ancestor in asked {
            self.folders.insert(ancestor.to_path_buf(), project.clone());
        }
        project
    }

    /// The project a transcript's working folder names, whether or not it exists on this machine: the repository it
    /// lies in, or lay in before it was removed; else its own name, with worktree folders folded away. Windows paths
    /// are understood. A path that is not absolute is never looked up.
    pub fn of_cwd(&mut self, cwd: &str) -> Option<String> {
        if let Some(known) = self.cwds.get(cwd) {
            return known.clone();
        }
        let spelled = || tidy_name(cwd::Spelled::new(cwd).project()?);
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
            return self.of_folder(&folder).map(|project| project.name);
        }
        let left = path.ancestors().find_map(|one| one.canonicalize().ok())?;
        let project = self.of_folder(&left)?;
        // A repository of somebody's whole home says nothing of a folder that may never have been here.
        let home = cwd::Spelled::new(&project.checkout.to_string_lossy()).is_home();
        (!home).then_some(project.name)
    }
}

/// The name of a folder as a project's.
fn name_of(folder: &Path) -> Option<String> {
    tidy_name(&folder.file_name()?.to_string_lossy())
}

/// The name of a wing or room as it is kept: Unicode NFC, white space trimmed and runs of it made one space, control
/// characters gone, at most 128 characters; `None` if nothing is left.
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

/// What two spellings of one name have in common: NFKC, lower case, runs of white space, `-`, `_` and `.` made one
/// `-`, trimmed of `-`.
pub fn folded(name: &str) -> String {
    let lower: String = name.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    let separates = |c: char| c.is_whitespace() || matches!(c, '-' | '_' | '.');
    let parts: Vec<&str> = lower.split(separates).filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// The room of a file: its folder below `root`, at most two levels, joined by `/`; "general" for files in the root
/// itself and for those outside it.
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
