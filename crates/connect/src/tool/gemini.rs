//! Gemini CLI: servers and hooks in one settings file.

use crate::entries::{HookLayout, JsonEntry};
use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::settings_file::SettingsFile;

/// A conversation is saved when a turn or the session ends and before it is compacted.
const SAVE_EVENTS: [&str; 3] = ["AfterAgent", "PreCompress", "SessionEnd"];
const RECALL_EVENTS: [&str; 2] = ["SessionStart", "BeforeAgent"];
const TIMEOUT_MILLISECONDS: u64 = 5_000;

/// Lists its settings files.
pub(super) fn list_settings(folders: &ToolFolders, program: &ProgramCommand) -> Vec<SettingsFile> {
    let server = JsonEntry::Server {
        list: "mcpServers",
        fields: program.server_fields(),
    };
    let hooks = JsonEntry::Hooks {
        layout: HookLayout::Grouped,
        hooks: program.hook_commands("gemini", &SAVE_EVENTS, &RECALL_EVENTS, TIMEOUT_MILLISECONDS),
    };
    let path = folders.gemini_folder().join("settings.json");
    vec![SettingsFile::json(path, [server, hooks])]
}
