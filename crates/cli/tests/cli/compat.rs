//! `loci mcp --compat mempalace`, driven as a MemPalace client drives it: raw lines of JSON to the real binary.

mod keys;
mod limits;
mod sources;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::mcp_lines::McpLines;

/// Every tool, in its order, and whether it only reads.
const TOOLS: [(&str, bool); 20] = [
    ("status", true),
    ("list_wings", true),
    ("list_rooms", true),
    ("get_taxonomy", true),
    ("search", true),
    ("check_duplicate", true),
    ("add_drawer", false),
    ("checkpoint", false),
    ("get_drawer", true),
    ("get_drawers", true),
    ("list_drawers", true),
    ("update_drawer", false),
    ("delete_drawer", false),
    ("delete_drawers", false),
    ("delete_by_source", false),
    ("mine", false),
    ("sync", false),
    ("diary_write", false),
    ("diary_read", true),
    ("reconnect", true),
];

/// A client of MemPalace's tools.
struct Client {
    lines: McpLines,
}

impl Client {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = loci(folder);
        command.args(["mcp", "--compat", "mempalace"]).args(args);
        let lines = McpLines::start(command, "prompts-of-old");
        let started = &lines.started;
        assert_eq!(
            started["result"]["capabilities"],
            json!({"tools": {}}),
            "{started}"
        );
        Self { lines }
    }

    /// The answer to a request, as it came.
    fn ask(&mut self, method: &str, params: &Json) -> Json {
        self.lines.ask(method, params)
    }

    /// The result of a tool, whose words must be its value as JSON.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        let name = format!("mempalace_{tool}");
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let result = answer["result"].clone();
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(
            serde_json::from_str::<Json>(text).unwrap(),
            result["structuredContent"]
        );
        assert!(text.contains("\n  \""), "as pretty as MemPalace's: {text}");
        result
    }

    #[track_caller]
    fn done(&mut self, tool: &str, arguments: Json) -> Json {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Json) -> Json {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Files a text and returns its id.
    #[track_caller]
    fn add(&mut self, wing: &str, room: &str, content: &str) -> String {
        let added = self.done(
            "add_drawer",
            json!({"wing": wing, "room": room, "content": content}),
        );
        text(&added["drawer_id"])
    }

    fn listed(&mut self) -> Vec<Json> {
        let answer = self.ask("tools/list", &json!({}));
        answer["result"]["tools"].as_array().unwrap().clone()
    }

    fn names(&mut self) -> Vec<String> {
        let short = |tool: &Json| text(&tool["name"]).replace("mempalace_", "");
        self.listed().iter().map(short).collect()
    }
}

fn loci(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
    command
        .env_clear()
        .env("HOME", folder)
        .env("LOCI_PALACE", folder.join("palace"));
    command
}

fn scene() -> (TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::start(folder.path(), &[]);
    (folder, client)
}

fn text(value: &Json) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

/// Checks that a value has exactly these keys.
#[track_caller]
fn keys(value: &Json, expected: &str) {
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    let found: BTreeSet<&str> = object.keys().map(String::as_str).collect();
    assert_eq!(found, expected.split_whitespace().collect(), "{value}");
}

#[test]
fn the_list_is_short_and_has_mempalaces_names() {
    let (_folder, mut client) = scene();
    let tools = client.listed();
    let size = json!(tools).to_string().len();
    assert!(size < 16 << 10, "{size} bytes");
    let expected = TOOLS.map(|(name, reads)| (format!("mempalace_{name}"), reads));
    let found: Vec<(String, bool)> = tools
        .iter()
        .map(|tool| (text(&tool["name"]), tool["annotations"]["readOnlyHint"] == true))
        .collect();
    assert_eq!(found, expected);
    for tool in &tools {
        let about = text(&tool["description"]);
        assert!(about.len() <= 100 && !about.contains('\n'), "{about}");
        assert_eq!(tool["outputSchema"], Json::Null, "MemPalace has none: {tool}");
    }
    let prompts = client.ask("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"], json!([]), "ours name our tools");
}

#[test]
fn a_session_as_mempalaces_prompts_tell_it() {
    let (_folder, mut client) = scene();
    let empty = client.done("status", json!({}));
    assert_eq!(empty["total_drawers"], 0);
    assert!(
        text(&empty["message"]).contains("mempalace_add_drawer"),
        "{empty}"
    );
    client.add(
        "garden",
        "roses",
        "We prune the roses in the second week of March.",
    );
    let found = client.done(
        "search",
        json!({"query": "when are the roses pruned?", "wing": "garden"}),
    );
    assert_eq!(
        found["results"][0]["text"], "We prune the roses in the second week of March.",
        "{found}"
    );
    let written = client.done(
        "diary_write",
        json!({"agent_name": "Claude", "entry": "Noted the roses.", "topic": "garden"}),
    );
    keys(&written, "success entry_id agent topic timestamp chunks");
    let read = client.done("diary_read", json!({"agent_name": "CLAUDE", "last_n": "3"}));
    keys(&read, "agent entries total showing");
    keys(&read["entries"][0], "date timestamp topic content entry_id");
    assert_eq!(read["agent"], "claude");
    assert_eq!(read["entries"][0]["content"], "Noted the roses.");
    assert_eq!(read["entries"][0]["topic"], "garden");
    assert_eq!(read["entries"][0]["timestamp"], written["timestamp"]);
    let other = json!({"agent_name": "claude", "content": "Mowed the lawn.", "wing": "garden"});
    client.done("diary_write", other);
    let newest = client.done("diary_read", json!({"agent_name": "claude", "last_n": 1}));
    assert_eq!(
        (&newest["total"], &newest["showing"]),
        (&json!(2), &json!(1)),
        "of every wing"
    );
    assert_eq!(newest["entries"][0]["content"], "Mowed the lawn.");
    assert_eq!(newest["entries"][0]["topic"], "general");
    let own = client.done(
        "diary_read",
        json!({"agent_name": "claude", "wing": "wing_claude"}),
    );
    assert_eq!(
        (&own["total"], &own["entries"][0]["content"]),
        (&json!(1), &json!("Noted the roses."))
    );
    let status = client.done("status", json!({}));
    keys(
        &status,
        "total_drawers wings rooms protocol backend palace read_only library_versions embedding_model",
    );
    assert_eq!(status["wings"], json!({"garden": 2, "wing_claude": 1}));
    assert_eq!(status["rooms"], json!({"roses": 1, "diary": 2}));
}
