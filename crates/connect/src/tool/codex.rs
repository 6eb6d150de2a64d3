//! Codex: servers in `config.toml`, hooks in `hooks.json` beside it.

use crate::entries::{HookLayout, JsonEntry};
use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::settings_file::SettingsFile;
use crate::toml_server::TomlServer;

/// The end of a turn and a compaction. A session's end has nothing to save that its last turn did not save.
const SAVE_EVENTS: [&str; 2] = ["Stop", "PreCompact"];
const RECALL_EVENTS: [&str; 2] = ["SessionStart", "UserPromptSubmit"];
const TIMEOUT_SECONDS: u64 = 5;

/// Lists its settings files.
pub(super) fn list_settings(folders: &ToolFolders, program: &ProgramCommand) -> Vec<SettingsFile> {
    let folder = folders.codex_folder();
    let server = TomlServer {
        command: program.path().to_owned(),
        args: program.server_args(),
    };
    let hooks = JsonEntry::Hooks {
        layout: HookLayout::Grouped,
        hooks: program.hook_commands("codex", &SAVE_EVENTS, &RECALL_EVENTS, TIMEOUT_SECONDS),
    };
    vec![
        SettingsFile::toml(folder.join("config.toml"), server),
        SettingsFile::json(folder.join("hooks.json"), [hooks]),
    ]
}
