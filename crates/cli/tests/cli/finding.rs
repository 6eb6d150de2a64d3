//! Finding drawers by vector and by words, and counting them.

use serde_json::json;

use super::*;

fn home() -> TempHome {
    let home = new_home();
    home.file_lines(concat!(
        "{\"id\":\"a\",\"document\":\"We ship on Friday.\",\"wing\":\"work\",\"room\":\"plans\",\"embedding\":[1,0,0]}\n",
        "{\"id\":\"b\",\"document\":\"The shipment is late.\",\"wing\":\"work\",\"room\":\"post\",\"embedding\":[0.9,0.1,0]}\n",
        "{\"id\":\"c\",\"document\":\"A quiet garden.\",\"wing\":\"home\",\"embedding\":[0,0,1]}\n",
        "{\"id\":\"d\",\"document\":\"No vector here, friday or not.\"}\n",
    ));
    home
}

#[test]
fn a_vector_finds_the_nearest_first() {
    let home = home();
    let found = home.json(0, &["search", "--vector", "[1,0,0]", "-n", "2"]);
    assert_eq!(ids(&found["hits"]), ["a", "b"]);
    assert!(
        found["hits"][0]["distance"].as_f64().unwrap().abs() < 1e-5,
        "{found}"
    );
    assert_eq!(found["hits"][0]["text"], "We ship on Friday.");
    assert_eq!(found["hits"][0]["metadata"], json!({}));
    assert_eq!(
        found["legs"]["nearest"]["coverage"], 0.75,
        "one of four has no vector: {found}"
    );
    assert_eq!(found["legs"]["lexical"]["ran"], false);
    assert_eq!(found["warnings"][0]["code"], "nearest_incomplete", "{found}");
    let file = home.write("vector.json", " [0, 0, 1]\n");
    let found = home.json(0, &["search", "--vector", &format!("@{file}"), "-n", "1"]);
    assert_eq!(ids(&found["hits"]), ["c"]);
    let found = home.json(
        0,
        &["search", "--vector", "[1,0,0]", "--where", r#"{"wing":"home"}"#],
    );
    assert_eq!(ids(&found["hits"]), ["c"]);
    let none = home.json(1, &["search", "--vector", "[1,0,0]", "--wing", "nowhere"]);
    assert_eq!(none["hits"], json!([]));
}

#[test]
fn words_find_what_holds_any_of_them() {
    let home = home();
    let found = home.json(0, &["search", "--only", "words", "friday", "ship"]);
    let mut hits = ids(&found["hits"]);
    assert_eq!(hits[0], "a", "{found}");
    hits.sort_unstable();
    assert!(hits.contains(&"d"), "{found}");
    assert!(found["hits"][0]["score"].as_f64().unwrap() > 0.0);
    let found = home.json(
        0,
        &["search", "--only", "words", "friday", "--wing", "work", "-n", "1"],
    );
    assert_eq!(ids(&found["hits"]), ["a"]);
    assert_eq!(
        home.json(1, &["search", "--only", "words", "zebra"])["hits"],
        json!([])
    );
}

#[test]
fn counts_and_facets_come_from_the_store() {
    let home = home();
    assert_eq!(home.json(0, &["count"]), json!({"count": 4, "warnings": []}));
    assert_eq!(
        home.json(0, &["count", "--where", r#"{"wing":"work"}"#]),
        json!({"count": 2, "warnings": []})
    );
    assert_eq!(
        home.json(0, &["count", "--where", r#"{"wing":"no"}"#]),
        json!({"count": 0, "warnings": []})
    );
    assert_eq!(
        home.json(0, &["wings", "--by", "wing,room"]),
        json!({"facets": [
            {"wing": null, "room": null, "drawers": 1},
            {"wing": "home", "room": null, "drawers": 1},
            {"wing": "work", "room": "plans", "drawers": 1},
            {"wing": "work", "room": "post", "drawers": 1},
        ], "warnings": []})
    );
    assert_eq!(
        home.json(0, &["wings", "--by", "wing", "--where", r#"{"wing":"work"}"#]),
        json!({"facets": [{"wing": "work", "drawers": 2}], "warnings": []})
    );
    assert_eq!(
        home.run(&["--json", "wings", "--by", "colour"]).expect_error().0,
        "invalid"
    );
}

#[test]
fn status_shows_wings_rooms_embedder_and_coverage() {
    let home = home();
    let status = home.json(0, &["status"]);
    assert_eq!(status["drawers"], 4);
    assert_eq!(status["backend"], "embedded");
    assert_eq!(status["palace"], home.palace().to_str().unwrap());
    assert_eq!(
        status["wings"][0],
        json!({"wing": "work", "drawers": 2, "rooms": [
        {"room": "plans", "drawers": 1}, {"room": "post", "drawers": 1}]})
    );
    let embedder = json!({"model": "given", "revision": "1", "dimension": 3, "state": "known"});
    assert_eq!(status["embedder"], embedder);
    assert_eq!(
        (&status["coverage"]["nearest"], &status["coverage"]["lexical"]),
        (&json!(3), &json!(4))
    );
    let words = home.run(&["status"]).expect_code(0);
    assert!(
        words.out.contains("work") && words.out.contains("given, 3 dimensions"),
        "{words:?}"
    );
}

#[test]
fn people_see_where_and_when() {
    let home = home();
    let words = home
        .run(&["search", "--vector", "[1,0,0]", "-n", "1"])
        .expect_code(0);
    assert!(
        words.out.starts_with("1. work / plans · trust user · 20"),
        "{words:?}"
    );
    assert!(
        words.out.ends_with("UTC\n   We ship on Friday.\n   a\n"),
        "{words:?}"
    );
    let explained = home
        .run(&["search", "--vector", "[1,0,0]", "-n", "1", "--explain"])
        .expect_code(0);
    assert!(
        explained.out.contains("   distance 0.0000 · score"),
        "{explained:?}"
    );
    let nothing = home.run(&["search", "--only", "words", "zebra"]).expect_code(1);
    assert_eq!(
        (nothing.out.as_str(), nothing.err.as_str()),
        ("", "nothing found in 4 drawers\n")
    );
    let quiet = home
        .run(&["search", "--only", "words", "zebra", "--quiet"])
        .expect_code(1);
    assert_eq!(quiet.err, "");
}

#[test]
fn color_is_used_only_when_asked_for_or_on_a_terminal() {
    let home = home();
    let color = |args: &[&str]| home.run(args).expect_code(0).out.contains('\u{1b}');
    assert!(!color(&["show", "a"]));
    assert!(color(&["show", "a", "--color", "always"]));
    assert!(!color(&["show", "a", "--color", "never"]));
    assert!(!color(&["show", "a", "--color", "always", "--json"]));
}
