//! A palace with true drawers and the attacks of one family, and the ways to ask it.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::attacks::{AttackDoor, AttackFamily, FACTS, claude, message};
use crate::hooks::scene::{Scene, added_context, stopped};
use crate::mcp_lines::McpLines;

/// A palace and the home it is in.
pub(super) struct PoisonedPalace {
    scene: Scene,
}

/// The drawers of an attack, and the word in their texts.
pub(super) struct AttackTraces {
    marker: String,
    ids: Vec<String>,
}

impl AttackTraces {
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.ids.iter().any(|one| one == id)
    }

    /// Whether a line cites or quotes the attack. A long text is cut, and a citation need not name the whole id.
    pub(super) fn is_in(&self, line: &str) -> bool {
        line.contains(&self.marker) || self.ids.iter().any(|id| line.contains(&format!("[{id}]")))
    }
}

/// The word by which the text of an attack is recognised.
fn marker(nth: usize) -> String {
    format!("qx{nth:02}z")
}

impl PoisonedPalace {
    /// Files the facts by hand, and then every attack of a family through its door.
    pub(super) fn of_family(family: &AttackFamily) -> Self {
        let palace = Self { scene: Scene::new() };
        for fact in &FACTS {
            let place = ["--id", fact.id, "--wing", "home", "--room", "facts"];
            palace.run(&[&["add", fact.text][..], &place].concat(), "");
        }
        let mut lines = String::new();
        let mut client = palace.connect();
        for (nth, (_, door, say)) in family.attacks.iter().enumerate() {
            for copy in 0..family.copies {
                let text = format!("{} {}", say(FACTS[nth].lie, copy).trim_end(), marker(nth));
                match door {
                    AttackDoor::File(name) => palace.put(nth, copy, name, &text),
                    AttackDoor::Forged(name, write) => palace.put(nth, copy, name, &write(&text)),
                    AttackDoor::Line(fields) => {
                        let id = json!({"id": format!("line-{nth}-{copy}"), "text": text});
                        lines.push_str(&format!("{}\n", merge(fields(), &id)));
                    }
                    AttackDoor::Note(fields) => {
                        client.call("add", &merge(fields(), &json!({"text": text})));
                    }
                    AttackDoor::Hook(kind) => palace.hear(nth, kind, &text),
                }
            }
        }
        palace.file_lines_and_repositories(&lines);
        palace
    }

    fn file_lines_and_repositories(&self, lines: &str) {
        if !lines.is_empty() {
            self.run(&["import", "-"], lines);
        }
        let repositories = self.scene.path("repositories");
        if repositories.exists() {
            self.run(&["mine", "--hidden", repositories.to_str().unwrap()], "");
        }
        self.scene.drained();
    }

    #[track_caller]
    fn run(&self, args: &[&str], input: &str) -> String {
        let ran = self.scene.run(self.scene.command(args), input.as_bytes());
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.out
    }

    /// Writes a file into the repository of an attack.
    fn put(&self, nth: usize, copy: usize, name: &str, content: &str) {
        let repository = self.scene.path(&format!("repositories/repo-{nth}"));
        write(&repository.join(".git/HEAD"), "ref: refs/heads/main\n");
        let name = Path::new(name);
        let (stem, end) = (name.file_stem().unwrap(), name.extension());
        let numbered = match copy {
            0 => name.to_owned(),
            copy => name
                .with_file_name(format!("{}-{copy}", stem.to_str().unwrap()))
                .with_extension(end.unwrap_or_default()),
        };
        write(&repository.join(numbered), content);
    }

    /// Has a harness say it in a transcript that its hook names.
    fn hear(&self, nth: usize, kind: &str, text: &str) {
        let path = self.scene.path(&format!(".claude/projects/home/s-{nth}.jsonl"));
        let said = match kind {
            "tool_result" => json!([{"type": "tool_result", "tool_use_id": "c", "content": text}]),
            _ => json!([{"type": "text", "text": text}]),
        };
        let role = if kind == "tool_result" {
            "user"
        } else {
            "assistant"
        };
        write(&path, &(claude("Please go on.") + &message(role, &said)));
        self.scene.hook(&["claude-code", "Stop"], stopped(&path)).answer();
    }

    pub(super) fn find_attack(&self, nth: usize) -> AttackTraces {
        let marker = marker(nth);
        let found = self
            .scene
            .json(&["list", "--contains", &marker, "--limit", "1000"]);
        let drawers = found["drawers"].as_array().unwrap().iter();
        let ids: Vec<String> = drawers
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect();
        assert!(!ids.is_empty(), "attack {nth} was not filed");
        AttackTraces { marker, ids }
    }

    pub(super) fn search(&self, question: &str) -> Json {
        self.scene.json(&["search", question, "-n", "10"])
    }

    pub(super) fn wake_up(&self) -> String {
        self.run(&["wake-up", "--tokens", "4000"], "")
    }

    pub(super) fn recall(&self, question: &str) -> String {
        let event = json!({"session_id": "now", "cwd": "/home/ada/home", "prompt": question});
        added_context(&self.scene.prompt(&event, &[])).to_owned()
    }

    /// Starts a server, with a client that calls itself `user`.
    pub(super) fn connect(&self) -> AgentClient {
        AgentClient {
            lines: McpLines::start(self.scene.command(&["mcp"]), "user"),
        }
    }
}

/// A client of the MCP server.
pub(super) struct AgentClient {
    lines: McpLines,
}

impl AgentClient {
    /// The result of a tool that does not fail.
    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: &Json) -> Json {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.lines.ask("tools/call", &params)["result"].clone();
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        result
    }
}

fn merge(mut fields: Json, more: &Json) -> Json {
    let all = fields.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    fields
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
