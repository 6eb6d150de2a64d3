//! One scope at every command: the same flags, one rule for unknown names, one for times, lists in every order.

use loci_testkit::TempHome;
use serde_json::{Value as Json, json};

use super::{ids, new_home};

/// Drawers in two wings, of a conversation and a note.
fn home() -> TempHome {
    let home = new_home();
    let said = |id: &str, at: &str, start: usize, speaker: &str, kind: &str, text: &str| {
        json!({"id": id, "document": text, "wing": "work", "room": "plans", "source": "/talks/ferry.jsonl",
            "speaker": speaker, "kind": kind, "said_at": at,
            "span": {"start": start, "end": start + 5, "line_start": 1, "line_end": 1}})
    };
    let lines = [
        said(
            "talk-2",
            "2026-05-03",
            0,
            "Ada",
            "human",
            "The ferry leaves at nine.",
        ),
        said(
            "talk-1",
            "2026-05-02",
            10,
            "Bob",
            "assistant",
            "The ferry leaves at ten.",
        ),
        json!({"id": "note-1", "document": "The ferry is red.", "wing": "home", "room": "garden", "said_at": "2026-05-01"}),
    ];
    home.file_lines(&lines.map(|line| line.to_string()).join("\n"));
    home
}

/// Every command that takes a scope, with what else it needs.
const SCOPED: [&[&str]; 14] = [
    &["search", "ferry"],
    &["why-not", "note-1", "ferry"],
    &["list"],
    &["count"],
    &["wings", "--by", "wing,room"],
    &["wings"],
    &["wings", "--by", "wing,room"],
    &["delete"],
    &["move", "--to-wing", "sea"],
    &["export"],
    &["timeline"],
    &["wake-up"],
    &["search", "--only", "meaning", "ferry"],
    &["search", "--only", "words", "ferry"],
];

#[test]
fn an_unknown_name_is_an_empty_answer_with_a_warning_that_names_the_nearest() {
    let home = home();
    let names = [
        ("wing", "wrk", "work"),
        ("room", "plan", "plans"),
        ("source", "/talks/fery.jsonl", "/talks/ferry.jsonl"),
        ("speaker", "Adda", "Ada"),
    ];
    for command in SCOPED {
        for (field, asked, nearest) in names {
            let flag = format!("--{field}");
            let args = [command, &[flag.as_str(), asked]].concat();
            let told = format!("{field} {asked:?} does not exist; did you mean {nearest:?}?");
            // Why a drawer is not found is an answer, whatever the scope.
            let explains = command[0] == "why-not";
            let words = home.run(&args).expect_code(if explains { 0 } else { 1 });
            assert!(words.err.contains(&told), "{args:?}: {words:?}");
            if command[0] == "export" {
                assert_eq!(words.out.lines().count(), 1, "only the header: {args:?}");
                continue;
            }
            let answer = home.json(if explains { 0 } else { 1 }, &args);
            let codes: Vec<&str> = answer["warnings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|warning| warning["code"].as_str().unwrap())
                .collect();
            assert!(
                codes.contains(&format!("unknown_{field}").as_str()),
                "{args:?}: {answer}"
            );
        }
    }
    assert_eq!(home.json(0, &["count"])["count"], 3, "nothing was changed");
}

#[test]
fn an_unknown_palace_or_collection_is_not_found() {
    let home = home();
    for command in SCOPED {
        // A scope comes first where drawers are changed by it.
        for place in [["--palace", "nowhere"], ["--collection", "nothing"]] {
            let args = [&["--json"], command, &["--wing", "work"], &place[..]].concat();
            assert_eq!(home.run(&args).expect_error().0, "not_found", "{args:?}");
        }
    }
    let args = ["--json", "cat", "ferry.jsonl", "--palace", "nowhere"];
    assert_eq!(home.run(&args).expect_error().0, "not_found");
}

#[test]
fn since_must_be_earlier_than_before_at_every_command() {
    let home = home();
    for command in SCOPED {
        for times in [["2026-05-02", "2026-05-01"], ["2026-05-02", "2026-05-02"]] {
            let args = [&["--json"], command, &["--since", times[0], "--before", times[1]]].concat();
            let (kind, message) = home.run(&args).expect_error();
            assert_eq!(kind, "invalid", "{args:?}: {message}");
        }
        let args = [&["--json"], command, &["--since", "someday"]].concat();
        assert_eq!(home.run(&args).expect_error().0, "invalid", "{args:?}");
    }
    assert_eq!(home.json(0, &["count"])["count"], 3, "nothing was changed");
}

#[test]
fn every_flag_narrows_and_all_of_them_together() {
    let home = home();
    for (flags, expect) in [
        (&["--wing", "WORK"][..], &["talk-1", "talk-2"][..]),
        (&["--room", "garden"], &["note-1"]),
        (&["--source", "/talks/ferry.jsonl"], &["talk-1", "talk-2"]),
        (&["--source", "ferry.jsonl"], &["talk-1", "talk-2"]),
        (&["--speaker", "Ada"], &["talk-2"]),
        (&["--kind", "assistant"], &["talk-1"]),
        (&["--since", "2026-05-02"], &["talk-1", "talk-2"]),
        (&["--before", "2026-05-02"], &["note-1"]),
        (&["--where", r#"{"room":"plans"}"#], &["talk-1", "talk-2"]),
        (&["--contains", "leaves"], &["talk-1", "talk-2"]),
        (
            &[
                "--contains",
                "ten",
                "--wing",
                "work",
                "--since",
                "2026-05-01",
                "--speaker",
                "Bob",
            ],
            &["talk-1"],
        ),
    ] {
        let list = home.json(0, &[&["list"], flags].concat());
        assert_eq!(ids(&list["drawers"]), expect, "{flags:?}");
        let count = home.json(0, &[&["count"], flags].concat());
        assert_eq!(count["count"], expect.len(), "{flags:?}");
        for command in [
            &["search", "ferry"][..],
            &["search", "--only", "words", "ferry"],
            &["search", "--only", "meaning", "ferry"],
        ] {
            let answer = home.json(0, &[command, flags].concat());
            let mut hits = ids(&answer["hits"]);
            hits.sort_unstable();
            assert_eq!(hits, expect, "{command:?} {flags:?}");
        }
        let exported = home.run(&[&["export"], flags].concat()).expect_code(0).out;
        let mut lines: Vec<String> = exported
            .lines()
            .filter_map(|line| {
                serde_json::from_str::<Json>(line).unwrap()["id"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, expect, "{flags:?}");
    }
}

#[test]
fn a_search_for_text_that_contains_something_finds_only_that() {
    let home = home();
    let found = home.json(0, &["search", "ferry", "--contains", "at nine"]);
    assert_eq!(ids(&found["hits"]), ["talk-2"]);
    assert_eq!(found["in_scope"], 1);
    let none = home.json(1, &["search", "ferry", "--contains", "at NINE"]);
    assert_eq!(none["hits"], json!([]));
}

/// The ids of a list, three at a time.
fn listed(home: &TempHome, order: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["list", "--order", order, "-n", "3"];
        args.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor.as_str()]));
        let page = home.json(0, &args);
        let drawers = ids(&page["drawers"]);
        assert!(drawers.len() <= 3);
        seen.extend(drawers.into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return seen,
        }
    }
}

#[test]
fn a_list_goes_page_by_page_through_every_order() {
    let home = new_home();
    // Filed one after the other, said in reverse, and cut from two sources in yet another order; some have neither.
    let drawers = (0..10).map(|n| {
        let mut drawer = json!({"id": format!("d{n}"), "document": format!("{n}"),
            "filed_at": format!("2026-05-{:02}", n + 1)});
        if n < 8 {
            drawer["said_at"] = json!(format!("2025-05-{:02}", 20 - n));
            drawer["source"] = json!(if n % 2 == 0 { "even.md" } else { "odd.md" });
            drawer["span"] = json!({"start": 100 - n, "end": 101 - n, "line_start": 1, "line_end": 1});
        }
        drawer.to_string()
    });
    home.file_lines(&drawers.collect::<Vec<_>>().join("\n"));
    let named = |numbers: &[u8]| numbers.iter().map(|n| format!("d{n}")).collect::<Vec<_>>();
    assert_eq!(listed(&home, "id"), named(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(listed(&home, "filed"), named(&[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]));
    assert_eq!(listed(&home, "said"), named(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(listed(&home, "source"), named(&[6, 4, 2, 0, 7, 5, 3, 1, 8, 9]));
    let next = home.json(0, &["list", "--order", "said", "-n", "3"])["next"].clone();
    let next = next.as_str().unwrap();
    for args in [
        &["--json", "list", "--order", "filed", "--cursor", next][..],
        &["--json", "list", "--cursor", "d3"],
        &["--json", "list", "--order", "size"],
    ] {
        assert_eq!(home.run(args).expect_error().0, "invalid", "{args:?}");
    }
}

#[test]
fn a_search_goes_on_where_the_page_before_ended() {
    let home = new_home();
    let lines = (0..25)
        .map(|n| json!({"id": format!("d{n:02}"), "document": format!("ferry number {n}")}).to_string());
    home.file_lines(&lines.collect::<Vec<_>>().join("\n"));
    let whole = home.json(0, &["search", "ferry", "-n", "30"]);
    let mut seen: Vec<String> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["search", "ferry", "-n", "7"];
        args.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor.as_str()]));
        let page = home.json(0, &args);
        seen.extend(ids(&page["hits"]).into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let mut all: Vec<&str> = seen.iter().map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), seen.len(), "no drawer comes twice");
    let mut expect = ids(&whole["hits"]);
    expect.sort_unstable();
    assert_eq!(all, expect);
    let first = home.json(0, &["search", "ferry", "-n", "7"]);
    let cursor = first["next"].as_str().unwrap();
    let words = home
        .run(&["search", "ferry", "-n", "7", "--cursor", cursor])
        .expect_code(0);
    assert!(words.err.contains("more hits: --cursor 14."), "{words:?}");
    for query in [&["boat"][..], &["ferry", "--wing", "work"]] {
        let args = [&["--json", "search"], query, &["--cursor", cursor]].concat();
        assert_eq!(
            home.run(&args).expect_error().0,
            "invalid",
            "another question: {args:?}"
        );
    }
}

#[test]
fn nothing_is_moved_without_a_yes() {
    let home = home();
    let by_scope = ["move", "--wing", "work", "--to-wing", "sea"];
    let dry = home.json(0, &by_scope);
    assert_eq!((&dry["matched"], &dry["moved"]), (&json!(2), &json!(0)));
    assert_eq!(home.json(0, &["count", "--wing", "work"])["count"], 2);
    let words = home.run(&by_scope).expect_code(0);
    assert!(
        words.out.contains("2 drawers would be moved") && words.err.contains("--yes"),
        "{words:?}"
    );
    let moved = home.json(0, &[&by_scope[..], &["--yes"]].concat());
    assert_eq!((&moved["matched"], &moved["moved"]), (&json!(2), &json!(2)));
    assert_eq!(home.json(0, &["count", "--wing", "sea"])["count"], 2);
}

#[test]
fn the_beginning_of_an_id_will_do_at_every_command() {
    let home = new_home();
    home.file_lines(r#"{"id":"abcdefgh-1","document":"The ferry is red.","source":"/s","span":{"start":0,"end":9,"line_start":1,"line_end":1}}"#);
    for command in ["show", "neighbours"] {
        let shown = home.json(0, &[command, "abcdef"]);
        assert_eq!(ids(&shown["drawers"]), ["abcdefgh-1"], "{command}");
        assert_eq!(shown["drawers"][0]["text"], "The ferry is red.");
        assert_eq!(shown["drawers"][0]["trust"], "user");
    }
    assert_eq!(
        home.json(1, &["why-not", "abcdef", "garden", "-n", "1"])["id"],
        "abcdefgh-1"
    );
    assert_eq!(
        home.json(0, &["move", "abcdef", "--to-room", "x", "--yes"])["moved"],
        1
    );
    assert_eq!(home.json(0, &["delete", "abcdef", "--yes"])["deleted"], 1);
}
