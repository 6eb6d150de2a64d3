//! Codex: servers in `config.toml`, hooks in `hooks.json` beside it.

use super::entries::{Part, Shape};
use super::toml::Server;
use super::{Config, Places, Program};

/// A turn's end and a compaction; there is nothing to save at a session's end that its last turn did not save.
const SAVING: [&str; 2] = ["Stop", "PreCompact"];
const RECALLING: [&str; 2] = ["SessionStart", "UserPromptSubmit"];
/// In seconds.
const TIMEOUT: u64 = 5;

/// Its configs.
pub(super) fn configs(places: &Places, program: &Program) -> Vec<Config> {
    let folder = places.codex();
    let server = Server {
        command: program.path().to_owned(),
        args: program.server(),
    };
    let hooks = Part::Hooks {
        shape: Shape::Grouped,
        hooks: program.hooks("codex", &SAVING, &RECALLING, TIMEOUT),
    };
    vec![
        Config::toml(folder.join("config.toml"), server),
        Config::json(folder.join("hooks.json"), [hooks]),
    ]
}
