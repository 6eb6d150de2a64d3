//! Claude Code: servers in `.claude.json`, hooks in its settings.

use super::entries::{Part, Shape};
use super::{Config, Places, Program};

/// What was said is saved when a turn, the session or the memory of it ends.
const SAVING: [&str; 3] = ["Stop", "PreCompact", "SessionEnd"];
const RECALLING: [&str; 2] = ["SessionStart", "UserPromptSubmit"];
/// In seconds.
const TIMEOUT: u64 = 5;

/// Its configs.
pub(super) fn configs(places: &Places, program: &Program) -> Vec<Config> {
    let (servers, settings) = places.claude_code();
    let server = Part::Server {
        list: "mcpServers",
        entry: program.typed_entry(),
    };
    let hooks = Part::Hooks {
        shape: Shape::Grouped,
        hooks: program.hooks("claude-code", &SAVING, &RECALLING, TIMEOUT),
    };
    vec![Config::json(servers, [server]), Config::json(settings, [hooks])]
}
