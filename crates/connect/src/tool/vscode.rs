//! VS Code: servers in `mcp.json`. `loci hook` does not read its transcripts, so it gets no hooks.

use crate::entries::JsonEntry;
use crate::folders::ToolFolders;
use crate::program::ProgramCommand;
use crate::settings_file::SettingsFile;

/// Lists its settings files.
pub(super) fn list_settings(folders: &ToolFolders, program: &ProgramCommand) -> Vec<SettingsFile> {
    let server = JsonEntry::Server {
        list: "servers",
        fields: program.typed_server_fields(),
    };
    vec![SettingsFile::json(folders.vscode_file(), [server])]
}
