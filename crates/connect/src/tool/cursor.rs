//! Cursor: servers in `mcp.json`, hooks in `hooks.json` beside it.

use crate::entries::{HookLayout, JsonEntry};
use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::settings_file::SettingsFile;

/// A conversation is saved when a turn or the session ends and before it is compacted.
const SAVE_EVENTS: [&str; 3] = ["stop", "preCompact", "sessionEnd"];
/// Cursor ignores the output of a hook on a prompt, so only the start of a session recalls.
const RECALL_EVENTS: [&str; 1] = ["sessionStart"];
const TIMEOUT_SECONDS: u64 = 5;

/// Lists its settings files.
pub(super) fn list_settings(folders: &ToolFolders, program: &ProgramCommand) -> Vec<SettingsFile> {
    let folder = folders.dot_folder(".cursor");
    let server = JsonEntry::Server {
        list: "mcpServers",
        fields: program.server_fields(),
    };
    let hooks = JsonEntry::Hooks {
        layout: HookLayout::Flat,
        hooks: program.hook_commands("cursor", &SAVE_EVENTS, &RECALL_EVENTS, TIMEOUT_SECONDS),
    };
    vec![
        SettingsFile::json(folder.join("mcp.json"), [server]),
        SettingsFile::json(folder.join("hooks.json"), [hooks]),
    ]
}
