//! Odd queries are answered, and hostile text is never shown raw.

use serde_json::json;

use super::*;

#[test]
fn no_query_is_too_odd() {
    let home = home();
    let long = "ferry ".repeat(17_000);
    for query in [
        "to be or not to be",
        "the",
        "?!…—",
        "\"",
        "'",
        "*",
        "fer*",
        "NOT",
        "ferry AND",
        "OR OR",
        "NEAR(ferry, 3)",
        "text:ferry",
        "-- -ferry",
        "^ferry",
        "(",
        ") OR (",
        "🚢",
        "渡し船は金曜日に出る",
        "العبّارة",
        "שלום",
        "\u{1}\u{7f}",
        "\u{202e}yrref",
        "e\u{301}\u{301}",
        &long,
    ] {
        let ran = home.run(&["--json", "search", "--", query]);
        assert!(ran.code == 0 || ran.code == 1, "{query:.20}: {ran:?}");
        let answer = ran.json();
        assert_eq!(answer["query"], query);
        for leg in ["nearest", "lexical"] {
            let leg = &answer["legs"][leg];
            assert!(
                leg["ran"] == true || leg["reason"].is_string(),
                "{query:.20}: {leg}"
            );
        }
    }
}

#[test]
fn a_query_of_several_arguments_is_one_query() {
    let home = home();
    let one = home.json(0, &["search", "ferry friday nine"]);
    let three = home.json(0, &["search", "ferry", "friday", "nine"]);
    assert_eq!(one, three);
}

/// Everything a terminal might obey or a reader not see.
const EVIL: &str = "\u{1b}[2J\u{1b}]8;;http://x/\u{7}y\u{1b}]8;;\u{7}\u{202e}\u{9b}31m\u{2066}\u{200f}\r\u{8}\u{200b}\u{feff}\u{2028}<b>&amp;\u{85}\u{7f}";

/// Whether `text` holds a character that must not reach a terminal. Tabs of a text may; only styles of our own may, if `styled`.
fn raw(text: &str, styled: bool) -> Option<char> {
    let mut text = text.to_owned();
    if styled {
        for style in ["[1m", "[2m", "[1;33m", "[31m", "[33m", "[0m"] {
            text = text.replace(&format!("\u{1b}{style}"), "");
        }
    }
    let hides = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    text.chars()
        .find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || hides(c))
}

fn hostile() -> TempHome {
    let home = new_home();
    let line = |n: u64, kind: &str, text: String| {
        json!({"id": format!("id{n}{EVIL}"), "document": text, "wing": format!("wing{EVIL}"), "room": format!("room{EVIL}"),
            "source": format!("dir{EVIL}/name{EVIL}"), "speaker": format!("who{EVIL}"), "kind": kind,
            "metadata": {"title": format!("title{EVIL}")},
            "span": {"start": n * 10, "end": n * 10 + 9, "line_start": n + 1, "line_end": n + 1}})
        .to_string()
    };
    let lines = [
        line(0, "human", format!("before{EVIL}\nsecond{EVIL}")),
        line(
            1,
            "human",
            format!("ferry{EVIL}ferry in May 2024{EVIL}\nnext{EVIL}\tferry\r\n"),
        ),
        line(2, "assistant", format!("after{EVIL}\nsecond{EVIL}")),
        line(3, "tool_result", format!("printed{EVIL}")),
        line(
            4,
            &format!("kind{EVIL}"),
            format!("{EVIL}{}ferry{EVIL}", "long ".repeat(300)),
        ),
        line(
            5,
            "human",
            format!("ferry{EVIL} ferry, in May 2024{EVIL}\nnext{EVIL} ferry"),
        ),
    ];
    home.file_lines(&lines.join("\n"));
    home
}

#[test]
fn nothing_hostile_reaches_a_terminal_raw() {
    let home = hostile();
    let (query, id, wing) = (
        format!("ferry{EVIL} in May 2024"),
        format!("id3{EVIL}"),
        format!("wing{EVIL}"),
    );
    let (missing, source) = (format!("no{EVIL}"), format!("dir{EVIL}/name{EVIL}"));
    let broken = format!("{{\"$x{EVIL}\":1}}");
    for args in [
        &["search", &query][..],
        &["search", &query, "--explain"],
        &["search", &query, "--context", "2", "--explain", "--tools"],
        &["search", "before", "-n", "1", "--context", "3"],
        &[
            "search",
            &query,
            "--wing",
            &wing,
            "--source",
            &source,
            "--speaker",
            &missing,
        ],
        &["search", "ferry", "--source", &missing],
        &["search", "ferry", "--where", &broken],
        &["search", "ferry", "--since", &missing],
        &["search", EVIL],
        &["search", "zebra", "--wing", &missing],
        &["why-not", &id, &query],
        &["why-not", &id, &query, "--tools", "-n", "1"],
        &[
            "why-not",
            &id,
            &query,
            "--wing",
            &missing,
            "--where",
            r#"{"room":"x"}"#,
        ],
        &["why-not", &missing, &query],
    ] {
        for color in ["never", "always"] {
            let ran = home.run(&[args, &["--color", color]].concat());
            assert!(!(ran.out.is_empty() && ran.err.is_empty()), "{args:?}");
            for text in [&ran.out, &ran.err] {
                assert_eq!(raw(text, color == "always"), None, "{args:?}: {ran:?}");
            }
        }
    }
}

#[test]
fn hostile_text_is_found_and_given_back_as_it_was() {
    let home = hostile();
    let answer = home.json(0, &["search", "ferry in May"]);
    let texts: Vec<&str> = answer["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["text"].as_str().unwrap())
        .collect();
    assert!(
        texts.iter().any(|text| text.starts_with(&format!("ferry{EVIL}"))),
        "given back as it was: {answer}"
    );
    let words = home
        .run(&["search", "ferry in May", "-n", "1", "--color", "always"])
        .expect_code(0);
    assert!(
        words.out.contains("\\u{202e}") && words.out.contains("\u{1b}[1;33m"),
        "{words:?}"
    );
}
