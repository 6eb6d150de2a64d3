//! Cursor: servers in `mcp.json`, hooks in `hooks.json` beside it.

use super::entries::{Part, Shape};
use super::{Config, Places, Program};

/// What was said is saved when a turn, the session or the memory of it ends.
const SAVING: [&str; 3] = ["stop", "preCompact", "sessionEnd"];
/// Cursor takes no words from a hook on a prompt, so that only a session's start recalls.
const RECALLING: [&str; 1] = ["sessionStart"];
/// In seconds.
const TIMEOUT: u64 = 5;

/// Its configs.
pub(super) fn configs(places: &Places, program: &Program) -> Vec<Config> {
    let folder = places.dotted(".cursor");
    let server = Part::Server {
        list: "mcpServers",
        entry: program.entry(),
    };
    let hooks = Part::Hooks {
        shape: Shape::Flat,
        hooks: program.hooks("cursor", &SAVING, &RECALLING, TIMEOUT),
    };
    vec![
        Config::json(folder.join("mcp.json"), [server]),
        Config::json(folder.join("hooks.json"), [hooks]),
    ]
}
