//! Finds repositories and their worktrees by reading `.git` alone, without running git.

use std::path::{Component, Path, PathBuf};

use super::{GitProject, folder_name};
use crate::stat::read_whole;

/// The size limit of a `.git` file, in bytes.
const LONGEST: u64 = 64 << 10;

/// Returns the project whose checkout this folder is, if a repository begins here.
pub(super) fn project_at(folder: &Path) -> Option<GitProject> {
    let git = git_folder(folder)?;
    let main = match main_git_folder(&git).filter(|_| links_back(&git, folder)) {
        Some(shared) => main_folder(shared),
        None => folder,
    };
    Some(GitProject {
        name: repository_name(main)?,
        root: main.to_path_buf(),
        checkout: folder.to_path_buf(),
    })
}

/// Returns the folder that the worktrees of this checkout's repository share, if a repository begins here.
pub(crate) fn shared_folder(folder: &Path) -> Option<PathBuf> {
    let git = git_folder(folder)?;
    Some(main_git_folder(&git).map(Path::to_path_buf).unwrap_or(git))
}

/// Returns the folder that `.git` is or points to. A `.git` folder without `HEAD` and a file that points nowhere do not
/// make a repository.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let metadata = git.metadata().ok()?;
    if metadata.is_dir() {
        // `HEAD` may be a dangling link in old repositories, so it is not followed.
        return git.join("HEAD").symlink_metadata().is_ok().then_some(git);
    }
    let (bytes, _) = read_whole(&git, LONGEST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let target = text.strip_prefix("gitdir:")?.trim();
    (!target.is_empty()).then(|| normalise_path(&folder.join(target)))
}

/// Returns whether a worktree's git folder names this checkout, as Git writes it. Any archive can hold a `.git` file that
/// points into another project, and must not join it by that.
fn links_back(git: &Path, checkout: &Path) -> bool {
    let Ok((bytes, _)) = read_whole(&git.join("gitdir"), LONGEST) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    normalise_path(&git.join(text.trim())) == normalise_path(&checkout.join(".git"))
}

/// Returns the repository folder of a worktree's git folder, `…/worktrees/x`.
fn main_git_folder(git: &Path) -> Option<&Path> {
    let worktrees = git.parent()?;
    worktrees.ends_with("worktrees").then(|| worktrees.parent())?
}

/// Returns the folder that a repository is named after: the one that holds `.git` or another hidden folder such as
/// `.bare`, and for a bare repository the repository itself.
fn main_folder(shared: &Path) -> &Path {
    let hidden = shared
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    shared.parent().filter(|_| hidden).unwrap_or(shared)
}

/// Returns a repository's name; bare repositories are called `proj.git`.
fn repository_name(main: &Path) -> Option<String> {
    let name = folder_name(main)?;
    match name.strip_suffix(".git") {
        Some(bare) if !bare.is_empty() => Some(bare.to_owned()),
        _ => Some(name),
    }
}

/// Resolves `.` and `..`; lexically if the path does not exist.
fn normalise_path(path: &Path) -> PathBuf {
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
