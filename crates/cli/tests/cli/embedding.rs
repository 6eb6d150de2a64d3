//! Meaning out of the box, and a model that is never mixed up.

use serde_json::{Value as Json, json};

use super::{TempHome, ids, new_home};

const SHIP: &str = "The ship leaves the harbour on Friday at dawn.";
const FRUIT: &str = "We bought apples and pears at the market.";

fn spaces(shown: &Json) -> Vec<(String, String, u64, u64)> {
    let text = |value: &Json| value.as_str().unwrap_or("none").to_owned();
    let space = |space: &Json| {
        let number = |key: &str| space[key].as_u64().unwrap();
        (
            text(&space["model"]),
            text(&space["state"]),
            number("vectors"),
            number("drawers"),
        )
    };
    shown["spaces"].as_array().unwrap().iter().map(space).collect()
}

/// A palace of drawers with vectors of four values that its user brought.
fn given(home: &TempHome, count: usize) {
    let lines: String = (0..count)
        .map(|n| format!("{{\"id\":\"d{n:04}\",\"document\":\"drawer number {n} about ships\",\"embedding\":[1,{n},0,1]}}\n"))
        .collect();
    home.file_lines(&lines);
}

#[test]
fn a_text_is_found_by_its_meaning_without_setting_anything_up() {
    let home = new_home();
    home.run(&["add", SHIP, "--id", "ship"]).expect_code(0);
    home.run(&["add", FRUIT, "--id", "fruit"]).expect_code(0);
    let found = home.json(0, &["search", "--only", "meaning", "when does the boat sail?"]);
    assert_eq!(ids(&found["hits"]), ["ship", "fruit"]);
    let found = home.json(0, &["search", "--only", "meaning", "groceries"]);
    assert_eq!(ids(&found["hits"]), ["fruit", "ship"]);
    let shown = home.json(0, &["embedder", "show"]);
    assert_eq!(
        (&shown["model"], &shown["available"]),
        (&json!("builtin"), &json!(true))
    );
    assert_eq!(spaces(&shown), [("builtin".into(), "active".into(), 2, 2)]);
}

#[test]
fn a_palace_of_keywords_only_is_usable_and_moves_to_a_model_later() {
    let home = new_home();
    let made = home.json(0, &["init", "--embedder", "none"]);
    assert_eq!(made["embedder"], "none");
    let added = home.json(0, &["add", SHIP, "--id", "ship"]);
    assert_eq!(ids(&added["without_vector"]), ["ship"]);
    assert_eq!(
        ids(&home.json(0, &["search", "--only", "words", "harbour"])["hits"]),
        ["ship"]
    );
    let (kind, said) = home
        .run(&["--json", "search", "--only", "meaning", "boat"])
        .expect_error();
    assert!(
        kind == "unsupported" && said.contains("embedder switch"),
        "{said}"
    );
    let switched = home.json(0, &["embedder", "switch", "builtin"]);
    assert_eq!(
        (&switched["outcome"], &switched["embedded"]),
        (&json!("switched"), &json!(1))
    );
    assert_eq!(
        ids(&home.json(0, &["search", "--only", "meaning", "boat"])["hits"]),
        ["ship"]
    );
    home.run(&["add", FRUIT, "--id", "fruit"]).expect_code(0);
    assert_eq!(
        ids(&home.json(0, &["search", "--only", "meaning", "boat"])["hits"]),
        ["ship", "fruit"]
    );
}

#[test]
fn a_switch_keeps_the_old_vectors_for_a_return_until_they_are_dropped() {
    let home = new_home();
    given(&home, 30);
    let before = home.json(0, &["search", "--vector", "[1,3,0,1]", "-n", "30"]);
    let switched = home.json(0, &["embedder", "switch", "builtin"]);
    assert_eq!(switched["outcome"], "switched");
    let (active, old) = (
        ("builtin".into(), "active".into(), 30, 30),
        ("given".into(), "retired".into(), 30, 30),
    );
    assert_eq!(spaces(&switched), [active, old]);
    let again = home.json(0, &["embedder", "switch", "builtin"]);
    assert_eq!(
        (&again["outcome"], &again["embedded"]),
        (&json!("was_active"), &json!(0))
    );
    home.run(&["add", SHIP, "--id", "ship"]).expect_code(0);
    let back = home
        .run(&["--json", "embedder", "switch", "--rollback"])
        .expect_code(0);
    assert_eq!(back.json()["outcome"], "rolled_back");
    assert!(back.err.contains("1 drawer has no vector of given"), "{back:?}");
    let after = home.json(0, &["search", "--vector", "[1,3,0,1]", "-n", "30"]);
    assert_eq!(after["hits"], before["hits"]);
    home.json(0, &["embedder", "switch", "builtin"]);
    home.run(&["maintain", "compact", "--drop-retired"])
        .expect_code(0);
    assert_eq!(spaces(&home.json(0, &["embedder", "show"])).len(), 1);
    let (kind, _) = home
        .run(&["--json", "embedder", "switch", "--rollback"])
        .expect_error();
    assert_eq!(kind, "conflict");
    home.run(&["verify"]).expect_code(0);
}

#[test]
fn vectors_of_another_model_are_refused_and_nothing_is_stored() {
    let home = new_home();
    home.run(&["add", SHIP, "--id", "ship"]).expect_code(0);
    let (kind, said) = home
        .run(&["--json", "add", FRUIT, "--id", "x", "--vector", "[1,2,3]"])
        .expect_error();
    assert!(kind == "dimension_mismatch" && said.contains("256"), "{said}");
    let foreign = format!(
        "[{}]",
        (0..256)
            .map(|n| (n % 7).to_string())
            .collect::<Vec<_>>()
            .join(",")
    );
    let (kind, said) = home
        .run(&["--json", "add", FRUIT, "--id", "x", "--vector", &foreign])
        .expect_error();
    assert!(kind == "identity_mismatch" && said.contains("builtin"), "{said}");
    assert_eq!(home.json(0, &["count"])["count"], 1);
}

#[test]
fn set_compares_before_it_records_and_insisting_is_possible() {
    let home = new_home();
    let lines: String = (0..3)
        .map(|n| {
            let vector: Vec<String> = (0..256).map(|at| ((at * 31 + n) % 11).to_string()).collect();
            format!(
                "{{\"id\":\"{n}\",\"document\":\"text {n} of three\",\"embedding\":[{}]}}\n",
                vector.join(",")
            )
        })
        .collect();
    home.file_lines(&lines);
    let (kind, said) = home.run(&["--json", "embedder", "set", "builtin"]).expect_error();
    assert_eq!(kind, "identity_mismatch");
    assert!(
        said.contains("--force-model-swap") && said.contains("given"),
        "{said}"
    );
    let forced = home.json(0, &["embedder", "set", "builtin", "--force-model-swap"]);
    assert_eq!(
        (&forced["changed"], &forced["forced"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(home.json(0, &["embedder", "show"])["model"], "builtin");
    let (kind, _) = home
        .run(&["--json", "embedder", "set", "nothing-like-it"])
        .expect_error();
    assert_eq!(kind, "invalid");
}

#[test]
fn models_are_listed_checked_and_not_missed_silently() {
    let home = new_home();
    let listed = home.json(0, &["model", "list"]);
    let names = listed["models"].as_array().unwrap().iter();
    let states: Vec<_> = names
        .map(|one| (one["name"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("builtin", "installed"), ("minilm", "absent")]);
    assert_eq!(home.json(0, &["model", "verify"])["ok"], true);
    let (kind, said) = home
        .run(&["--json", "init", "--embedder", "minilm"])
        .expect_error();
    assert!(
        kind == "not_found" && said.contains("loci model install minilm"),
        "{said}"
    );
    assert!(!home.palace().exists(), "nothing was made");
    let (kind, said) = home
        .run(&["--json", "model", "install", "minilm", "--from", "nowhere.whl"])
        .expect_error();
    assert!(kind == "not_found" && said.contains("nowhere.whl"), "{said}");
    assert_eq!(home.json(1, &["model", "remove", "minilm"])["removed"], false);
    let (kind, _) = home.run(&["--json", "model", "remove", "builtin"]).expect_error();
    assert_eq!(kind, "invalid");
}

#[test]
fn a_server_elsewhere_is_refused_without_leave() {
    let home = new_home();
    let args = ["--json", "model", "install", "far", "--url", "http://192.0.2.1:9"];
    let (kind, said) = home.run(&args).expect_error();
    assert!(kind == "invalid" && said.contains("--allow-remote"), "{said}");
}

#[test]
fn a_server_embeds_for_a_palace_and_is_caught_when_its_model_was_exchanged() {
    let (home, server) = (new_home(), super::server::Server::start());
    let install = [
        "model",
        "install",
        "desk",
        "--url",
        &server.url,
        "--model",
        "bags",
    ];
    let added = home.json(0, &install);
    assert_eq!(
        (&added["dimension"], &added["api"]),
        (&json!(24), &json!("openai"))
    );
    assert_eq!(home.json(0, &install)["already"], true);
    home.run(&["init", "--embedder", "desk"]).expect_code(0);
    home.run(&["add", SHIP, "--id", "ship"]).expect_code(0);
    home.run(&["add", FRUIT, "--id", "fruit"]).expect_code(0);
    assert_eq!(
        ids(&home.json(
            0,
            &["search", "--only", "meaning", "the ship on friday", "-n", "1"]
        )["hits"]),
        ["ship"]
    );
    assert_eq!(home.json(0, &["model", "verify", "desk"])["ok"], true);
    server.exchange_model();
    let (kind, said) = home
        .run(&["--json", "add", "More of it.", "--id", "more"])
        .expect_error();
    assert!(
        kind == "identity_mismatch" && said.contains("no longer makes"),
        "{said}"
    );
    assert_eq!(home.json(0, &["count"])["count"], 2);
    // Drawers are moved all the same: nothing is embedded for that.
    let moved = home.json(0, &["move", "fruit", "--to-room", "kitchen", "--yes"]);
    assert_eq!(moved["moved"], 1);
    // Without its server the palace still takes texts and says that their vectors are missing.
    assert_eq!(home.json(0, &["model", "remove", "desk"])["removed"], true);
    let added = home
        .run(&["--json", "add", "More of it.", "--id", "more"])
        .expect_code(0);
    assert!(
        added.err.contains("without a vector") && added.err.contains("bags"),
        "{added:?}"
    );
    let switched = home.json(0, &["embedder", "switch", "builtin"]);
    assert_eq!(
        (&switched["outcome"], &switched["embedded"]),
        (&json!("switched"), &json!(3))
    );
}

#[test]
fn a_search_goes_on_by_words_when_the_server_falls_silent() {
    let (home, server) = (new_home(), super::server::Server::start());
    let url = server.url.as_str();
    home.json(0, &["model", "install", "desk", "--url", url, "--model", "bags"]);
    home.run(&["init", "--embedder", "desk"]).expect_code(0);
    home.run(&["add", SHIP, "--id", "ship"]).expect_code(0);
    server.fall_silent();
    let found = home.json(0, &["search", "harbour"]);
    assert_eq!(ids(&found["hits"]), ["ship"]);
    let said = found.to_string();
    assert!(said.contains("did not answer in time"), "{said}");
}
