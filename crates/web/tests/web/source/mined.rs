//! Sources as they are mined: a session of an agent, an export of conversations, files of code and notes, secrets.

use std::fmt::Write as _;

use super::*;

/// Returns the HTML between two strings, of which the first one is there.
#[track_caller]
fn between<'h>(html: &'h str, from: &str, to: &str) -> &'h str {
    assert!(html.contains(from), "{from}: {html}");
    let (_, rest) = html.split_once(from).unwrap();
    rest.split_once(to).map_or(rest, |(found, _)| found)
}

#[test]
fn a_session_of_an_agent_reads_as_a_transcript() {
    let scene = SiteScene::new();
    mine_example(&scene, "claude-code/login-test.jsonl");
    let html = scene.html("/source?source=login-test.jsonl");
    for part in [
        "<h2 class=\"speaker\"><bdi>user</bdi></h2>",
        "<h2 class=\"speaker\"><bdi>assistant</bdi></h2>",
        "The login test has been failing every night since Monday.",
        "class=\"trust trust-",
        "<time datetime=\"2026-05-04T08:12:03Z\"",
        "data-day=\"2026-05-04\"",
        "href=\"/drawer?id=",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    // What tools were told and printed is folded, with one line.
    let call = between(
        &html,
        "<summary><span class=\"folded-kind\">Tool call</span>",
        "</summary>",
    );
    assert!(
        call.contains("Bash") && call.contains("Recent changes to auth"),
        "{call}"
    );
    let output = between(
        &html,
        "<span class=\"folded-kind\">Tool output</span>",
        "</summary>",
    );
    assert!(
        output.contains("4be21f7 Run the nightly import before the tests") && output.contains("2 lines"),
        "{output}"
    );
    assert!(!html.contains("<details open"), "everything is folded at first");
    // Every message has an address of its own; one that is folded is open when it is asked for.
    let folded = between(&html, "<li class=\"message folded\" data-item data-id=\"", "\"");
    let html = scene.html(&format!("/source?source=login-test.jsonl&at={folded}"));
    assert_eq!(html.matches("<details open").count(), 1, "{html}");
    let items = items(&html);
    let places = values(&html, "href")
        .into_iter()
        .filter(|href| href.contains("&at="));
    assert_eq!(
        places.collect::<std::collections::BTreeSet<_>>().len(),
        items.len()
    );
}

#[test]
fn thoughts_and_words_of_the_software_are_folded_too() {
    let scene = SiteScene::new();
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join(
        "../mine/tests/fixtures/formats/claude-code/-home-ada-garden/11111111-aaaa-4bbb-8ccc-000000000001.jsonl",
    );
    let session = fs::read_to_string(session).unwrap();
    mine(&scene, "beans.jsonl", &session);
    let html = scene.html("/source?source=beans.jsonl");
    assert!(
        html.contains("<h1><bdi>Beans by the trellis</bdi></h1>"),
        "{html}"
    );
    let thought = between(&html, "<span class=\"folded-kind\">Thinking</span>", "</summary>");
    assert!(thought.contains("Beans want sun."), "{thought}");
    assert!(
        html.contains("<span class=\"folded-kind\">Software</span>"),
        "{html}"
    );
    assert!(html.contains("<span class=\"tag\">failed</span>"), "{html}");
    assert!(
        html.contains("Where do the beans go?\n\n  Keep the old trellis.  <"),
        "every space is kept: {html}"
    );
}

#[test]
fn an_export_of_several_conversations_lists_them() {
    let scene = SiteScene::new();
    let export = "../mine/tests/fixtures/formats/chatgpt/conversations.json";
    let export = Path::new(env!("CARGO_MANIFEST_DIR")).join(export);
    mine(&scene, "talks.json", &fs::read_to_string(export).unwrap());
    let html = scene.html("/source?source=talks.json");
    assert!(
        html.contains("<bdi>Baking bread</bdi></a>") && html.contains("3 sources"),
        "{html}"
    );
    let first = values(&html, "href")
        .into_iter()
        .find(|href| href.contains("talks.json%23"));
    let html = scene.html(&first.unwrap());
    assert!(
        html.contains("class=\"transcript\"") && html.contains("<h1><bdi>Baking bread</bdi></h1>"),
        "{html}"
    );
}

/// A message of many pieces, said by one of two.
fn long_talk() -> (String, String) {
    let long: String = (0..400).fold(String::new(), |mut text, at| {
        let _ = write!(
            text,
            "Sentence {at} of a long answer about ropes & <knots>.{}",
            if at % 5 == 0 { "\n\n" } else { " " }
        );
        text
    });
    let long = long.trim_end().to_owned();
    let talk = serde_json::json!([
        {"role": "user", "content": "Tell me all."},
        {"role": "assistant", "content": long},
        {"role": "user", "content": "Thank you."},
    ]);
    (talk.to_string(), long)
}

#[test]
fn the_pieces_of_a_long_message_are_one_message() {
    let scene = SiteScene::new();
    let (talk, long) = long_talk();
    mine(&scene, "long.json", &talk);
    let html = scene.html("/source?source=long.json");
    assert_eq!(items(&html).len(), 3, "{html}");
    let said = between(&html, "<li class=\"message assistant\"", "</li>");
    let said = between(said, "<div class=\"said\" dir=\"auto\">", "</div>");
    let pieces = values(said, "id").len();
    assert!(pieces > 3, "{pieces} pieces");
    assert_eq!(visible_text(said), long);
    assert!(html.contains(&format!("Filed as {pieces} drawers")), "{html}");
}

#[test]
fn a_file_has_its_lines_and_loses_nothing_between_parts() {
    let scene = SiteScene::new();
    let code: String = (1..=2_600).fold(String::new(), |mut text, at| {
        let _ = match at % 9 {
            0 => writeln!(text),
            1 => writeln!(text, "/// Returns <{at}> & \"more\"."),
            _ => writeln!(text, "    let value_{at}: &'static str = \"{at}\"; // line {at}"),
        };
        text
    });
    mine(&scene, "code.rs", &code);
    for (side, path) in [("later", "/source/part"), ("earlier", "/source/part")] {
        let parts = walk(&scene, "code.rs", side, path);
        assert!(parts.len() > 2, "{} parts", parts.len());
        let shown: String = parts.iter().map(|html| visible_text(html)).collect();
        assert!(shown == code, "{side}: the text of all parts is the file");
        let numbers: Vec<String> = parts.iter().flat_map(|html| values(html, "data-n")).collect();
        let expect: Vec<String> = (1..=2_600).map(|at| at.to_string()).collect();
        assert_eq!(numbers, expect, "{side}");
    }
    let html = scene.html("/source?source=code.rs");
    for part in [
        "<span class=\"tk\">let</span>",
        "<span class=\"ts\">&quot;2&quot;</span>",
        "<span class=\"tc\">// line 2</span>",
        "File, ",
        "dir=\"auto\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn a_file_with_windows_line_ends_shows_no_signs() {
    let scene = SiteScene::new();
    let text: String = (1..200)
        .map(|at| format!("# Heading {at}\r\n\r\nSome `code` there.\r\n"))
        .collect();
    mine(&scene, "notes.md", &text);
    let parts = walk(&scene, "notes.md", "later", "/source/part");
    let shown: String = parts.iter().map(|html| visible_text(html)).collect();
    assert_eq!(shown, text.replace("\r\n", "\n"));
    assert!(
        parts[0].contains(
            "<span class=\"th\"><b data-n=\"1\"></b># Heading 1</span>
"
        ),
        "{}",
        parts[0]
    );
    assert!(!parts[0].contains("<h1"), "Markdown stays text");
}

#[test]
fn a_sealed_secret_is_a_label_with_an_explanation() {
    let scene = SiteScene::new();
    let secret = ["AKIA", "Q7RT4WXN2PLZ6KJD"].concat();
    mine(
        &scene,
        "deploy.py",
        &format!("key = \"{secret}\"\nrun(key) # \u{27e6}sealed imitation abc\u{27e7}\n"),
    );
    let html = scene.html("/source?source=deploy.py");
    assert!(!html.contains(&secret), "{html}");
    let label = between(&html, "<span class=\"piece\"", "</pre>");
    let label = between(label, "<span class=\"sealed\" title=\"", "</span></span>");
    assert!(
        label.contains("a secret of 20 bytes") && label.contains("⟦sealed "),
        "{label}"
    );
    assert!(label.contains("visually-hidden"), "{label}");
    assert!(html.contains("stand for secrets that were encrypted"), "{html}");
    // Only where a secret was sealed: a text can imitate a label.
    assert_eq!(html.matches("class=\"sealed\" title").count(), 1, "{html}");
}
