//! `loci backend test` as a user runs it: on what is built in, on executables, and on servers.

use loci_testkit::{ChromaServer, PostgresServer};

use super::*;

/// The themes of a report with their counts: kept, broken, not applicable.
fn counts(report: &Json) -> Vec<(String, [u64; 3])> {
    let themes = report["themes"].as_array().unwrap().iter();
    let count = |theme: &Json, name: &str| theme[name].as_u64().unwrap();
    themes
        .map(|theme| {
            let [kept, broken, beside] = ["kept", "broken", "not_applicable"].map(|name| count(theme, name));
            (
                theme["theme"].as_str().unwrap().to_owned(),
                [kept, broken, beside],
            )
        })
        .collect()
}

/// Tests one theme, which must be kept, and returns its counts.
#[track_caller]
fn test_theme(plugged: &PluggedHome, reference: &str, theme: &str) -> [u64; 3] {
    let report = plugged.json(&["backend", "test", reference, "--only", theme]);
    assert_eq!(report["broken"], serde_json::json!([]), "{reference}");
    let counted = counts(&report);
    assert_eq!(counted.len(), 1, "{report}");
    assert_eq!(counted[0].0, theme);
    let [kept, broken, _] = counted[0].1;
    assert!(kept > 0 && broken == 0, "{reference}: {report}");
    counted[0].1
}

impl PluggedHome {
    /// Adds the Python example with a mistake: `before` replaced by `after`.
    fn add_mistaken(&self, before: &str, after: &str) -> String {
        let text = fs::read_to_string(EXAMPLE).unwrap();
        assert_eq!(text.matches(before).count(), 1, "the example has changed");
        let file = self.bin.join("loci-backend-mistaken");
        fs::write(&file, text.replace(before, after)).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

#[test]
fn a_backend_is_tested_by_its_name_by_its_file_and_on_a_server() {
    let plugged = PluggedHome::new();
    let file = plugged.bin.join("loci-backend-python");
    let by_name = test_theme(&plugged, "python", "versions");
    assert_eq!(test_theme(&plugged, file.to_str().unwrap(), "versions"), by_name);
    assert_eq!(test_theme(&plugged, "embedded", "versions"), by_name);
    let database = PostgresServer::shared().create_database();
    assert_eq!(test_theme(&plugged, &database.url(), "versions"), by_name);
    let port = ChromaServer::shared("1.5.9");
    let chroma = format!("chroma://127.0.0.1:{port}");
    assert_eq!(test_theme(&plugged, &chroma, "versions"), by_name);
}

#[test]
fn an_executable_is_also_tested_as_a_process_and_no_other_backend_is() {
    let plugged = PluggedHome::new();
    let [kept, _, beside] = test_theme(&plugged, "python", "process");
    assert_eq!((kept, beside), (6, 0));
    let linked = plugged.json(&["backend", "test", "embedded", "--only", "process"]);
    assert_eq!(counts(&linked)[0].1, [0, 0, 6]);
}

#[test]
fn a_broken_promise_is_told_in_its_sentence_and_the_exit_code_is_1() {
    let plugged = PluggedHome::new();
    let mistaken = plugged.add_mistaken("-(time or 0)", "(time or 0)");
    let ran = plugged.run(1, &["backend", "test", &mistaken, "--only", "orders"]);
    assert!(ran.out.contains("the latest filed comes first"), "{ran:?}");
    assert!(ran.out.contains("expected"), "what was found is told: {ran:?}");
    let report = run_command(
        plugged.command(&["--json", "backend", "test", "mistaken", "--only", "orders"]),
        b"",
    );
    let report = report.expect_code(1).json();
    let broken = report["broken"].as_array().unwrap();
    assert!(broken.iter().all(|one| one["theme"] == "orders"), "{report}");
    assert_eq!(counts(&report)[0].1[1], broken.len() as u64);
}

#[test]
fn random_histories_are_played_from_a_seed() {
    let plugged = PluggedHome::new();
    let args = [
        "--json", "backend", "test", "python", "--only", "model", "--seed", "7",
    ];
    let mut command = plugged.command(&args);
    command.env("LOCI_MODEL_CASES", "3");
    let report = run_command(command, b"").expect_code(0).json();
    assert_eq!(counts(&report), [("model".to_owned(), [1, 0, 0])]);
}

#[test]
fn what_cannot_be_tested_is_trouble_and_not_a_broken_promise() {
    let plugged = PluggedHome::new();
    let unknown = plugged.run(2, &["backend", "test", "python", "--only", "nothing"]);
    assert!(unknown.err.contains("the themes are writes"), "{}", unknown.err);
    plugged.add_marker(&plugged.bin, "mark");
    let silent = plugged.run(2, &["backend", "test", "mark"]);
    assert!(silent.err.contains("nothing was tested"), "{}", silent.err);
    let missing = plugged.run(2, &["backend", "test", "./no-such-file"]);
    assert!(missing.err.contains("no-such-file"), "{}", missing.err);
}
