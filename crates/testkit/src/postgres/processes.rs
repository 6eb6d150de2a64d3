//! The processes of a server, as the system lists them.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time that processes may take to end after their server.
const LONGEST_END: Duration = Duration::from_secs(60);

/// One process in the system's list.
struct ListedProcess {
    id: i32,
    parent: i32,
    is_zombie: bool,
    title: String,
}

/// Returns the processes that serve connections of a server.
pub(super) fn backends_of(postmaster: i32) -> Vec<i32> {
    // Their titles name the user, the database and the client: a socket or an address with its port.
    let serves = |title: &str| {
        let mut words = title.split(' ');
        words.any(|word| word == "[local]" || word.starts_with("127.0.0.1("))
    };
    let all = list_processes();
    let own = all
        .iter()
        .filter(|one| one.parent == postmaster && !one.is_zombie);
    own.filter(|one| serves(&one.title)).map(|one| one.id).collect()
}

/// Returns all children of a process.
pub(super) fn children_of(parent: i32) -> Vec<i32> {
    let all = list_processes();
    all.iter()
        .filter(|one| one.parent == parent)
        .map(|one| one.id)
        .collect()
}

/// Waits until none of these processes runs.
#[track_caller]
pub(super) fn wait_for_end(processes: &[i32]) {
    let begun = Instant::now();
    while processes.iter().any(|id| is_running(*id)) {
        assert!(
            begun.elapsed() < LONGEST_END,
            "processes of the server do not end: {processes:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Tells whether a process runs; one that ended and whose parent did not ask yet does not.
pub(super) fn is_running(id: i32) -> bool {
    let listed = if has_proc() {
        read_process(id)
    } else {
        list_processes().into_iter().find(|one| one.id == id)
    };
    listed.is_some_and(|one| !one.is_zombie)
}

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

fn list_processes() -> Vec<ListedProcess> {
    if !has_proc() {
        return list_with_ps();
    }
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(read_process).collect()
}

/// Reads one process from /proc; none if it has ended meanwhile.
fn read_process(id: i32) -> Option<ListedProcess> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in brackets may itself hold brackets and blanks.
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut fields = after_name.split(' ');
    let is_zombie = fields.next()? == "Z";
    let parent = fields.next()?.parse().ok()?;
    let title = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
    Some(ListedProcess {
        id,
        parent,
        is_zombie,
        title: String::from_utf8_lossy(&title).into_owned(),
    })
}

fn list_with_ps() -> Vec<ListedProcess> {
    let output = Command::new("ps")
        .args(["-A", "-o", "pid=,ppid=,stat=,command="])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(read_ps_line).collect()
}

fn read_ps_line(line: &str) -> Option<ListedProcess> {
    let mut words = line.split_whitespace();
    Some(ListedProcess {
        id: words.next()?.parse().ok()?,
        parent: words.next()?.parse().ok()?,
        is_zombie: words.next()?.starts_with('Z'),
        title: words.collect::<Vec<_>>().join(" "),
    })
}
