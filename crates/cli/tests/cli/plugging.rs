//! Plug-ins: found by name, started only when a palace needs one, remembered by the palace, moved into and back.

mod killed;
mod tested;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use loci_testkit::CommandOutcome;

use super::*;

const EXAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/backend-python/loci-backend-python"
);

/// A home whose PATH has a folder of plug-ins.
struct PluggedHome {
    home: TempHome,
    bin: PathBuf,
}

impl PluggedHome {
    fn new() -> Self {
        let home = new_home();
        let bin = home.path("bin");
        fs::create_dir(&bin).unwrap();
        fs::copy(EXAMPLE, bin.join("loci-backend-python")).unwrap();
        Self { home, bin }
    }

    /// Adds a plug-in that leaves a mark when it is run.
    fn add_marker(&self, folder: &Path, name: &str) -> PathBuf {
        let mark = self.home.path(&format!("{name}-was-run"));
        let script = format!(
            "#!/bin/sh\necho run > {}\necho 'mind the gap' >&2\n",
            mark.display()
        );
        fs::create_dir_all(folder).unwrap();
        let file = folder.join(format!("loci-backend-{name}"));
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        mark
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        let usual = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{usual}", self.bin.display()));
        command.env("XDG_CONFIG_HOME", self.home.path("settings"));
        command
    }

    #[track_caller]
    fn run(&self, code: i32, args: &[&str]) -> CommandOutcome {
        run_command(self.command(args), b"").expect_code(code)
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Json {
        let mut all = vec!["--json"];
        all.extend(args);
        self.run(0, &all).json()
    }
}

fn find<'a>(list: &'a Json, name: &str) -> Option<&'a Json> {
    let rows = list["backends"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name)
}

#[test]
fn plug_ins_are_listed_with_their_place_and_nothing_is_run_for_it() {
    let plugged = PluggedHome::new();
    let on_path = plugged.add_marker(&plugged.bin, "mark");
    let in_settings = plugged.add_marker(&plugged.home.path("settings/loci/backends"), "own");
    let own = plugged.add_marker(&plugged.bin, "embedded");
    let listed = plugged.json(&["backends"]);
    let python = find(&listed, "python").unwrap();
    assert_eq!(
        python["path"],
        plugged.bin.join("loci-backend-python").to_str().unwrap()
    );
    assert!(python.get("capabilities").is_none(), "{python}");
    assert!(find(&listed, "mark").is_some() && find(&listed, "own").is_some());
    assert!(
        find(&listed, "embedded").unwrap().get("path").is_none(),
        "not taken over"
    );
    plugged.run(1, &["palaces"]);
    // The palace of a built-in name is the built-in one.
    plugged.json(&["init"]);
    for mark in [&on_path, &in_settings, &own] {
        assert!(!mark.exists(), "{} was run", mark.display());
    }
    let started = plugged.json(&["backends", "--start"]);
    let python = find(&started, "python").unwrap();
    assert_eq!(python["version"], "1.0");
    let capabilities = python["capabilities"].as_array().unwrap();
    assert!(capabilities.iter().any(|one| one == "sources"), "{python}");
    let broken = find(&started, "mark").unwrap()["error"].as_str().unwrap();
    assert!(broken.contains("\"mark\""), "{broken}");
    assert!(on_path.exists() && in_settings.exists() && !own.exists());
}

#[test]
fn what_a_plug_in_says_to_people_is_shown_with_its_name() {
    let plugged = PluggedHome::new();
    plugged.add_marker(&plugged.bin, "mark");
    let refused = plugged.run(2, &["--palace", "mark:./there", "status"]);
    assert!(refused.err.contains("mark: mind the gap"), "{}", refused.err);
    assert!(refused.err.contains("the plug-in \"mark\""), "{}", refused.err);
}

#[test]
fn a_palace_remembers_the_plug_in_it_was_made_with() {
    let plugged = PluggedHome::new();
    let palace = plugged.home.path("garden");
    let palace = palace.to_str().unwrap();
    let made = plugged.json(&["--palace", palace, "init", "--backend", "python"]);
    assert_eq!(made["backend"], "python");
    plugged.json(&[
        "--palace",
        palace,
        "add",
        "Plant the beans in May.",
        "--wing",
        "garden",
    ]);
    let found = plugged.json(&["--palace", palace, "search", "when are beans planted"]);
    assert_eq!(found["hits"][0]["text"], "Plant the beans in May.", "{found}");
    assert_eq!(plugged.json(&["--palace", palace, "status"])["backend"], "python");
}

#[test]
fn a_palace_moves_into_a_plug_in_and_back_without_loss() {
    let plugged = PluggedHome::new();
    plugged.json(&["init"]);
    for (wing, text) in [
        ("garden", "Plant the beans in May."),
        ("kitchen", "Soak them overnight. 抽屉"),
    ] {
        plugged.json(&["add", text, "--wing", wing]);
    }
    let notes = plugged
        .home
        .write("notes/a.md", "# Leeks\n\nLeeks like sandy ground.\n");
    plugged.json(&["mine", &notes, "--wing", "garden"]);
    let here = plugged.home.palace();
    let there = format!("python:{}", plugged.home.path("there").display());
    let back = plugged.home.path("back");
    let (here, back) = (here.to_str().unwrap(), back.to_str().unwrap());
    plugged.json(&["migrate", "--from", here, "--to", &there]);
    plugged.json(&["verify", "--palace", &there, "--against", here]);
    plugged.json(&["migrate", "--from", &there, "--to", back]);
    plugged.json(&["verify", "--palace", back, "--against", here]);
    let digest = |palace: &str| plugged.json(&["verify", "--palace", palace])["hash"].clone();
    assert_eq!(digest(here), digest(back));
    assert_eq!(digest(here), digest(&there));
    assert!(digest(here).is_string());
}
