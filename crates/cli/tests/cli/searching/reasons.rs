//! What is missing is said: legs that did not reach everything, and drawers that were not found.

use serde_json::json;

use super::*;

#[test]
fn a_palace_without_a_model_warns_and_still_finds() {
    let home = new_home();
    home.run(&["init", "--embedder", "none"]).expect_code(0);
    home.run(&["add", "The ferry leaves at nine.", "--id", "a"])
        .expect_code(0);
    let answer = home.json(0, &["search", "ferry"]);
    assert_eq!(found(&answer), ["a"]);
    let leg = &answer["legs"]["nearest"];
    assert_eq!((&leg["ran"], &leg["coverage"]), (&json!(false), &json!(0.0)));
    assert!(leg["reason"].as_str().unwrap().contains("no model"), "{leg}");
    assert_eq!(answer["warnings"][0]["code"], "nearest_missing");
    let words = home
        .run(&["search", "ferry", "--quiet", "--explain"])
        .expect_code(0);
    assert!(
        words.err.contains("warning: nothing was searched by meaning"),
        "{words:?}"
    );
    assert!(
        words.err.contains("hint: ") && words.out.contains("meaning: did not run"),
        "{words:?}"
    );
}

#[test]
fn a_model_whose_server_is_gone_warns_and_words_still_find() {
    let (home, server) = (new_home(), crate::server::Server::start());
    let install = [
        "model",
        "install",
        "desk",
        "--url",
        &server.url,
        "--model",
        "bags",
    ];
    home.json(0, &install);
    home.run(&["init", "--embedder", "desk"]).expect_code(0);
    home.run(&["add", "The ferry leaves at nine.", "--id", "a"])
        .expect_code(0);
    assert_eq!(home.json(0, &["search", "ferry"])["warnings"], json!([]));
    home.json(0, &["model", "remove", "desk"]);
    home.run(&["add", "Another ferry leaves at ten.", "--id", "b"])
        .expect_code(0);
    let alone = home.json(0, &["search", "ferry"]);
    assert_eq!(found(&alone).len(), 2);
    assert_eq!(alone["legs"]["nearest"]["ran"], false);
    assert_eq!(alone["warnings"][0]["code"], "nearest_missing");
    home.json(0, &install);
    let half = home.json(0, &["search", "ferry"]);
    assert_eq!(half["legs"]["nearest"]["coverage"], 0.5);
    assert_eq!(half["warnings"][0]["code"], "nearest_incomplete");
    let told = home.json(0, &["why-not", "b", "zebra"]);
    assert_eq!(told["reasons"][0]["code"], "no_vector");
}

#[test]
fn why_not_names_the_reason_and_ends_with_0() {
    let home = home();
    let codes = |args: &[&str]| {
        let told = home.json(0, &[&["why-not"], args].concat());
        assert_eq!(told["found"], Json::Null);
        let reasons = told["reasons"].as_array().unwrap().iter();
        reasons
            .map(|reason| reason["code"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&["note", "ferry", "--wing", "work"]), ["filtered"]);
    assert_eq!(codes(&["talk-3", "ferry"]), ["tool_output"]);
    assert_eq!(codes(&["talk-0", "ferry", "-n", "1"]), ["outranked", "no_words"]);
    assert_eq!(
        codes(&["talk-1", "ferry friday", "-n", "1"]),
        ["outranked", "lacks_words"]
    );
    home.run(&["add", "the FERRY leaves, at nine on friday!", "--id", "zz"])
        .expect_code(0);
    let twins = home.json(0, &["search", "ferry leaves friday", "-n", "1"]);
    let away = if found(&twins) == ["zz"] { "talk-2" } else { "zz" };
    assert_eq!(codes(&[away, "ferry leaves friday", "-n", "1"]), ["folded"]);
    let words = home.run(&["why-not", "talk-3", "ferry"]).expect_code(0);
    assert!(
        words.out.starts_with("talk-3 is not found\n") && words.out.contains("--tools"),
        "{words:?}"
    );
}

#[test]
fn why_not_of_what_is_found_ends_with_1_and_of_what_is_not_there_with_2() {
    let home = home();
    let told = home.json(1, &["why-not", "talk-2", "ferry friday"]);
    assert_eq!((&told["found"], &told["reasons"]), (&json!(1), &json!([])));
    let words = home.run(&["why-not", "talk-2", "ferry friday"]).expect_code(1);
    assert!(
        words.out.starts_with("talk-2 is found: hit number 1\n"),
        "{words:?}"
    );
    let (kind, said) = home.run(&["--json", "why-not", "nobody", "ferry"]).expect_error();
    assert!(
        kind == "not_found" && said.contains("nobody") && said.contains("loci list"),
        "{said}"
    );
    let words = home.run(&["why-not", "nobody", "ferry"]).expect_code(2);
    assert!(words.out.is_empty() && words.err.contains("hint:"), "{words:?}");
    for args in [
        &["--json", "why-not", "talk-2", " "][..],
        &["--json", "why-not", "talk-2"],
    ] {
        assert_eq!(home.run(args).expect_error().0, "invalid", "{args:?}");
    }
}
