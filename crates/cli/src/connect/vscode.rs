//! VS Code: servers in `mcp.json`. Its transcripts are no harness `loci hook` knows, so that it gets no hooks.

use super::entries::Part;
use super::{Config, Places, Program};

/// Its config.
pub(super) fn configs(places: &Places, program: &Program) -> Vec<Config> {
    let server = Part::Server {
        list: "servers",
        entry: program.typed_entry(),
    };
    vec![Config::json(places.vscode(), [server])]
}
