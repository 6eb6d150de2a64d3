//! What `loci connect` does not do: write unasked, edit what cannot be edited, or take a link for a file.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value as Json, json};

use super::Home;

#[test]
fn nothing_is_written_unasked() {
    let home = Home::new();
    let old = home.write(".gemini/settings.json", "{\n  \"theme\": \"x\"\n}\n");
    let before = home.everything();
    let shown = home.run(&["gemini"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let name = old.display();
    assert!(
        shown
            .out
            .starts_with(&format!("--- {name}\n+++ {name}\n@@ -1,3 +1,")),
        "{shown:?}"
    );
    assert!(
        shown
            .out
            .contains("-  \"theme\": \"x\"\n+  \"theme\": \"x\",\n+  \"mcpServers\": {"),
        "{shown:?}"
    );
    assert!(shown.err.contains("--yes"), "{shown:?}");
    let answer = home.json(&["gemini"]);
    assert_eq!(answer["written"], false);
    assert_eq!(answer["files"][0]["change"], "edit");
    assert_eq!(answer["files"][0]["path"], old.to_str().unwrap());
    assert_eq!(answer["files"][0]["diff"].as_str(), Some(shown.out.as_str()));
    let printed = home.run(&["gemini", "--print"]);
    let (path, snippet) = printed.out.split_once('\n').unwrap();
    assert_eq!(path, old.to_str().unwrap());
    let snippet: Json = serde_json::from_str(snippet).unwrap();
    assert_eq!(snippet["mcpServers"]["loci"]["args"], json!(["mcp"]));
    let printed = home.json(&["codex", "--print"]);
    assert!(
        printed["files"][0]["snippet"]
            .as_str()
            .unwrap()
            .starts_with("[mcp_servers.loci]\n"),
        "{printed}"
    );
    assert_eq!(home.everything(), before);
}

/// Runs on a terminal with `typed` on its keyboard, and gives what was shown.
#[cfg(target_os = "linux")]
pub(super) fn on_a_terminal(home: &Home, args: &[&str], typed: &str) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::{Read as _, Write as _};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = fs::File::options().read(true).write(true).open(name).unwrap();
    let mut command = home.command(args);
    command
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs);
    let mut child = command.spawn().unwrap();
    // What still holds the terminal open would keep the reading from ending.
    drop(command);
    let mut ours = fs::File::from(ours);
    ours.write_all(typed.as_bytes()).unwrap();
    let mut shown = Vec::new();
    // A terminal that nobody writes to any more ends with an error.
    let _ = ours.read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_and_only_a_yes_writes() {
    let home = Home::new();
    for typed in ["n\n", "\n", "yesterday\n"] {
        let shown = on_a_terminal(&home, &["cursor"], typed);
        assert!(
            shown.contains("[y/N]") && shown.contains("nothing was written"),
            "{shown}"
        );
        assert!(home.everything().is_empty());
    }
    let shown = on_a_terminal(&home, &["cursor"], "y\n");
    assert!(
        shown.find("+++").unwrap() < shown.find("[y/N]").unwrap(),
        "{shown}"
    );
    assert_eq!(home.everything().len(), 2);
    on_a_terminal(&home, &["cursor", "--undo"], "y\n");
    assert!(home.everything().is_empty());
}

#[test]
fn a_config_that_cannot_be_edited_is_named_and_no_file_is_touched() {
    let home = Home::new();
    let first = "{\"mine\": 1}";
    home.write(".claude.json", first);
    let settings = home.path(".claude/settings.json");
    for (text, what) in [
        ("{ \"hooks\": {", "is not JSON"),
        ("{ \"hooks\": [] }", "\"hooks\""),
        ("[]", "object"),
    ] {
        home.write(".claude/settings.json", text);
        let said = home.refused(&["claude-code"]);
        assert!(
            said.contains(settings.to_str().unwrap()) && said.contains(what),
            "{said}"
        );
    }
    fs::write(&settings, b"{\"a\": \"\xff\"}").unwrap();
    assert!(home.refused(&["claude-code"]).contains("UTF-8"));
    fs::write(&settings, "{}").unwrap();
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(home.refused(&["claude-code"]).contains("read-only"));
    fs::remove_file(&settings).unwrap();
    fs::create_dir(&settings).unwrap();
    assert!(home.refused(&["claude-code"]).contains("folder"));
    fs::remove_dir(&settings).unwrap();
    symlink("settings.json", &settings).unwrap();
    assert!(home.refused(&["claude-code"]).contains("itself"));
    fs::remove_file(&settings).unwrap();
    fs::File::create(&settings)
        .unwrap()
        .set_len((16 << 20) + 1)
        .unwrap();
    assert!(home.refused(&["claude-code"]).contains("16 MB"));
    fs::remove_file(&settings).unwrap();
    fs::remove_dir(settings.parent().unwrap()).unwrap();
    fs::write(settings.parent().unwrap(), "in the way").unwrap();
    assert!(home.refused(&["claude-code"]).contains("settings.json"));
    home.write(".codex/config.toml", "a = ");
    assert!(home.refused(&["codex"]).contains("is not TOML"));
    assert_eq!(home.read(".claude.json"), first);
}

#[test]
fn a_config_of_another_user_is_left_alone() {
    let home = Home::new();
    let path = home.path(".cursor/mcp.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    if rustix::process::geteuid().is_root() {
        fs::write(&path, "{}").unwrap();
        rustix::fs::chown(&path, Some(rustix::process::Uid::from_raw(12_345)), None).unwrap();
    } else {
        symlink("/etc/passwd", &path).unwrap();
    }
    assert!(home.refused(&["cursor"]).contains("another user"));
}

#[test]
fn a_link_stays_a_link_and_its_file_is_edited() {
    let home = Home::new();
    home.write("dotfiles/mcp.json", "{}\n");
    fs::create_dir(home.path(".cursor")).unwrap();
    let link = home.path(".cursor/mcp.json");
    symlink("../dotfiles/mcp.json", &link).unwrap();
    let hooks = home.path(".cursor/hooks.json");
    symlink("../dotfiles/not-there.json", &hooks).unwrap();
    home.json(&["cursor", "--yes"]);
    assert!(home.read("dotfiles/mcp.json").contains("loci"));
    assert!(home.read("dotfiles/not-there.json").contains("loci"));
    home.json(&["cursor", "--yes", "--undo"]);
    assert_eq!(home.read("dotfiles/mcp.json"), "{}\n");
    assert!(!home.path("dotfiles/not-there.json").exists());
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("../dotfiles/mcp.json"));
    assert_eq!(
        fs::read_link(&hooks).unwrap(),
        Path::new("../dotfiles/not-there.json")
    );
}

#[test]
fn a_home_that_is_none_is_refused_and_not_made() {
    let home = Home::new();
    let before = home.everything();
    for wrong in [home.path("nowhere/x").to_str().unwrap(), "relative"] {
        let mut command = home.command(&["claude-code", "--yes"]);
        command.env("HOME", wrong).current_dir(home.path(""));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains(wrong) && said.contains("nothing was written"),
            "{said}"
        );
    }
    assert_eq!(home.everything(), before);
}
