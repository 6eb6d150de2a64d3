//! `loci connect` by the real binary: what it writes for each tool, that it takes out no more than that, and that
//! nothing is written where something is wrong.

mod careful;
mod listing;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

const TOOLS: [&str; 5] = ["claude-code", "codex", "gemini", "cursor", "vscode"];

/// The configs of each tool below a home.
fn configs(tool: &str) -> &'static [&'static str] {
    match tool {
        "claude-code" => &[".claude.json", ".claude/settings.json"],
        "codex" => &[".codex/config.toml", ".codex/hooks.json"],
        "gemini" => &[".gemini/settings.json"],
        "cursor" => &[".cursor/mcp.json", ".cursor/hooks.json"],
        "vscode" => &["config/Code/User/mcp.json"],
        _ => panic!("{tool}"),
    }
}

/// How a run ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("a home ").tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        command
            .arg("connect")
            .args(args)
            .current_dir(self.path("work"))
            .env_clear()
            .env("HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args))
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Json {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    }

    /// What a refusal says; nothing may have changed by it.
    #[track_caller]
    fn refused(&self, args: &[&str]) -> String {
        let before = self.everything();
        let ran = self.run(&[args, &["--yes", "--json"]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(self.everything(), before);
        let answer: Json = serde_json::from_str(&ran.out).unwrap();
        assert!(
            answer["error"]["hint"]
                .as_str()
                .unwrap()
                .contains("nothing was changed"),
            "{answer}"
        );
        answer["error"]["message"].as_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn config(&self, name: &str) -> Json {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Every file below the home and what it holds.
    fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap_or_default();
                    files.insert(path, bytes);
                }
            }
        }
        files
    }
}

fn ran(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn program() -> String {
    let path = fs::canonicalize(env!("CARGO_BIN_EXE_loci")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The words a shell makes of a line.
fn words(line: &str) -> Vec<String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("printf '%s\\n' {line}"));
    ran(shell).out.lines().map(str::to_owned).collect()
}

fn kinds(answer: &Json) -> Vec<&str> {
    let files = answer["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| file["change"].as_str().unwrap())
        .collect()
}

#[test]
fn every_tool_is_connected_once_and_taken_out_again() {
    for tool in TOOLS {
        let home = Home::new();
        let before = home.everything();
        let first = home.json(&[tool, "--yes"]);
        assert_eq!(first["tool"], tool);
        assert_eq!(first["written"], true, "{first}");
        assert!(kinds(&first).iter().all(|kind| *kind == "create"), "{first}");
        let named: Vec<PathBuf> = home.everything().into_keys().collect();
        let mut expected: Vec<PathBuf> = configs(tool).iter().map(|name| home.path(name)).collect();
        expected.sort();
        assert_eq!(named, expected, "{tool}");
        let second = home.json(&[tool, "--yes"]);
        assert_eq!(second["written"], false);
        assert!(kinds(&second).iter().all(|kind| *kind == "none"), "{second}");
        let told = home.run(&[tool]);
        assert!(told.err.contains("nothing to change"), "{told:?}");
        let undone = home.json(&[tool, "--undo", "--yes"]);
        assert!(kinds(&undone).iter().all(|kind| *kind == "remove"), "{undone}");
        assert_eq!(home.everything(), before, "{tool}");
        assert_eq!(home.json(&[tool, "--undo", "--yes"])["written"], false);
    }
}

#[test]
fn each_tool_finds_what_it_reads() {
    let home = Home::new();
    for tool in TOOLS {
        home.json(&[tool, "--yes"]);
    }
    let plain = json!({ "command": program(), "args": ["mcp"] });
    let typed = json!({ "type": "stdio", "command": program(), "args": ["mcp"] });
    assert_eq!(home.config(".claude.json")["mcpServers"]["loci"], typed);
    assert_eq!(home.config(".gemini/settings.json")["mcpServers"]["loci"], plain);
    assert_eq!(home.config(".cursor/mcp.json")["mcpServers"]["loci"], plain);
    assert_eq!(home.config("config/Code/User/mcp.json")["servers"]["loci"], typed);
    let codex = home.read(".codex/config.toml");
    let codex = toml_edit::Document::parse(codex.as_str()).unwrap();
    assert_eq!(
        codex["mcp_servers"]["loci"]["command"].as_str(),
        Some(program().as_str())
    );
    assert_eq!(codex["mcp_servers"]["loci"]["args"][0].as_str(), Some("mcp"));
    for (file, harness, events, timeout) in [
        (
            ".claude/settings.json",
            "claude-code",
            ["Stop", "PreCompact", "SessionEnd"].as_slice(),
            5,
        ),
        (".codex/hooks.json", "codex", &["Stop", "PreCompact"], 5),
        (
            ".gemini/settings.json",
            "gemini",
            &["AfterAgent", "PreCompress", "SessionEnd"],
            5000,
        ),
    ] {
        let config = home.config(file);
        let hooks = config["hooks"].as_object().unwrap();
        assert_eq!(hooks.len(), events.len(), "{config}");
        for event in events {
            let handler = &hooks[*event][0]["hooks"][0];
            assert_eq!(
                (&handler["type"], &handler["timeout"]),
                (&json!("command"), &json!(timeout))
            );
            let line = words(handler["command"].as_str().unwrap());
            assert_eq!(line, [&program(), "hook", harness, event]);
        }
    }
    let cursor = home.config(".cursor/hooks.json");
    assert_eq!(cursor["version"], 1);
    for event in ["stop", "preCompact", "sessionEnd"] {
        let line = words(cursor["hooks"][event][0]["command"].as_str().unwrap());
        assert_eq!(line, [&program(), "hook", "cursor", event]);
        assert_eq!(cursor["hooks"][event][0]["timeout"], 5);
    }
}

#[test]
fn what_is_asked_for_reaches_the_server_and_the_hooks() {
    let home = Home::new();
    let args = [
        "claude-code",
        "--yes",
        "--recall",
        "--read-only",
        "--wing",
        "a b",
        "--wing",
        "c",
    ];
    home.json(&[&args[..], &["--palace", "./my 'palace'", "--collection", "notes"]].concat());
    let palace = home.path("work/my 'palace'");
    let palace = palace.to_str().unwrap();
    let server = &home.config(".claude.json")["mcpServers"]["loci"];
    let of_both = ["--palace", palace, "--collection", "notes"];
    let of_server = ["--read-only", "--wing", "a b", "--wing", "c"];
    assert_eq!(
        server["args"],
        json!([&["mcp"], &of_both[..], &of_server].concat())
    );
    let hooks = &home.config(".claude/settings.json")["hooks"];
    for (event, recall) in [
        ("Stop", false),
        ("SessionStart", true),
        ("UserPromptSubmit", true),
    ] {
        let line = words(hooks[event][0]["hooks"][0]["command"].as_str().unwrap());
        let mut expected = vec![
            program(),
            "hook".to_owned(),
            "claude-code".to_owned(),
            event.to_owned(),
        ];
        expected.extend(recall.then(|| "--recall".to_owned()));
        expected.extend(of_both.map(str::to_owned));
        assert_eq!(line, expected);
    }
    home.json(&["claude-code", "--yes", "--palace", "embedded:other"]);
    let hooks = home.config(".claude/settings.json");
    assert_eq!(
        hooks["hooks"].as_object().unwrap().len(),
        3,
        "no longer asked to recall: {hooks}"
    );
    let expected = format!("embedded:{}", home.path("data/loci/palaces/other").display());
    assert_eq!(
        home.config(".claude.json")["mcpServers"]["loci"]["args"][2],
        expected
    );
    home.json(&["claude-code", "--yes", "--undo"]);
    assert!(home.everything().is_empty());
}

#[test]
fn what_was_there_stays_byte_for_byte_with_its_rights() {
    let old = "{\r\n\t// mine\r\n\t\"numStartups\": 7,\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {\"command\": \"y\"},\r\n\t},\r\n}";
    let toml = "# mine\nmodel = \"o\"\n\n[mcp_servers.x]\ncommand = 'y'";
    let hooks = "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"say done\"}],\"Stop\":[ ]}}";
    for tool in TOOLS {
        let home = Home::new();
        for name in configs(tool) {
            let text = match (name.ends_with("toml"), name.ends_with("hooks.json")) {
                (true, _) => toml,
                (_, true) => hooks,
                _ => old,
            };
            let path = home.write(name, text);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let before = home.everything();
        let made = home.json(&[tool, "--yes"]);
        assert!(kinds(&made).iter().all(|kind| *kind == "edit"), "{made}");
        for name in configs(tool) {
            let kept = home.path(&format!("{name}.loci-backup"));
            assert_eq!(fs::read(&kept).unwrap(), before[&home.path(name)], "{name}");
            for path in [&kept, &home.path(name)] {
                let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{}", path.display());
            }
        }
        home.json(&[tool, "--yes", "--undo"]);
        assert_eq!(home.everything(), before, "{tool}");
    }
}

#[test]
fn the_first_original_is_kept_until_it_is_back() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{\"a\": 1}");
    home.json(&["cursor", "--yes"]);
    home.json(&["cursor", "--yes", "--read-only"]);
    assert_eq!(home.read(".cursor/mcp.json.loci-backup"), "{\"a\": 1}");
    let used = home.read(".cursor/mcp.json").replace("\"a\": 1", "\"a\": 2");
    home.write(".cursor/mcp.json", &used);
    home.json(&["cursor", "--yes", "--undo"]);
    assert_eq!(home.read(".cursor/mcp.json"), "{\"a\": 2}");
    assert_eq!(home.read(".cursor/mcp.json.loci-backup"), "{\"a\": 1}");
    home.json(&["cursor", "--yes"]);
    assert_eq!(home.read(".cursor/mcp.json.loci-backup"), "{\"a\": 2}");
}

#[test]
fn folders_that_were_moved_and_projects_are_found() {
    let home = Home::new();
    let mut moved = home.command(&["claude-code", "--yes"]);
    moved.env("CLAUDE_CONFIG_DIR", home.path("claude"));
    assert_eq!(ran(moved).code, Some(0));
    let mut moved = home.command(&["codex", "--yes"]);
    moved.env("CODEX_HOME", home.path("codex"));
    assert_eq!(ran(moved).code, Some(0));
    let mut moved = home.command(&["gemini", "--yes"]);
    moved.env("GEMINI_CLI_HOME", home.path("gemini"));
    assert_eq!(ran(moved).code, Some(0));
    for name in [
        "claude/.claude.json",
        "claude/settings.json",
        "codex/config.toml",
        "codex/hooks.json",
    ] {
        assert!(home.read(name).contains("loci"), "{name}");
    }
    assert!(home.read("gemini/.gemini/settings.json").contains("loci"));
    assert_eq!(home.everything().len(), 5);
    for tool in TOOLS {
        home.json(&[tool, "--yes", "--project"]);
    }
    for name in [
        ".mcp.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".cursor/mcp.json",
        ".cursor/hooks.json",
        ".vscode/mcp.json",
    ] {
        assert!(home.read(&format!("work/{name}")).contains("loci"), "{name}");
    }
    assert_eq!(home.everything().len(), 13);
}

#[test]
fn a_palace_of_the_environment_is_not_taken_for_granted() {
    let home = Home::new();
    let mut command = home.command(&["cursor"]);
    command.env("LOCI_PALACE", "/somewhere");
    assert!(ran(command).err.contains("LOCI_PALACE"));
    assert!(!home.run(&["cursor"]).err.contains("LOCI_PALACE"));
}

#[test]
fn many_at_once_make_one_entry() {
    let home = Home::new();
    let old = "{\n  \"mcpServers\": {},\n  \"other\": [1]\n}\n";
    home.write(".gemini/settings.json", old);
    let runs: Vec<_> = (0..8)
        .map(|_| {
            let mut command = home.command(&["gemini", "--yes"]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    let text = home.read(".gemini/settings.json");
    assert_eq!(text.matches("\"loci\"").count(), 1, "{text}");
    assert_eq!(text.matches("hook gemini AfterAgent").count(), 1, "{text}");
    assert_eq!(home.everything().len(), 2, "nothing unfinished is left");
    home.json(&["gemini", "--yes", "--undo"]);
    assert_eq!(home.read(".gemini/settings.json"), old);
}
