//! Gemini CLI: servers and hooks in its settings.

use super::entries::{Part, Shape};
use super::{Config, Places, Program};

/// What was said is saved when a turn, the session or the memory of it ends.
const SAVING: [&str; 3] = ["AfterAgent", "PreCompress", "SessionEnd"];
const RECALLING: [&str; 2] = ["SessionStart", "BeforeAgent"];
/// In milliseconds.
const TIMEOUT: u64 = 5_000;

/// Its config.
pub(super) fn configs(places: &Places, program: &Program) -> Vec<Config> {
    let server = Part::Server {
        list: "mcpServers",
        entry: program.entry(),
    };
    let hooks = Part::Hooks {
        shape: Shape::Grouped,
        hooks: program.hooks("gemini", &SAVING, &RECALLING, TIMEOUT),
    };
    vec![Config::json(
        places.gemini().join("settings.json"),
        [server, hooks],
    )]
}
