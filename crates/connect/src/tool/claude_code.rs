//! Claude Code: servers in `.claude.json`, hooks in its settings.

use crate::entries::{HookLayout, JsonEntry};
use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::settings_file::SettingsFile;

/// A conversation is saved when a turn or the session ends and before it is compacted.
const SAVE_EVENTS: [&str; 3] = ["Stop", "PreCompact", "SessionEnd"];
const RECALL_EVENTS: [&str; 2] = ["SessionStart", "UserPromptSubmit"];
const TIMEOUT_SECONDS: u64 = 5;

/// Lists its settings files.
pub(super) fn list_settings(folders: &ToolFolders, program: &ProgramCommand) -> Vec<SettingsFile> {
    let (servers, settings) = folders.claude_code_files();
    let server = JsonEntry::Server {
        list: "mcpServers",
        fields: program.typed_server_fields(),
    };
    let hooks = JsonEntry::Hooks {
        layout: HookLayout::Grouped,
        hooks: program.hook_commands("claude-code", &SAVE_EVENTS, &RECALL_EVENTS, TIMEOUT_SECONDS),
    };
    vec![
        SettingsFile::json(servers, [server]),
        SettingsFile::json(settings, [hooks]),
    ]
}
