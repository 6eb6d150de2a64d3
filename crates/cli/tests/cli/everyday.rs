//! Looking around a palace: wings, rooms, one drawer, its neighbours, what was said when.

mod shells;

use serde_json::json;

use super::*;

/// Escape codes, bidi overrides and a line break.
const EVIL: &str = "\u{1b}[2J\u{202e}\u{9b}\u{7}\u{2066}\nx";

/// A few drawers, three of them pieces of one source, whose ids are in another order than the pieces.
fn home() -> TempHome {
    let home = new_home();
    let piece = |id: &str, start: u64, text: &str| {
        json!({"id": id, "document": text, "wing": "work", "room": "plans", "source": "talk.jsonl", "speaker": "user",
            "kind": "message", "said_at": "2026-05-01T09:30:00Z", "metadata": {"title": "The plan", "thread_id": "t-1"},
            "span": {"start": start, "end": start + 10, "line_start": start + 1, "line_end": start + 2}})
        .to_string()
    };
    home.file_lines(
        &[
            piece("abcdef-3", 0, "first\n"),
            piece("abcdef-1", 10, "second \u{1b}[2J\nof two lines\n"),
            piece("abcdxx-2", 20, "third"),
            json!({"id": "note", "document": "n", "wing": "home", "said_at": "2026-06-15"}).to_string(),
            json!({"id": "bare", "document": "b"}).to_string(),
        ]
        .join("\n"),
    );
    home
}

/// The commands of this file that read a palace, with arguments that find something in [`home`].
const READERS: [&[&str]; 6] = [
    &["wings"],
    &["wings", "--by", "wing,room"],
    &["show", "abcdef-1", "note"],
    &["neighbours", "abcdef-1"],
    &["timeline"],
    &["timeline", "--newest", "--limit", "1"],
];

#[test]
fn wings_come_with_the_most_drawers_first() {
    let home = home();
    assert_eq!(
        home.json(0, &["wings"]),
        json!({"facets": [
            {"wing": "work", "drawers": 3},
            {"wing": null, "drawers": 1},
            {"wing": "home", "drawers": 1},
        ], "warnings": []})
    );
    let words = home.run(&["wings"]).expect_code(0);
    assert_eq!(words.out, "       3  work\n       1  -\n       1  home\n");
    assert_eq!(words.err, "");
    let first = home.run(&["wings", "-n", "1"]).expect_code(0);
    assert_eq!(first.out, "       3  work\n");
    assert_eq!(first.err, "1 of 3 shown; raise -n to see more\n");
}

#[test]
fn rooms_come_with_the_most_drawers_first_or_of_one_wing() {
    let home = home();
    home.run(&["add", "x", "--wing", "home", "--room", "garden"])
        .expect_code(0);
    home.run(&["add", "y", "--wing", "home", "--room", "garden"])
        .expect_code(0);
    assert_eq!(
        home.json(0, &["wings", "--by", "wing,room"]),
        json!({"facets": [
            {"wing": "work", "room": "plans", "drawers": 3},
            {"wing": "home", "room": "garden", "drawers": 2},
            {"wing": null, "room": null, "drawers": 1},
            {"wing": "home", "room": null, "drawers": 1},
        ], "warnings": []})
    );
    let of_one = json!({"facets": [{"wing": "work", "room": "plans", "drawers": 3}], "warnings": []});
    assert_eq!(
        home.json(0, &["wings", "--by", "wing,room", "--wing", "work"]),
        of_one
    );
    assert_eq!(
        home.json(0, &["wings", "--by", "wing,room", "--wing", "WORK"]),
        of_one
    );
    let words = home
        .run(&["wings", "--by", "wing,room", "--wing", "home"])
        .expect_code(0);
    assert_eq!(words.out, "       2  home / garden\n       1  home / -\n");
}

#[test]
fn a_name_that_is_not_there_is_answered_with_those_that_look_alike() {
    let home = home();
    for (args, note) in [
        (
            &["wings", "--by", "wing,room", "--wing", "wrok"][..],
            "warning: wing \"wrok\" does not exist; did you mean \"work\"?\n",
        ),
        (
            &["timeline", "--wing", "wrok"],
            "warning: wing \"wrok\" does not exist; did you mean \"work\"?\n",
        ),
        (
            &["timeline", "--wing", "work", "--room", "plan"],
            "warning: room \"plan\" does not exist; did you mean \"plans\"?\n",
        ),
        (
            &["wings", "--by", "wing,room", "--wing", "zebra"],
            "warning: wing \"zebra\" does not exist\n",
        ),
        (
            &["timeline", "--since", "2030-01-01", "--wing", "home"],
            "nothing found\n",
        ),
    ] {
        let ran = home.run(args).expect_code(1);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", note), "{args:?}");
        let quiet = home.run(&[args, &["--quiet"]].concat()).expect_code(1);
        let warned = if note.starts_with("warning") { note } else { "" };
        assert_eq!(quiet.err, warned, "warnings are said even then: {args:?}");
    }
    let none = home.json(1, &["wings", "--by", "wing,room", "--wing", "wrok"]);
    assert_eq!(none["facets"], json!([]));
    assert_eq!(none["warnings"][0]["code"], "unknown_wing", "{none}");
}

#[test]
fn a_drawer_is_shown_whole_and_what_to_type_next_is_told_aside() {
    let home = home();
    let shown = home.run(&["show", "abcdef-1"]).expect_code(0);
    let (head, text) = shown.out.split_once("\n\n").unwrap();
    let head: Vec<&str> = head.lines().collect();
    assert_eq!(
        head[..7],
        [
            "abcdef-1",
            "place    work / plans",
            "source   talk.jsonl lines 11 to 12",
            "speaker  user",
            "kind     message",
            "trust    user",
            "said     2026-05-01 09:30 UTC",
        ]
    );
    assert!(head[7].starts_with("filed    20"), "{head:?}");
    assert_eq!(head[8..], ["title    The plan", "thread   t-1"]);
    assert_eq!(text, "second \\u{1b}[2J\nof two lines\n");
    assert_eq!(
        shown.err,
        "more: loci neighbours abcdef-1\nmore: loci cat talk.jsonl\n"
    );
    assert_eq!(home.run(&["show", "abcdef-1", "-q"]).expect_code(0).err, "");
    assert_eq!(
        home.run(&["show", "note"]).expect_code(0).err,
        "",
        "nothing stands around it"
    );
}

#[test]
fn show_lists_ids_that_no_drawer_has_once() {
    let home = home();
    let some = home.json(0, &["show", "abcdef-1", "nowhere", "note", "nowhere"]);
    assert_eq!(ids(&some["drawers"]), ["abcdef-1", "note"]);
    assert_eq!(some["missing"], json!(["nowhere"]));
    assert_eq!(
        home.json(1, &["show", "nowhere"]),
        json!({"drawers": [], "missing": ["nowhere"]})
    );
    let words = home.run(&["show", "nowhere"]).expect_code(1);
    assert_eq!(
        (words.out.as_str(), words.err.as_str()),
        ("", "drawer \"nowhere\" does not exist\n")
    );
}

#[test]
fn the_beginning_of_an_id_stands_for_it_where_no_other_begins_so() {
    let home = home();
    let shown = |id: &str| home.json(0, &["show", id]);
    assert_eq!(ids(&shown("abcdxx")["drawers"]), ["abcdxx-2"]);
    assert_eq!(ids(&shown("abcdef-1")["drawers"]), ["abcdef-1"]);
    assert_eq!(
        home.json(1, &["show", "abcdx"])["missing"],
        json!(["abcdx"]),
        "too short"
    );
    for command in ["show", "neighbours"] {
        let (kind, text) = home.run(&["--json", command, "abcdef"]).expect_error();
        assert_eq!(kind, "invalid");
        assert!(
            text.contains("abcdef-1, abcdef-3") && !text.contains("abcdxx"),
            "{text}"
        );
    }
    home.file_lines(r#"{"id":"abcdef","document":"itself"}"#);
    assert_eq!(ids(&shown("abcdef")["drawers"]), ["abcdef"]);
    let lines: Vec<String> = (0..20)
        .map(|n| json!({"id": format!("many-{n:02}"), "document": ""}).to_string())
        .collect();
    home.file_lines(&lines.join("\n"));
    let (_, text) = home.run(&["--json", "show", "many-0", "many-1"]).expect_error();
    assert!(
        text.contains("many-07 and more") && !text.contains("many-08"),
        "{text}"
    );
}

#[test]
fn neighbours_stand_in_the_order_of_the_source() {
    let home = home();
    let found = home.json(0, &["neighbours", "abcdef-1"]);
    assert_eq!(ids(&found["drawers"]), ["abcdef-3", "abcdef-1", "abcdxx-2"]);
    assert_eq!(
        (&found["at"], &found["drawers"][2]["text"]),
        (&json!(1), &json!("third"))
    );
    let found = home.json(0, &["neighbours", "abcdef-1", "--before", "0", "--after", "1"]);
    assert_eq!(
        (ids(&found["drawers"]), &found["at"]),
        (vec!["abcdef-1", "abcdxx-2"], &json!(0))
    );
    let found = home.json(0, &["neighbours", "abcdxx", "-n", "1"]);
    assert_eq!(
        (ids(&found["drawers"]), &found["at"]),
        (vec!["abcdef-1", "abcdxx-2"], &json!(1))
    );
    let words = home.run(&["neighbours", "abcdxx", "-n", "1"]).expect_code(0);
    assert_eq!(
        words.out,
        "source talk.jsonl\n\n── abcdef-1 · lines 11 to 12 · user · trust user · 2026-05-01 09:30 UTC\nsecond \\u{1b}[2J\nof two lines\n\
         \n─▶ abcdxx-2 · lines 21 to 22 · user · trust user · 2026-05-01 09:30 UTC\nthird\n"
    );
    assert_eq!(
        home.json(1, &["neighbours", "nowhere"]),
        json!({"drawers": [], "at": null})
    );
    let ran = home.run(&["neighbours", "note"]).expect_code(2);
    assert!(
        ran.err.contains("\"note\" was not cut from a source") && ran.err.contains("loci show"),
        "{ran:?}"
    );
    home.run(&["neighbours", "note", "-n", "1", "--after", "2"])
        .expect_code(2);
}

#[test]
fn the_neighbours_of_a_mined_file_are_its_pieces() {
    let home = new_home();
    let text: String = (0..80)
        .map(|n| format!("Paragraph {n} of a long file, about nothing much at all.\n\n"))
        .collect();
    let file = home.write("long.md", &text);
    home.run(&["mine", &file, "--wing", "w"]).expect_code(0);
    let listed = home.json(0, &["list"]);
    let first = listed["drawers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["span"]["start"] == 0)
        .unwrap();
    let found = home.json(
        0,
        &["neighbours", first["id"].as_str().unwrap(), "--after", "9999"],
    );
    let pieces = found["drawers"].as_array().unwrap().iter();
    let whole: String = pieces.map(|piece| piece["text"].as_str().unwrap()).collect();
    assert!(found["drawers"].as_array().unwrap().len() > 3);
    assert_eq!(whole, text);
}

#[test]
fn a_timeline_counts_by_period_and_source() {
    let home = home();
    let talk = json!([{"source": "talk.jsonl", "drawers": 3}]);
    let may = json!({"from": "2026-05-01T00:00:00Z", "before": "2026-05-02T00:00:00Z", "drawers": 3,
        "sources": talk, "more_sources": 0});
    let june = json!({"from": "2026-06-15T00:00:00Z", "before": "2026-06-16T00:00:00Z", "drawers": 1,
        "sources": [{"source": null, "drawers": 1}], "more_sources": 0});
    assert_eq!(
        home.json(0, &["timeline"]),
        json!({"periods": [may, june], "undated": 1, "warnings": []})
    );
    assert_eq!(
        home.json(0, &["timeline", "--newest", "--limit", "1"]),
        json!({"periods": [june], "undated": 1, "next": "2026-05-02T00:00:00Z", "warnings": []})
    );
    assert_eq!(
        home.json(
            0,
            &[
                "timeline",
                "--since",
                "2026-05-01",
                "--before",
                "2026-05-02",
                "--wing",
                "work"
            ]
        ),
        json!({"periods": [may], "undated": 0, "warnings": []})
    );
    let ran = home
        .run(&["timeline", "--by", "month", "--limit", "1"])
        .expect_code(0);
    assert_eq!(ran.out, "2026-05       3  talk.jsonl (3)\n");
    assert_eq!(
        ran.err,
        "1 period shown; continue with --since 2026-06-01T00:00:00Z\n\
         not shown: 1 drawer without a time; --filed uses the time they were filed\n"
    );
    let by_year = home
        .run(&["timeline", "--by", "year", "--sources", "0", "-q"])
        .expect_code(0);
    assert_eq!(
        (by_year.out.as_str(), by_year.err.as_str()),
        ("2026       4  2 sources\n", "")
    );
    let filed = home.json(0, &["timeline", "--filed", "--by", "year"]);
    assert_eq!(
        (&filed["periods"][0]["drawers"], &filed["undated"]),
        (&json!(5), &json!(0))
    );
    for wrong in [["--since", "someday"], ["--by", "hour"], ["--limit", "0"]] {
        let args = [&["--json", "timeline"], &wrong[..]].concat();
        assert_eq!(home.run(&args).expect_error().0, "invalid", "{wrong:?}");
    }
}

#[test]
fn an_empty_palace_has_nothing_and_a_missing_one_is_an_error() {
    let home = new_home();
    for args in READERS {
        let ran = home.run(args).expect_code(2);
        assert!(
            ran.err.contains("no palace exists") && ran.err.contains("loci init"),
            "{args:?}: {ran:?}"
        );
        assert_eq!(
            home.run(&[&["--json"], args].concat()).expect_error().0,
            "not_found",
            "{args:?}"
        );
    }
    assert_eq!(home.list_names(), Vec::<String>::new());
    home.run(&["init"]).expect_code(0);
    for args in READERS {
        let ran = home.run(args).expect_code(1);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{args:?}: {ran:?}");
        assert_eq!(
            home.run(&[args, &["--quiet"]].concat()).expect_code(1).err,
            "",
            "{args:?}"
        );
    }
    assert_eq!(home.json(1, &["wings"]), json!({"facets": [], "warnings": []}));
    assert_eq!(
        home.json(1, &["wings", "--by", "wing,room"]),
        json!({"facets": [], "warnings": []})
    );
    assert_eq!(
        home.json(1, &["timeline"]),
        json!({"periods": [], "undated": 0, "warnings": []})
    );
}

#[test]
fn hostile_names_never_reach_a_terminal_raw() {
    let home = new_home();
    let id = format!("id-{EVIL}");
    home.file_lines(
        &json!({"id": id, "document": format!("doc{EVIL}"), "wing": EVIL, "room": EVIL, "source": EVIL, "speaker": EVIL,
            "kind": EVIL, "said_at": "2026-05-01", "metadata": {"title": EVIL, "thread_id": EVIL, EVIL: EVIL},
            "span": {"start": 0, "end": 1, "line_start": 1, "line_end": 1}})
        .to_string(),
    );
    let almost = format!("{EVIL}y");
    for args in [
        &["wings"][..],
        &["wings", "--by", "wing,room"],
        &["wings", "--by", "wing,room", "--wing", EVIL],
        &["wings", "--by", "wing,room", "--wing", &almost],
        &["show", &id],
        &["show", EVIL],
        &["neighbours", &id],
        &["neighbours", EVIL],
        &["timeline"],
        &["timeline", "--wing", EVIL, "--room", &almost],
    ] {
        let ran = home.run(args);
        let raw = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{2069}').contains(&c);
        assert!(
            !ran.out.contains(raw) && !ran.err.contains(raw),
            "{args:?}: {ran:?}"
        );
        assert!(!(ran.out.is_empty() && ran.err.is_empty()), "{args:?}");
    }
    let shown = home.run(&["wings"]).expect_code(0).out;
    assert_eq!(
        shown.lines().count(),
        1,
        "a line break in a name breaks no line: {shown}"
    );
    assert_eq!(
        home.json(0, &["wings", "--by", "wing,room", "--wing", EVIL])["facets"][0]["room"],
        EVIL
    );
    let note = home
        .run(&["wings", "--by", "wing,room", "--wing", &almost])
        .expect_code(1)
        .err;
    assert!(
        note.contains("did you mean") && note.lines().count() == 1,
        "{note}"
    );
    assert_eq!(
        home.run(&["show", &id]).expect_code(0).err,
        "",
        "what cannot be typed is not told to be typed"
    );
}
