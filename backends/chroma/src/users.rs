//! Finds out which other processes have a file open, where the system tells.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use loci_core::{Finding, Severity};

/// A process that has the database open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// Its number.
    pub(crate) process: u32,
    /// What it is called.
    pub(crate) name: String,
}

impl User {
    /// What to say of it.
    pub(crate) fn finding(&self) -> Finding {
        let message = format!(
            "the process {} ({}) has this folder open; what it has not written down yet cannot be seen",
            self.process, self.name
        );
        Finding::new("in_use", Severity::Note, message)
    }
}

/// The processes other than this one that have `file` open; empty where the system does not tell.
pub(crate) fn of(file: &Path) -> Vec<User> {
    let Ok(meant) = fs::metadata(file) else {
        return Vec::new();
    };
    let own = std::process::id();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = numbers.filter(|process| *process != own);
    let holding = others.filter(|process| holds(*process, (meant.dev(), meant.ino())));
    let named = holding.map(|process| User {
        process,
        name: name(process),
    });
    named.collect()
}

/// Whether another process may be writing to `file`: one has it open, or the system would not tell of one.
pub(crate) fn may_write(file: &Path) -> bool {
    let owner = |path: &Path| fs::metadata(path).ok().map(|found| found.uid());
    // What processes of another user have open is not shown, and not every system has this folder.
    owner(Path::new("/proc/self")) != owner(file) || !of(file).is_empty()
}

fn holds(process: u32, file: (u64, u64)) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let mut found = open.filter_map(|entry| fs::metadata(entry.path()).ok());
    found.any(|found| found.is_file() && (found.dev(), found.ino()) == file)
}

fn name(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
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
        assert_eq!(of(&path), []);
        let _held = fs::File::open(&path).unwrap();
        assert_eq!(of(&path), [], "this process itself does not count");
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
        let users = of(&path);
        assert_eq!(users.len(), 1, "{users:?}");
        assert_eq!(users[0].process, shell.id());
        assert!(may_write(&path));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}
