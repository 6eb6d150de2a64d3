//! `loci search` and `loci why-not`: what scripts and people get.

mod odd;
mod reasons;

use serde_json::json;

use super::*;

/// A conversation and some notes.
fn home() -> TempHome {
    let home = new_home();
    let line = |n: u64, kind: &str, speaker: &str, text: &str| {
        json!({"id": format!("talk-{n}"), "document": text, "wing": "Work", "room": "plans", "source": "talk.jsonl",
            "span": {"start": n * 100, "end": n * 100 + 90, "line_start": n + 1, "line_end": n + 1},
            "speaker": speaker, "kind": kind, "said_at": format!("2024-05-{:02}T10:00:00Z", n + 1)})
        .to_string()
    };
    let lines = [
        line(0, "human", "Ada", "Good morning, how is the weather?"),
        line(1, "human", "Ada", "When does the ferry to Harwich leave?"),
        line(2, "assistant", "bot", "The ferry leaves at nine on Friday."),
        line(3, "tool_result", "bash", "ferry timetable: 9:00, 12:30"),
        line(4, "human", "Ada", "Then I buy two tickets."),
        json!({"id": "note", "document": "Ferry tickets are in the blue folder.", "wing": "home", "said_at": "2023-01-01",
            "metadata": {"n": 3}})
        .to_string(),
        json!({"id": "garden", "document": "The roses want water.", "wing": "home"}).to_string(),
    ];
    home.file_lines(&lines.join("\n"));
    home
}

fn found(answer: &Json) -> Vec<&str> {
    ids(&answer["hits"])
}

#[test]
fn an_answer_has_the_shape_that_scripts_rely_on() {
    let home = home();
    let answer = home.json(0, &["search", "ferry friday", "-n", "2"]);
    let keys = |value: &Json| {
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys.join(" ")
    };
    assert_eq!(
        keys(&answer),
        "dates hits in_scope legs next query tool_output_left_out verdict warnings"
    );
    assert_eq!(answer["query"], "ferry friday");
    assert_eq!(
        (&answer["in_scope"], &answer["tool_output_left_out"]),
        (&json!(6), &json!(1))
    );
    let whole = json!({"ran": true, "coverage": 1.0});
    assert_eq!(answer["legs"], json!({"nearest": whole, "lexical": whole}));
    assert_eq!((&answer["warnings"], &answer["dates"]), (&json!([]), &json!([])));
    let hit = &answer["hits"][0];
    assert_eq!(
        keys(hit),
        "also_in filed_at id kind metadata provenance room said_at score source span speaker text trust why wing"
    );
    assert_eq!(hit["id"], "talk-2");
    assert_eq!(hit["text"], "The ferry leaves at nine on Friday.");
    assert_eq!(
        (&hit["wing"], &hit["room"], &hit["source"]),
        (&json!("Work"), &json!("plans"), &json!("talk.jsonl"))
    );
    assert_eq!(
        hit["span"],
        json!({"start": 200, "end": 290, "line_start": 3, "line_end": 3})
    );
    assert_eq!(
        (&hit["speaker"], &hit["kind"]),
        (&json!("bot"), &json!("assistant"))
    );
    assert_eq!(hit["said_at"], "2024-05-03T10:00:00Z");
    assert!(hit["filed_at"].is_string() && hit["score"].as_f64().unwrap() > 0.0);
    assert_eq!(hit["also_in"], json!([]));
    for leg in ["nearest", "lexical"] {
        let standing = &hit["why"][leg];
        assert_eq!(keys(standing), "rank score", "{hit}");
        assert!(standing["rank"].as_u64().unwrap() >= 1 && standing["score"].is_f64());
    }
    assert!(hit["why"]["source"]["pieces"].as_u64().unwrap() > 1, "{hit}");
    assert!(hit["why"]["source"]["score"].is_f64(), "{hit}");
}

#[test]
fn what_is_not_set_is_null_and_a_plan_comes_where_it_is_asked_for() {
    let home = home();
    let answer = home.json(0, &["search", "what about the roses", "-n", "1", "--explain"]);
    let hit = &answer["hits"][0];
    assert_eq!(hit["id"], "garden");
    for key in ["room", "source", "span", "speaker", "kind", "said_at"] {
        assert_eq!(hit[key], Json::Null, "{key}");
    }
    assert_eq!(answer["plan"]["words"], json!(["rose"]));
    assert_eq!(answer["plan"]["left_out"], json!(["what", "about", "the"]));
    let weights = &answer["plan"]["weights"];
    let sum = weights["nearest"].as_f64().unwrap() + weights["lexical"].as_f64().unwrap();
    assert!((sum - 1.0).abs() < 1e-5, "{weights}");
}

#[test]
fn the_exit_status_says_found_not_found_or_trouble() {
    let home = new_home();
    let (kind, said) = home.run(&["--json", "search", "ferry"]).expect_error();
    assert!(kind == "not_found" && said.contains("loci init"), "{said}");
    assert_eq!(home.list_names(), Vec::<String>::new(), "a search makes nothing");
    home.run(&["init", "--embedder", "none"]).expect_code(0);
    let nothing = home.json(1, &["search", "ferry"]);
    assert_eq!((&nothing["hits"], &nothing["in_scope"]), (&json!([]), &json!(0)));
    home.run(&["add", "The ferry leaves at nine.", "--id", "a"])
        .expect_code(0);
    assert_eq!(found(&home.json(0, &["search", "ferry"])), ["a"]);
    let nothing = home.run(&["search", "zebra"]).expect_code(1);
    assert_eq!(nothing.out, "");
    assert!(nothing.err.contains("nothing found in 1 drawer"), "{nothing:?}");
    for query in ["", " \t", "\n"] {
        let (kind, said) = home.run(&["--json", "search", query]).expect_error();
        assert!(kind == "invalid" && said.contains("loci list"), "{said}");
    }
    for args in [
        &["--json", "search", ""][..],
        &["--json", "search", "x", "-n", "0"],
        &["--json", "search", "x", "--since", "someday"],
        &[
            "--json",
            "search",
            "x",
            "--since",
            "2024-02-01",
            "--before",
            "2024-01-01",
        ],
        &["--json", "search", "x", "--where", "{"],
        &["--json", "search"],
    ] {
        assert_eq!(home.run(args).expect_error().0, "invalid", "{args:?}");
    }
}

#[test]
fn scope_is_narrowed_by_every_option() {
    let home = home();
    let search = |options: &[&str]| {
        let args = [&["search", "ferry tickets", "-n", "100"], options].concat();
        let answer = home.run(&[&["--json"], &args[..]].concat()).json();
        let mut list: Vec<String> = found(&answer).into_iter().map(str::to_owned).collect();
        list.sort();
        assert_eq!(
            answer["in_scope"],
            list.len(),
            "everything here has a vector: {answer}"
        );
        list
    };
    let talk = ["talk-0", "talk-1", "talk-2", "talk-4"];
    assert_eq!(search(&["--wing", "Work"]), talk);
    assert_eq!(search(&["--wing", "wORK"]), talk, "a wing is known by any case");
    assert_eq!(search(&["--wing", "home"]), ["garden", "note"]);
    assert_eq!(
        search(&["--room", "plans", "--kind", "human"]),
        ["talk-0", "talk-1", "talk-4"]
    );
    assert_eq!(
        search(&["--kind", "tool_result"]),
        ["talk-3"],
        "who names the kind means it"
    );
    assert_eq!(search(&["--wing", "work", "--tools"]).len(), 5);
    assert_eq!(search(&["--speaker", "bot"]), ["talk-2"]);
    assert_eq!(search(&["--source", "talk.jsonl"]), talk);
    assert_eq!(search(&["--since", "2024-05-03T10:00:00Z"]), ["talk-2", "talk-4"]);
    assert_eq!(
        search(&["--before", "2024-05-03T10:00:00Z"]),
        ["note", "talk-0", "talk-1"]
    );
    assert_eq!(
        search(&["--since", "2024-05-02", "--before", "2024-05-04"]),
        ["talk-1", "talk-2"]
    );
    assert_eq!(search(&["--where", r#"{"n":{"$gte":3}}"#]), ["note"]);
    assert_eq!(
        search(&[
            "--where",
            r#"{"$or":[{"n":3},{"speaker":{"$nin":["Ada","bash"]}}]}"#
        ]),
        ["garden", "note", "talk-2"]
    );
    let none = home.json(1, &["search", "ferry", "--wing", "nowhere"]);
    assert_eq!((&none["in_scope"], &none["hits"]), (&json!(0), &json!([])));
}

#[test]
fn a_mined_file_is_searched_by_its_path() {
    let home = new_home();
    let path = home.write("ferry.md", "# Ferry\n\nThe ferry leaves at nine.\n");
    home.write("other.md", "# Ferry\n\nAnother ferry leaves at ten.\n");
    home.run(&["mine", "."]).expect_code(0);
    assert_eq!(home.json(0, &["search", "ferry"])["in_scope"], 2);
    for name in [path.as_str(), "ferry.md", "./ferry.md"] {
        let answer = home.json(0, &["search", "ferry", "--source", name]);
        assert_eq!(answer["in_scope"], 1, "{name}: {answer}");
        assert!(
            answer["hits"][0]["source"]
                .as_str()
                .unwrap()
                .ends_with("ferry.md")
        );
        assert!(answer["hits"][0]["text"].as_str().unwrap().contains("nine"));
    }
    let none = home.json(1, &["search", "ferry", "--source", "no.md"]);
    assert_eq!(none["hits"], json!([]));
    assert_eq!(none["warnings"][0]["code"], "unknown_source", "{none}");
}

#[test]
fn neighbours_stand_around_a_hit_in_their_order() {
    let home = home();
    let answer = home.json(0, &["search", "ferry Friday nine", "-n", "1", "--context", "2"]);
    let hit = &answer["hits"][0];
    assert_eq!(hit["id"], "talk-2");
    assert_eq!(
        (ids(&hit["before"]), ids(&hit["after"])),
        (vec!["talk-0", "talk-1"], vec!["talk-3", "talk-4"])
    );
    let words = home
        .run(&["search", "ferry Friday nine", "-n", "1", "--context", "1"])
        .expect_code(0);
    let at = |text: &str| {
        words
            .out
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {words:?}"))
    };
    assert!(at("to Harwich") < at("at nine on Friday") && at("at nine on Friday") < at("timetable"));
    assert!(!words.out.contains("weather"), "{words:?}");
}

#[test]
fn people_see_where_a_hit_stands_and_what_speaks_for_it() {
    let home = home();
    let plain = home.run(&["search", "ferry", "friday", "-n", "1"]).expect_code(0);
    assert!(
        plain.out
            == "1. Work / plans · bot · trust user · 2024-05-03 10:00 UTC\n   The ferry leaves at nine on Friday.\n   talk-2  talk.jsonl:3\n",
        "{plain:?}"
    );
    assert!(!plain.err.contains("tool output"), "{plain:?}");
    let all = home
        .run(&["search", "ferry", "friday", "-n", "50"])
        .expect_code(0);
    assert!(
        all.err
            .contains("1 drawer of tool output not searched; --tools includes them")
    );
    assert!(!plain.out.contains("score"), "{plain:?}");
    let explained = home
        .run(&["search", "the ferry friday", "-n", "1", "--explain"])
        .expect_code(0);
    assert!(
        explained.out.starts_with("matched words: ferry friday"),
        "{explained:?}"
    );
    for part in [
        "  ignored: the\n",
        "meaning: covered 100.0 % of 6 drawers, weight 0.",
        "words: covered 100.0 %",
        "   words 1st (",
        "score ",
    ] {
        assert!(explained.out.contains(part), "{part}: {explained:?}");
    }
    let color = home
        .run(&["search", "ferry", "-n", "1", "--color", "always"])
        .expect_code(0);
    assert!(color.out.contains("\u{1b}[1;33mferry\u{1b}[0m"), "{color:?}");
    assert_eq!(home.run(&["search", "ferry", "--quiet"]).expect_code(0).err, "");
}

#[test]
fn a_time_in_the_query_is_read_aloud_unless_that_is_unwanted() {
    let home = home();
    let query = "ferry tickets in May 2024";
    let read = home.json(0, &["search", query]);
    assert_eq!(read["dates"][0]["words"], "in May 2024");
    assert_eq!(
        (&read["dates"][0]["drawers"], &read["dates"][0]["named"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(read["dates"][0]["from"], "2024-05-01T00:00:00Z");
    let said = |id: &str, answer: &Json| {
        let hits = answer["hits"].as_array().unwrap();
        hits.iter().find(|hit| hit["id"] == id).unwrap()["why"]["said"].clone()
    };
    assert_eq!(
        (said("talk-4", &read), said("note", &read)),
        (json!("in May 2024"), Json::Null)
    );
    let words = home.run(&["search", query]).expect_code(0);
    assert!(
        words.err.contains(
            "\"in May 2024\" read as 2024-05-01 to 2024-05-31; 4 drawers from that time rank higher"
        ),
        "{words:?}"
    );
    let unread = home.json(0, &["search", query, "--no-dates"]);
    assert_eq!(
        (&unread["dates"], said("talk-4", &unread)),
        (&json!([]), Json::Null)
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let home = new_home();
    let line = |n: usize| {
        json!({"id": format!("d{n}"), "document": format!("ferry {n} {}", "x ".repeat(200))}).to_string()
    };
    home.file_lines(&(0..500).map(line).collect::<Vec<_>>().join("\n"));
    for json in ["", "--json"] {
        let script = format!("set -o pipefail; \"$LOCI\" {json} search ferry -n 500 | head -c 20 >/dev/null");
        let mut command = Command::new("bash");
        home.dress_command(&mut command);
        command
            .args(["-c", &script])
            .env("LOCI", env!("CARGO_BIN_EXE_loci"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let ended = run_command(command, b"").expect_code(0);
        assert_eq!(ended.err, "", "{json}");
    }
}
