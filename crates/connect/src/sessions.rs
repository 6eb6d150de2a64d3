//! The past sessions of a tool: the folders that hold their transcripts, and how many there are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::folders::ToolFolders;
use crate::tool::AgentTool;

/// The transcripts that a tool has kept of earlier sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSessions {
    /// The folder below which all transcripts are.
    pub root: PathBuf,
    /// The folders below the root that hold transcripts and nothing else, as a shell pattern; `None` if the root does.
    pub pattern: Option<&'static str>,
    /// The folders that the pattern means now; the root itself without one.
    pub folders: Vec<PathBuf>,
    /// The number of sessions.
    pub count: usize,
}

/// The layout in which a tool keeps its transcripts.
struct SessionLayout {
    root: PathBuf,
    /// The name of the folder of transcripts in each project's folder, with the pattern that means all of them.
    within: Option<(&'static str, &'static str)>,
    is_session: fn(&str) -> bool,
}

impl PastSessions {
    /// Finds the past sessions of a tool, in the user's own folders. `None` if there are none.
    pub fn find(tool: AgentTool, folders: &ToolFolders) -> Option<Self> {
        let layout = layout(tool, folders);
        let folders = match layout.within {
            None => vec![layout.root.clone()],
            Some((name, _)) => find_folders(&layout.root, name),
        };
        let count = folders
            .iter()
            .map(|folder| count_files(folder, layout.is_session))
            .sum();
        (count > 0).then_some(Self {
            root: layout.root,
            pattern: layout.within.map(|(_, pattern)| pattern),
            folders,
            count,
        })
    }
}

fn layout(tool: AgentTool, folders: &ToolFolders) -> SessionLayout {
    let user_folders = ToolFolders {
        project: None,
        ..folders.clone()
    };
    let folder = tool.settings_folder(&user_folders);
    match tool {
        AgentTool::ClaudeCode => SessionLayout {
            root: folder.join("projects"),
            within: None,
            // Transcripts of sub-agents belong to the session beside them.
            is_session: |name| name.ends_with(".jsonl") && !name.starts_with("agent-"),
        },
        AgentTool::Codex => SessionLayout {
            root: folder.join("sessions"),
            within: None,
            is_session: |name| name.ends_with(".jsonl"),
        },
        AgentTool::Gemini => SessionLayout {
            root: folder.join("tmp"),
            within: Some(("chats", "*/chats")),
            is_session: |name| name.ends_with(".json"),
        },
        AgentTool::Cursor => SessionLayout {
            root: folder.join("projects"),
            within: Some(("agent-transcripts", "*/agent-transcripts")),
            is_session: |name| name.ends_with(".jsonl"),
        },
        AgentTool::VsCode => SessionLayout {
            root: folder.join("User/workspaceStorage"),
            within: Some(("chatSessions", "*/chatSessions")),
            is_session: |name| name.ends_with(".json") || name.ends_with(".jsonl"),
        },
    }
}

/// The folders called `name` in the folders of `root`, in order.
fn find_folders(root: &Path, name: &str) -> Vec<PathBuf> {
    let entries = root.read_dir().into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path().join(name));
    let mut folders: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
    folders.sort();
    folders
}

/// Counts the sessions below a folder. Links are not followed: they could lead in a circle.
fn count_files(folder: &Path, is_session: fn(&str) -> bool) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count_files(&entry.path(), is_session),
            Ok(kind) if kind.is_file() => usize::from(is_session(&entry.file_name().to_string_lossy())),
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn sessions_are_counted_where_each_tool_keeps_them() {
        let home = tempfile::tempdir().unwrap();
        let folders = ToolFolders::below_home(home.path(), home.path().join(".config"));
        for tool in AgentTool::ALL {
            assert_eq!(PastSessions::find(tool, &folders), None);
        }
        for name in [
            ".claude/projects/-home-ada/one.jsonl",
            ".claude/projects/-home-ada/one/subagents/agent-7.jsonl",
            ".claude/projects/-home-ada/notes.md",
            ".codex/sessions/2026/05/01/rollout-1.jsonl",
            ".codex/sessions/2026/05/02/rollout-2.jsonl",
            ".cursor/projects/home-ada/agent-transcripts/one/one.jsonl",
            ".config/Code/User/workspaceStorage/abc/chatSessions/1.json",
        ] {
            write(&home.path().join(name));
        }
        let gemini = home.path().join(".gemini").join("tmp").join("abc");
        write(&gemini.join("chats").join("session-1.json"));
        write(&gemini.join("logs.json"));
        let counts = AgentTool::ALL.map(|tool| PastSessions::find(tool, &folders).unwrap().count);
        assert_eq!(counts, [1, 2, 1, 1, 1]);
        let found = PastSessions::find(AgentTool::Gemini, &folders).unwrap();
        assert_eq!(found.folders, [gemini.join("chats")]);
        assert_eq!(found.pattern, Some("*/chats"));
    }
}
