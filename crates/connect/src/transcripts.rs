//! The places in which tools keep the transcripts of sessions: only files there are what the tool itself wrote.

use std::path::{Path, PathBuf};

use crate::folders::ToolFolders;
use crate::tool::AgentTool;

/// A folder in which a tool keeps transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptHome {
    /// The folder.
    pub root: PathBuf,
    /// The places of transcripts below it: `*` stands for one name or a part of it, `**` for any number of folders.
    /// Other files there, such as saved tool output and notes of agents, are not the tool's own words.
    pub places: &'static [&'static str],
    /// The formats of its transcripts.
    pub formats: &'static [&'static str],
}

impl TranscriptHome {
    /// Lists the folders of every known tool, whether they exist or not. `data` is the folder in which programs keep
    /// their data.
    pub fn list_all(folders: &ToolFolders, data: &Path) -> Vec<Self> {
        let user_folders = ToolFolders {
            project: None,
            ..folders.clone()
        };
        let (home, applications) = (&user_folders.home, &user_folders.applications);
        let settings = |tool: AgentTool| tool.settings_folder(&user_folders);
        let table: [(PathBuf, &[&str], &[&str]); 13] = [
            (
                settings(AgentTool::ClaudeCode),
                &["projects/*/*.jsonl", "projects/*/*/subagents/**/*.jsonl"],
                &["claude-code"],
            ),
            (
                settings(AgentTool::Codex),
                &["sessions/**/*.jsonl", "archived_sessions/**/*.jsonl"],
                &["codex"],
            ),
            (
                settings(AgentTool::Gemini),
                &["tmp/*/chats/**/*.json", "tmp/*/chats/**/*.jsonl"],
                &["gemini-cli"],
            ),
            (
                settings(AgentTool::Cursor),
                &["projects/*/agent-transcripts/**/*.jsonl"],
                &["cursor-agent"],
            ),
            (applications.join("Cursor"), EDITOR_STATE, &["cursor-vscdb"]),
            (settings(AgentTool::VsCode), EDITOR_CHATS, &["copilot"]),
            (settings(AgentTool::VsCode), EDITOR_TASKS, &["cline"]),
            (data.join("opencode"), &["storage"], &["opencode"]),
            (
                home.join(".copilot"),
                &["session-state/**/*.jsonl", "history-session-state/**/*.jsonl"],
                &["copilot-cli"],
            ),
            (home.join(".continue"), &["sessions/*.json"], &["continue"]),
            (home.join(".kimi"), &["sessions/*/*/context*.jsonl"], &["kimi"]),
            (home.join(".pi"), &["agent/sessions/**/*.jsonl"], &["pi"]),
            (home.join(".openclaw"), &["agents/*/sessions/*.jsonl"], &["pi"]),
        ];
        let homes = table.into_iter().map(|(root, places, formats)| Self {
            root,
            places,
            formats,
        });
        homes.collect()
    }
}

/// The databases of Cursor.
const EDITOR_STATE: &[&str] = &[
    "User/globalStorage/state.vscdb",
    "User/workspaceStorage/*/state.vscdb",
];

/// The chats of VS Code.
const EDITOR_CHATS: &[&str] = &[
    "User/workspaceStorage/*/chatSessions/*.json",
    "User/workspaceStorage/*/chatSessions/*.jsonl",
    "User/globalStorage/emptyWindowChatSessions/*.json",
    "User/globalStorage/emptyWindowChatSessions/*.jsonl",
];

/// The tasks of Cline and Roo Code in VS Code.
const EDITOR_TASKS: &[&str] = &[
    "User/globalStorage/saoudrizwan.claude-dev/tasks/*/*.json",
    "User/globalStorage/rooveterinaryinc.roo-cline/tasks/*/*.json",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_that_can_be_connected_has_a_home_that_follows_its_variables() {
        let mut folders = ToolFolders::below_home("/home/ada", "/home/ada/.config");
        folders.project = Some("/srv/repo".into());
        folders.codex = Some("/mnt/codex".into());
        let homes = TranscriptHome::list_all(&folders, Path::new("/home/ada/.local/share"));
        let has = |root: &str| homes.iter().any(|home| home.root == Path::new(root));
        for root in [
            "/home/ada/.claude",
            "/mnt/codex",
            "/home/ada/.gemini",
            "/home/ada/.cursor",
            "/home/ada/.config/Code",
            "/home/ada/.local/share/opencode",
        ] {
            assert!(has(root), "{root}");
        }
        assert!(
            homes.iter().all(|home| !home.root.starts_with("/srv")),
            "a project is never the home of a tool"
        );
    }
}
