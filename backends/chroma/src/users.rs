//! Finds the other processes that have a file open, on systems with `/proc`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use loci_core::{FindingSeverity, PalaceFinding};

/// A process that has the database open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileUser {
    /// Its process id.
    pub(crate) process: u32,
    /// Its name.
    pub(crate) name: String,
}

impl FileUser {
    /// Returns the note that reports it.
    pub(crate) fn finding(&self) -> PalaceFinding {
        let message = format!(
            "the process {} ({}) has this folder open; its unsaved changes are not visible",
            self.process, self.name
        );
        PalaceFinding::new("in_use", FindingSeverity::Note, message)
    }
}

/// Returns the processes other than this one that have `file` open, or none if the system does not show them.
pub(crate) fn find_users(file: &Path) -> Vec<FileUser> {
    let Ok(meant) = fs::metadata(file) else {
        return Vec::new();
    };
    let own = std::process::id();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = numbers.filter(|process| *process != own);
    // Compared by device and inode, since a process may have opened the file through a link or another mount.
    let holding = others.filter(|process| has_open(*process, (meant.dev(), meant.ino())));
    let holding = holding.filter(|process| !is_own_copy(*process));
    let named = holding.map(|process| FileUser {
        process,
        name: process_name(process),
    });
    named.collect()
}

/// Returns whether another process may be writing to `file`: one has it open, or the system would not show it.
pub(crate) fn may_write(file: &Path) -> bool {
    let owner = |path: &Path| fs::metadata(path).ok().map(|found| found.uid());
    // The open files of another user's processes are not shown, and not every system has /proc.
    owner(Path::new("/proc/self")) != owner(file) || !find_users(file).is_empty()
}

fn has_open(process: u32, file: (u64, u64)) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let mut found = open.filter_map(|entry| fs::metadata(entry.path()).ok());
    found.any(|found| found.is_file() && (found.dev(), found.ino()) == file)
}

/// Returns whether a process is a copy of this one that has not begun to run its own program yet. Until then it holds
/// every file that this one has open.
fn is_own_copy(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let is_child = parent.and_then(|parent| parent.trim().parse().ok()) == Some(std::process::id());
    // A child that runs this program on purpose has other arguments.
    let command = |process: &str| fs::read(format!("/proc/{process}/cmdline")).ok();
    is_child && command(&process.to_string()) == command("self")
}

fn process_name(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    // A process chooses its own name, and this one is printed to a terminal.
    name.trim().chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_has_the_file_open_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"x").unwrap();
        assert_eq!(find_users(&path), []);
        let _held = fs::File::open(&path).unwrap();
        assert_eq!(find_users(&path), [], "this process itself does not count");
        assert!(!may_write(&path));
        let script = format!("exec 7<'{}'; echo ready; read line", path.display());
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        let output = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut ready).unwrap();
        let users = find_users(&path);
        assert_eq!(users.len(), 1, "{users:?}");
        assert_eq!(users[0].process, shell.id());
        assert!(may_write(&path));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}
