//! The crate as its callers use it: previews, edits and undoes settings below a home that the test makes.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: a panic is a red line"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use loci_connect::{
    AgentTool, ConnectAction, ConnectReport, ConnectRequest, EditKind, ProgramCommand, ToolFolders,
};
use loci_core::ErrorKind;
use tempfile::TempDir;

fn request(tool: AgentTool, home: &Path) -> ConnectRequest {
    ConnectRequest {
        tool,
        action: ConnectAction::Connect,
        folders: ToolFolders::below_home(home, home.join("applications")),
        program: ProgramCommand::new(Path::new("/bin/loci")).unwrap(),
    }
}

fn undo(request: &ConnectRequest) -> ConnectRequest {
    ConnectRequest {
        action: ConnectAction::Undo,
        ..request.clone()
    }
}

fn kinds(report: &ConnectReport) -> Vec<EditKind> {
    report.edits.iter().map(|edit| edit.kind()).collect()
}

/// An entry of a folder.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
}

/// Every folder, file and link below `folder`.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut entries = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let kind = fs::symlink_metadata(&path).unwrap();
            let entry = if kind.is_symlink() {
                Entry::Link(fs::read_link(&path).unwrap())
            } else if kind.is_dir() {
                folders.push(path.clone());
                Entry::Folder
            } else {
                Entry::File(fs::read(&path).unwrap())
            };
            entries.insert(path, entry);
        }
    }
    entries
}

/// Connects and undoes every tool below a home made by `prepare`: afterwards the home must be as it was.
#[track_caller]
fn check_undo(prepare: impl Fn(&Path)) {
    for tool in AgentTool::ALL {
        let home = TempDir::new().unwrap();
        prepare(home.path());
        let before = tree(home.path());
        let request = request(tool, home.path());
        assert!(request.apply().unwrap().written);
        assert_ne!(tree(home.path()), before);
        let undone = undo(&request).apply().unwrap();
        assert!(undone.written);
        assert_eq!(tree(home.path()), before, "{tool:?}");
    }
}

#[test]
fn an_undo_removes_the_folders_that_were_created() {
    check_undo(|_| {});
}

#[test]
fn an_undo_leaves_folders_that_were_there_and_empty() {
    check_undo(|home| {
        for folder in [".claude", ".codex", ".cursor", ".gemini", "applications/Code"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
    });
}

#[test]
fn an_undo_leaves_folders_and_files_of_others() {
    check_undo(|home| {
        for folder in [
            ".claude",
            ".codex",
            ".cursor",
            ".gemini",
            "applications/Code/User",
        ] {
            fs::create_dir_all(home.join(folder)).unwrap();
            fs::write(home.join(folder).join("mcp.json"), "{ /* mine */ }").unwrap();
        }
    });
}

#[test]
fn a_link_is_kept_and_the_file_behind_it_is_edited() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::create_dir_all(path("dotfiles/deep")).unwrap();
    fs::create_dir(path(".cursor")).unwrap();
    fs::write(path("dotfiles/deep/mcp.json"), "{}\n").unwrap();
    // A chain of two links, the second relative to its own folder, and a link whose file does not exist yet.
    symlink("deep/mcp.json", path("dotfiles/mcp.json")).unwrap();
    symlink("../dotfiles/mcp.json", path(".cursor/mcp.json")).unwrap();
    symlink("../dotfiles/new/hooks.json", path(".cursor/hooks.json")).unwrap();
    let before = tree(home.path());
    let request = request(AgentTool::Cursor, home.path());
    let report = request.apply().unwrap();
    assert_eq!(kinds(&report), [EditKind::Edit, EditKind::Create]);
    assert_eq!(
        report.edits[0].path,
        path(".cursor/mcp.json"),
        "the path as given"
    );
    for (link, file) in [
        (".cursor/mcp.json", "dotfiles/deep/mcp.json"),
        (".cursor/hooks.json", "dotfiles/new/hooks.json"),
    ] {
        assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink());
        assert!(fs::read_to_string(path(file)).unwrap().contains("/bin/loci"));
    }
    undo(&request).apply().unwrap();
    assert_eq!(tree(home.path()), before);
}

#[test]
fn a_preview_writes_nothing_and_reports_the_edits_that_apply_makes() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join(".claude.json"), "{\"a\": 1}\n").unwrap();
    let request = request(AgentTool::ClaudeCode, home.path());
    let before = tree(home.path());
    let preview = request.preview().unwrap();
    assert_eq!(tree(home.path()), before);
    assert!(preview.has_changes() && !preview.written);
    assert_eq!(kinds(&preview), [EditKind::Edit, EditKind::Create]);
    let applied = request.apply().unwrap();
    assert_eq!(applied.edits, preview.edits);
    for edit in &applied.edits {
        assert_eq!(fs::read_to_string(&edit.path).ok(), edit.after);
    }
    let again = request.apply().unwrap();
    assert!(!again.has_changes() && !again.written);
}

#[test]
fn snippets_hold_the_entries_alone_whatever_the_files_hold() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join(".codex")).unwrap();
    fs::write(home.path().join(".codex/config.toml"), "not toml").unwrap();
    let request = request(AgentTool::Codex, home.path());
    assert_eq!(request.preview().unwrap_err().kind(), ErrorKind::Format);
    let snippets = request.snippets().unwrap();
    assert_eq!(snippets[0].path, home.path().join(".codex/config.toml"));
    assert_eq!(
        snippets[0].text,
        "[mcp_servers.loci]\ncommand = \"/bin/loci\"\nargs = [\"mcp\"]\n"
    );
}

#[test]
fn relative_folders_and_programs_of_another_name_are_refused() {
    let home = TempDir::new().unwrap();
    let good = request(AgentTool::Codex, home.path());
    let mut wrong = Vec::new();
    for (home, codex, project) in [
        (Path::new("relative"), None, None),
        (Path::new("/does/not/exist"), None, None),
        (home.path(), Some("relative"), None),
        (home.path(), None, Some("relative")),
    ] {
        let mut request = good.clone();
        request.folders.home = home.to_owned();
        request.folders.codex = codex.map(PathBuf::from);
        request.folders.project = project.map(PathBuf::from);
        wrong.push(request);
    }
    for request in wrong {
        assert_eq!(request.apply().unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert!(tree(home.path()).is_empty());
    let error = ProgramCommand::new(Path::new("/bin/other")).unwrap_err();
    assert!(error.to_string().contains("/bin/other"), "{error}");
}

#[test]
fn threads_of_one_process_may_connect_at_once() {
    let home = TempDir::new().unwrap();
    let request = request(AgentTool::Gemini, home.path());
    let reports: Vec<ConnectReport> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| request.apply().unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let written = reports.iter().filter(|report| report.written).count();
    assert_eq!(
        written, 1,
        "one thread writes and the others find nothing to change"
    );
    let text = fs::read_to_string(home.path().join(".gemini/settings.json")).unwrap();
    assert_eq!(text.matches("hook gemini AfterAgent").count(), 1, "{text}");
    undo(&request).apply().unwrap();
    let left = tree(home.path());
    assert!(left.values().all(|entry| *entry == Entry::Folder), "{left:?}");
}

#[test]
fn every_tool_is_found_by_its_name() {
    for tool in AgentTool::ALL {
        assert_eq!(AgentTool::from_name(tool.name()), Some(tool));
    }
    assert_eq!(AgentTool::from_name("Cursor"), None);
}
