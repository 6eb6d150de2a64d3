//! `loci connect` without a tool, and the path, palace and past sessions of a tool that is connected.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};

use super::{Home, TOOLS, program, ran};

/// One turn of a session of Claude Code.
const SESSION: &str = concat!(
    r#"{"type":"user","uuid":"1","sessionId":"s","cwd":"/w","timestamp":"2026-05-01T09:30:00Z","message":{"role":"user","content":"where is the ferry timetable?"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","cwd":"/w","timestamp":"2026-05-01T09:30:05Z","message":{"role":"assistant","content":[{"type":"text","text":"In the blue drawer."}]}}"#,
    "\n",
);

fn row<'a>(listed: &'a Json, tool: &str) -> &'a Json {
    let tools = listed["tools"].as_array().unwrap();
    tools.iter().find(|row| row["tool"] == tool).unwrap()
}

fn states(listed: &Json) -> Vec<(bool, bool)> {
    let tools = TOOLS.map(|tool| row(listed, tool));
    let state = |row: &Json| (row["installed"] == true, row["connected"] == true);
    tools.into_iter().map(state).collect()
}

#[test]
fn every_tool_is_listed_with_its_state_palace_and_command() {
    let home = Home::new();
    assert_eq!(states(&home.json(&[])), [(false, false); 5]);
    home.write(".codex/config.toml", "model = \"o\"\n");
    home.json(&["cursor", "--yes", "--palace", "./my palace"]);
    home.json(&["vscode", "--yes"]);
    let before = home.everything();
    let listed = home.json(&[]);
    let expected = [
        (false, false),
        (true, false),
        (false, false),
        (true, true),
        (true, true),
    ];
    assert_eq!(states(&listed), expected, "{listed}");
    let cursor = row(&listed, "cursor");
    let palace = home.path("work/my palace");
    assert_eq!(
        (&cursor["title"], &cursor["palace"]),
        (&json!("Cursor"), &json!(palace))
    );
    assert_eq!(cursor["files"][0]["path"], json!(home.path(".cursor/mcp.json")));
    assert_eq!(row(&listed, "codex")["command"], "loci connect codex");
    let words = home.run(&[]);
    assert_eq!(words.code, Some(0), "{words:?}");
    for line in [
        "Claude Code not installed",
        "Codex       not connected  loci connect codex",
        "VS Code     connected      the default palace",
    ] {
        assert!(words.out.contains(line), "{words:?}");
    }
    assert!(words.out.contains(palace.to_str().unwrap()), "{words:?}");
    assert_eq!(home.everything(), before, "a list writes nothing");
}

#[test]
fn a_tool_is_installed_if_its_program_is_on_the_path() {
    let home = Home::new();
    let program = home.write("bin/gemini", "#!/bin/sh\n");
    let listed = || {
        let mut command = home.command(&["--json"]);
        command.env("PATH", home.path("bin"));
        serde_json::from_str::<Json>(&ran(command).out).unwrap()
    };
    assert_eq!(row(&listed(), "gemini")["installed"], false, "it cannot be run");
    make_executable(&program);
    assert_eq!(row(&listed(), "gemini")["installed"], true);
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn settings_that_cannot_be_read_are_listed_with_the_error() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{");
    let listed = home.json(&[]);
    let error = row(&listed, "cursor")["error"].as_str().unwrap();
    assert!(error.contains("mcp.json"), "{listed}");
    assert!(home.run(&[]).out.contains("mcp.json"));
}

#[test]
fn options_of_a_connection_need_a_tool() {
    let home = Home::new();
    for option in ["--undo", "--yes", "--print", "--recall", "--read-only"] {
        assert_eq!(home.run(&[option]).code, Some(2), "{option}");
    }
}

/// The program that the settings of Cursor run after `command` connected it.
fn connected_program(home: &Home, mut command: Command) -> String {
    home.command(&[]).get_envs().for_each(|(name, value)| {
        if name != "PATH" {
            command.env(name, value.unwrap_or_default());
        }
    });
    command
        .args(["connect", "cursor", "--yes"])
        .current_dir(home.path("work"));
    let ended = ran(command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let server = &home.config(".cursor/mcp.json")["mcpServers"]["loci"];
    server["command"].as_str().unwrap().to_owned()
}

#[test]
fn a_link_to_the_program_is_kept_as_it_was_called() {
    let home = Home::new();
    let link = home.path("bin/loci");
    fs::create_dir(home.path("bin")).unwrap();
    symlink(program(), &link).unwrap();
    assert_eq!(
        connected_program(&home, Command::new(&link)),
        link.to_str().unwrap()
    );
    let mut by_name = Command::new("loci");
    by_name.env("PATH", home.path("bin"));
    assert_eq!(connected_program(&home, by_name), link.to_str().unwrap());
    let mut relative = Command::new("/bin/sh");
    relative.args(["-c", "exec ../bin/loci \"$@\"", "sh"]);
    let called = connected_program(&home, relative);
    assert_eq!(fs::canonicalize(&called).unwrap(), Path::new(&program()));
    assert!(
        called.ends_with("bin/loci") && !called.contains("target"),
        "{called}"
    );
}

#[test]
fn a_name_that_could_not_be_recognised_and_another_program_are_not_written_down() {
    let home = Home::new();
    fs::create_dir(home.path("bin")).unwrap();
    let odd = home.path("bin/memory");
    symlink(program(), &odd).unwrap();
    assert_eq!(connected_program(&home, Command::new(&odd)), program());
    let other = home.write("bin/loci", "#!/bin/sh\n");
    make_executable(&other);
    let mut renamed = Command::new("/bin/bash");
    renamed.env("PATH", home.path("bin"));
    renamed.args(["-c", &format!("exec -a loci '{}' \"$@\"", program()), "bash"]);
    assert_eq!(connected_program(&home, renamed), program());
}

#[test]
fn a_link_to_a_palace_is_kept_as_it_was_given() {
    let home = Home::new();
    fs::create_dir(home.path("real")).unwrap();
    symlink(home.path("real"), home.path("work/link")).unwrap();
    home.json(&["cursor", "--yes", "--palace", "./link"]);
    let args = &home.config(".cursor/mcp.json")["mcpServers"]["loci"]["args"];
    assert_eq!(args, &json!(["mcp", "--palace", home.path("work/link")]));
}

#[test]
fn another_system_s_tool_names_are_passed_on_to_the_server_alone() {
    let home = Home::new();
    home.json(&["cursor", "--yes", "--compat", "mempalace"]);
    let args = &home.config(".cursor/mcp.json")["mcpServers"]["loci"]["args"];
    assert_eq!(args, &json!(["mcp", "--compat", "mempalace"]));
    assert!(!home.read(".cursor/hooks.json").contains("compat"));
    assert_eq!(home.run(&["cursor", "--compat", "other"]).code, Some(2));
    home.json(&["cursor", "--yes", "--undo"]);
    assert!(home.everything().is_empty());
}

#[test]
fn past_sessions_are_offered_as_a_command_where_no_person_can_be_asked() {
    let home = Home::new();
    home.write(".claude/projects/-w/s.jsonl", SESSION);
    let folder = home.path(".claude/projects");
    let palace = home.path("work/it's mine");
    let shown = home.run(&["claude-code", "--yes", "--palace", "./it's mine"]);
    let quoted = palace.to_str().unwrap().replace('\'', r"'\''");
    let command = format!("loci mine '{}' --palace '{quoted}'", folder.display());
    assert!(
        shown.err.contains(&command) && shown.err.contains("1 past session "),
        "{shown:?}"
    );
    assert!(!palace.exists(), "nothing is mined unasked");
    home.json(&["claude-code", "--yes", "--undo"]);
    let answer = home.json(&["claude-code", "--yes"]);
    let offer = &answer["past_sessions"];
    assert_eq!(
        (&offer["folder"], &offer["sessions"]),
        (&json!(folder), &json!(1))
    );
    assert_eq!(
        home.json(&["claude-code", "--yes"])["past_sessions"],
        Json::Null,
        "only once"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn past_sessions_are_mined_when_a_person_says_so() {
    use super::careful::on_a_terminal;
    let home = Home::new();
    home.write(".claude/projects/-w/s.jsonl", SESSION);
    home.write(".claude/projects/-w/t.jsonl", &SESSION.replace("\"s\"", "\"t\""));
    let args = ["claude-code", "--palace", "./mine"];
    let shown = on_a_terminal(&home, &args, "y\nn\n");
    assert!(
        shown.contains("Mine 2 past sessions in ~/.claude/projects now? [y/N]"),
        "{shown}"
    );
    assert!(!home.path("work/mine").exists());
    on_a_terminal(&home, &["claude-code", "--undo"], "y\n");
    let shown = on_a_terminal(&home, &args, "y\ny\n");
    assert!(shown.contains("2 sources: 2 mined"), "{shown}");
    assert!(home.path("work/mine/palace.db").is_file());
}
