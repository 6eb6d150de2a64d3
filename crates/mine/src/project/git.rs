//! Where repositories begin and which of them belong together, read from `.git` alone.

use std::path::{Component, Path, PathBuf};

use super::{Project, name_of};
use crate::stat::read_whole;

/// The longest `.git` file that is read.
const LONGEST: u64 = 64 << 10;

/// The project whose checkout this folder is, if a repository begins here.
pub(super) fn project_at(folder: &Path) -> Option<Project> {
    let git = git_folder(folder)?;
    let main = match main_of(&git) {
        Some(shared) => main_folder(shared),
        None => folder,
    };
    Some(Project {
        name: repository_name(main)?,
        root: main.to_path_buf(),
        checkout: folder.to_path_buf(),
    })
}

/// The folder in which the repository of this checkout keeps what its worktrees share, if one begins here.
pub(crate) fn shared_folder(folder: &Path) -> Option<PathBuf> {
    let git = git_folder(folder)?;
    Some(main_of(&git).map(Path::to_path_buf).unwrap_or(git))
}

/// The folder `.git` is or points to. A folder without `HEAD` and a file that points nowhere begin no repository.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let metadata = git.metadata().ok()?;
    if metadata.is_dir() {
        return git.join("HEAD").symlink_metadata().is_ok().then_some(git);
    }
    let (bytes, _) = read_whole(&git, LONGEST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let target = text.strip_prefix("gitdir:")?.trim();
    (!target.is_empty()).then(|| plain(&folder.join(target)))
}

/// For a worktree's folder, `…/worktrees/x`, the folder of the repository it belongs to. Its path is enough, so a
/// worktree whose repository has moved away still knows its name.
fn main_of(git: &Path) -> Option<&Path> {
    let worktrees = git.parent()?;
    worktrees.ends_with("worktrees").then(|| worktrees.parent())?
}

/// The folder a repository is known by: the one that holds `.git` or another hidden folder such as `.bare`, and for a
/// bare repository itself.
fn main_folder(shared: &Path) -> &Path {
    let hidden = shared
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    shared.parent().filter(|_| hidden).unwrap_or(shared)
}

/// Bare repositories are called `proj.git`.
fn repository_name(main: &Path) -> Option<String> {
    let name = name_of(main)?;
    match name.strip_suffix(".git") {
        Some(bare) if !bare.is_empty() => Some(bare.to_owned()),
        _ => Some(name),
    }
}

/// The path without `.` and `..`, from its letters alone if it does not exist.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        plain
    })
}
