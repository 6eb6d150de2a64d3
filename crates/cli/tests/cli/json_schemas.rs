//! `docs/json.md` is up to date, and the real `--json` output of every command matches its schema there.

mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use loci_cli::{CommandSchema, json_markdown, list_schemas};
use serde_json::{Value as Json, json};

use super::new_home;

/// Commands without a document of their own.
const WITHOUT_DOCUMENT: [(&str, &str); 1] = [("hook", "answers in the format of the tool that calls it")];

/// Documents that no test can make; their examples are checked all the same.
const NOT_RUN: [(&str, &str); 2] = [
    ("loci model install NAME", "copies the package of a whole model"),
    ("loci serve", "is started by the tests of the server"),
];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md")
}

/// Forbids fields that the schema does not name, wherever it names some.
fn forbid_unknown_fields(schema: &mut Json) {
    match schema {
        Json::Array(parts) => parts.iter_mut().for_each(forbid_unknown_fields),
        Json::Object(object) => {
            // Figures of backends are flattened maps, which say so themselves.
            if object.contains_key("properties") && !object.contains_key("additionalProperties") {
                object.insert("additionalProperties".to_owned(), json!(false));
            }
            object.values_mut().for_each(forbid_unknown_fields);
        }
        _ => {}
    }
}

fn list_faults(entry: &CommandSchema, printed: &Json) -> Vec<String> {
    let mut schema = entry.schema.clone();
    forbid_unknown_fields(&mut schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults = validator.iter_errors(printed);
    faults
        .map(|fault| format!("{} at {}: {fault}", entry.command, fault.instance_path()))
        .collect()
}

#[test]
fn the_page_on_json_is_up_to_date() {
    let text = json_markdown();
    if std::env::var_os("LOCI_UPDATE").is_some() {
        std::fs::write(page(), &text).unwrap();
    }
    let written = std::fs::read_to_string(page()).unwrap_or_default();
    assert!(
        written == text,
        "docs/json.md is not what the types say; run `LOCI_UPDATE=1 cargo test -p loci-cli --test cli json_schemas::`"
    );
    let printed = new_home().run(&["json-markdown"]).expect_code(0);
    assert_eq!(printed.out, text);
}

#[test]
fn every_command_prints_what_its_schema_says() {
    let printed = runs::run_every_command();
    let schemas = list_schemas();
    let mut faults = Vec::new();
    for (command, documents) in &printed {
        let Some(entry) = schemas.iter().find(|entry| entry.command == *command) else {
            faults.push(format!("{command} has no schema"));
            continue;
        };
        assert!(!documents.is_empty(), "{command} printed nothing");
        faults.extend(documents.iter().flat_map(|document| list_faults(entry, document)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let run: BTreeSet<&str> = printed.iter().map(|(command, _)| *command).collect();
    let excused: BTreeSet<&str> = NOT_RUN.iter().map(|(command, _)| *command).collect();
    let listed: BTreeSet<&str> = schemas.iter().map(|entry| entry.command).collect();
    assert_eq!(run.union(&excused).copied().collect::<BTreeSet<_>>(), listed);
    assert!(run.is_disjoint(&excused), "an excuse is no longer needed");
}

#[test]
fn every_command_of_the_command_line_has_a_schema() {
    let help = loci_cli::help_markdown();
    let commands: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("## loci "))
        .collect();
    let schemas = list_schemas();
    let is_listed = |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        let mut lines = schemas
            .iter()
            .filter_map(|entry| entry.command.strip_prefix("loci "));
        lines.any(|line| line.split(' ').take(words.len()).eq(words.iter().copied()))
    };
    for command in commands {
        let excused = WITHOUT_DOCUMENT.iter().any(|(name, _)| *name == command);
        assert_ne!(is_listed(command), excused, "{command}");
    }
}

#[test]
fn every_example_on_the_page_matches_its_schema() {
    let text = json_markdown();
    let sections: BTreeMap<&str, &str> = text
        .split("\n## ")
        .filter_map(|section| section.split_once('\n'))
        .collect();
    for entry in list_schemas() {
        let heading = if entry.command == "an error" {
            "An error"
        } else {
            entry.command
        };
        let section = sections[heading];
        // The example comes first, one document per line; the schema follows, on many lines.
        let example = section
            .split("```json\n")
            .nth(1)
            .unwrap()
            .split("\n```")
            .next()
            .unwrap();
        for line in example.lines() {
            let document: Json = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}: {error}: {line}", entry.command));
            assert_eq!(list_faults(&entry, &document), Vec::<String>::new());
        }
    }
}

#[test]
fn a_field_that_no_schema_names_is_a_fault() {
    let all = list_schemas();
    let count = all.iter().find(|entry| entry.command == "loci count").unwrap();
    assert!(list_faults(count, &json!({"count": 1, "warnings": []})).is_empty());
    for wrong in [
        json!({"count": 1, "warnings": [], "extra": 1}),
        json!({"count": null, "warnings": []}),
        json!({"count": 1}),
        // A hint that is missing is absent, and never null.
        json!({"count": 1, "warnings": [{"code": "a", "severity": "note", "message": "b", "hint": null}]}),
    ] {
        assert!(!list_faults(count, &wrong).is_empty(), "{wrong}");
    }
}
