//! Every command on a palace that lost its log tells of the loss, and answers exit with 1.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::json;

use super::*;

/// Commands that write: an acknowledged write is durable, whatever was lost before it, so they exit as on a sound
/// palace, with a warning.
const WRITES: [&str; 14] = [
    "add",
    "delete",
    "embedder set",
    "embedder switch",
    "forget",
    "import",
    "init",
    "maintain analyze",
    "maintain compact",
    "maintain reindex",
    "mine",
    "move",
    "seal",
    "sync",
];

/// Commands that open no palace, or only later, as servers do, and those whose rows name other palaces.
const OPENS_NONE: [&str; 24] = [
    "backends",
    "bench",
    "completions",
    "connect",
    "backend help",
    "backend test nowhere",
    "embedder help",
    "help",
    "help-markdown",
    "hook",
    "key export",
    "key help",
    "key import",
    "key rotate",
    "key show",
    "man",
    "mcp",
    "model",
    "rescue",
    "restore",
    "migrate",
    "palaces",
    "serve",
    "web",
];

/// The words that every such command prints.
const LOSS: &str = "acknowledged writes were lost";

/// Files a drawer, kills the writer before it can copy its log into the palace, and takes the log away.
pub(super) fn lose_log(home: &TempHome, palace: &Path) {
    let mut command = home.command(&["--json", "add", "--jsonl", "-", "--batch", "1", "--palace"]);
    command.arg(palace).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"{\"id\":\"lost\",\"text\":\"Gone.\"}\n")
        .unwrap();
    let mut receipt = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut receipt)
        .unwrap();
    assert!(receipt.contains("lost"), "{receipt}");
    child.kill().unwrap();
    child.wait().unwrap();
    for end in ["-wal", "-shm"] {
        std::fs::remove_file(palace.join(format!("palace.db{end}"))).unwrap();
    }
}

/// A home whose palace lost its log, and a way to put that state back.
struct LossyHome {
    home: TempHome,
    file: Vec<u8>,
}

impl LossyHome {
    fn build_home() -> Self {
        let home = TableHome::build_home(false).home;
        lose_log(&home, &home.palace());
        let file = std::fs::read(home.palace().join("palace.db")).unwrap();
        Self { home, file }
    }

    fn run_line(&self, line: &str, json: bool) -> CommandOutcome {
        for entry in std::fs::read_dir(self.home.palace()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        std::fs::write(self.home.palace().join("palace.db"), &self.file).unwrap();
        let _ = std::fs::remove_dir_all(self.home.path("moved"));
        let mut words = split_line(line);
        if json {
            words.insert(0, "--json".into());
        }
        self.home.run(&words)
    }

    /// Returns the promises that a run of a command line breaks.
    fn check_line(&self, line: &str, code: i32) -> Vec<String> {
        let mut broken = Vec::new();
        for json in [false, true] {
            let ran = self.run_line(line, json);
            let told = format!("{}{}", ran.out, ran.err);
            if ran.code != code {
                broken.push(format!(
                    "{line}: exits with {} instead of {code}: {told}",
                    ran.code
                ));
            }
            if !told.contains(LOSS) {
                broken.push(format!("{line} (json: {json}) does not tell of the loss: {told}"));
            }
            let is_plain = PLAIN_OUTPUT.iter().any(|plain| has_prefix(line, plain));
            if json && !is_plain && !ran.out.contains(LOSS) {
                broken.push(format!(
                    "{line}: the document does not tell of the loss: {}",
                    ran.out
                ));
            }
        }
        broken
    }
}

fn is_among(line: &str, commands: &[&str]) -> bool {
    commands.iter().any(|command| has_prefix(line, command))
}

#[test]
fn every_command_tells_of_a_lost_log_and_answers_exit_with_one() {
    let rows = || PLACES.iter().flat_map(|(_, rows)| rows.iter());
    // A command in none of the lists must tell and exit with 1, so a new one cannot be forgotten.
    let checked: Vec<&PlaceRow> = rows().filter(|(line, _)| !is_among(line, &OPENS_NONE)).collect();
    assert!(checked.len() > 25, "{checked:?}");
    let halves = checked.chunks(checked.len().div_ceil(4));
    let broken: Vec<String> = thread::scope(|scope| {
        let check = |some: &[&'static PlaceRow]| {
            let some = some.to_vec();
            scope.spawn(move || {
                let home = LossyHome::build_home();
                let row = |(line, codes): &&PlaceRow| {
                    let code = if is_among(line, &WRITES) { codes[0] } else { 1 };
                    home.check_line(line, code)
                };
                some.iter().flat_map(row).collect::<Vec<String>>()
            })
        };
        let running: Vec<_> = halves.map(check).collect();
        running
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn copies_of_a_palace_that_lost_its_log_tell_of_the_loss() {
    let lossy = LossyHome::build_home();
    let mut broken = lossy.check_line("migrate --from ./palace --to ./moved", 1);
    let moved = lossy
        .run_line("migrate --from ./palace --to ./moved", true)
        .json();
    assert_eq!(moved["lossless"], false, "{moved}");
    broken.extend(lossy.check_line("export --output lines-2.jsonl", 1));
    let home = &lossy.home;
    home.json(1, &["backup", "lossy.db"]);
    let restored = home.run(&["restore", "lossy.db", "--palace", "./again"]);
    assert_eq!(restored.code, 1, "{restored:?}");
    assert!(restored.err.contains(LOSS), "{restored:?}");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_list_of_palaces_tells_which_of_them_lost_its_log() {
    let home = new_home();
    home.run(&["add", "One.", "--palace", "work"]).expect_code(0);
    home.run(&["palaces"]).expect_code(0);
    lose_log(&home, &home.path("data/loci/palaces/work"));
    let listed = home.run(&["palaces"]);
    assert_eq!(listed.code, 1, "{listed:?}");
    assert!(listed.err.contains("the palace work: acknowledged"), "{listed:?}");
}

/// The flags of a server, and the tools to call with their arguments.
type ToolDialect<'a> = (&'a [&'a str], &'a [(&'a str, Json)]);

#[test]
fn the_tools_of_both_dialects_tell_of_a_lost_log() {
    let dialects: [ToolDialect<'_>; 2] = [
        (
            &["mcp"],
            &[
                ("get", json!({ "ids": ["note-1"] })),
                ("search", json!({ "query": "ship" })),
                ("wings", json!({})),
                ("add", json!({ "text": "New." })),
            ],
        ),
        (
            &["mcp", "--compat", "mempalace"],
            &[
                ("mempalace_get_drawer", json!({ "drawer_id": "note-1" })),
                ("mempalace_search", json!({ "query": "ship" })),
                ("mempalace_list_wings", json!({})),
            ],
        ),
    ];
    let home = new_home();
    home.json(0, &["add", "We ship on Fridays.", "--id", "note-1"]);
    lose_log(&home, &home.palace());
    for (command, tools) in dialects {
        let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let mut lines = vec![
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ];
        lines.extend(tools.iter().zip(1..).map(|((name, arguments), id)| {
            let params = json!({ "name": name, "arguments": arguments });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        }));
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let ran = home.run_with(command, lines.as_bytes()).expect_code(0);
        let answers = ran.json_lines();
        for (id, (name, _)) in (1..).zip(tools) {
            let answer = answers.iter().find(|answer| answer["id"] == id).unwrap();
            let result = &answer["result"];
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(LOSS), "{name}: {answer}");
            let warnings = result["structuredContent"]["warnings"].to_string();
            assert!(warnings.contains(LOSS), "{name}: {answer}");
        }
    }
}
