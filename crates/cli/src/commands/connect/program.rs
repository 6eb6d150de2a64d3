//! Programs on the search path: this one as its user calls it, and those of tools.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use loci_connect::ProgramCommand;
use loci_core::Result;

use crate::errors;

/// The command that runs this program, by the path under which its user called it.
///
/// Package managers replace the file behind a link such as `~/.local/bin/loci` at every update, so that the path behind
/// the link would be gone after the next one.
pub(super) fn find_own_command() -> Result<ProgramCommand> {
    let own = std::env::current_exe().map_err(|cause| {
        errors::io_error("cannot find the path of this program; nothing was changed", cause)
    })?;
    let called = std::env::args_os().next().and_then(|word| find_called(&word));
    let called = called.filter(|path| is_same_file(path, &own));
    // A link may have a name by which the entries could not be recognised again.
    let command = called.and_then(|path| ProgramCommand::new(&path).ok());
    command.map_or_else(|| ProgramCommand::new(&own), Ok)
}

/// The absolute path that the first word of a command line means, links and all.
fn find_called(word: &OsStr) -> Option<PathBuf> {
    let path = Path::new(word);
    if path.components().count() > 1 {
        return std::path::absolute(path).ok();
    }
    find_on_path(word)
}

/// The first program of this name on the search path.
pub(crate) fn find_on_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    // The shell takes the first that can be run, and skips what cannot.
    let mut programs = std::env::split_paths(&folders).map(|folder| folder.join(&name));
    programs.find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let (one, other) = (one.canonicalize(), other.canonicalize());
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}
