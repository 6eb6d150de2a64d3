//! Sources that a page must not break on: markup, other scripts, control characters, very long lines and texts.

use super::*;

/// Asserts that a page is bounded and that nothing stored became markup.
#[track_caller]
fn check_page(scene: &SiteScene, target: &str) -> String {
    let html = scene.html(target);
    assert!(html.len() <= MOST_BYTES, "{target}: {} bytes", html.len());
    for broken in ["<script>", "<img", "onerror=\"", "javascript:"] {
        assert!(!html.contains(broken), "{target}: {broken:?}");
    }
    let text = visible_text(&html);
    let is_hidden = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
    assert!(!text.contains(is_hidden), "{target}: {text:?}");
    html
}

#[test]
fn nothing_stored_becomes_markup_wherever_it_stands() {
    let scene = SiteScene::new();
    let bad = "\"><script>alert(1)</script><img src=x onerror=\"x\">\u{202e}\u{1b}[2J\0'`";
    for (at, kind) in [
        "human",
        "assistant",
        "tool_call",
        "tool_result",
        "thinking",
        "system",
        "file",
        bad,
    ]
    .iter()
    .enumerate()
    {
        say_in(
            &scene,
            bad,
            &format!("{bad}{at}"),
            at as u64 * 1_000,
            bad,
            |drawer| {
                drawer.place.kind = Some((*kind).to_owned());
                drawer.place.speaker = Some(bad.to_owned());
                drawer.place.wing = Some("boat".into());
                drawer.place.room = Some(bad.to_owned());
                for key in ["title", "tool", "model", "branch"] {
                    drawer.metadata.insert(key, bad);
                }
            },
        );
    }
    let source: String = form_encoded(bad);
    let html = check_page(&scene, &format!("/source?source={source}"));
    assert!(
        html.contains("&lt;script&gt;") && html.contains("U+202E"),
        "{html}"
    );
    for id in items(&html) {
        assert!(id.contains("&gt;&lt;script&gt;"), "{id}");
    }
    check_page(&scene, &format!("/source/part?source={source}"));
    let all = form_encoded(&format!("{bad}0"));
    check_page(&scene, &format!("/source?source={source}&at={all}"));
    let reply = scene.get(&format!("/source?source=x{source}&at={all}"));
    assert_eq!(reply.status, 404);
    assert!(!body_text(reply).contains("<script>"));
}

fn form_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn other_scripts_and_signs_are_shown_as_they_are() {
    let scene = SiteScene::new();
    let texts = [
        "שלום עולם, 3 knots",
        "مرحبا بالعالم",
        "抽屉里的每个字",
        "한국어 서랍",
        "👩‍👩‍👧 🏴‍☠️ e\u{301}",
        "ไทย\n\n\tтекст",
    ];
    for (at, text) in texts.iter().enumerate() {
        say(&scene, &format!("m{at}"), at as u64 * 1_000, text);
    }
    let html = check_page(&scene, "/source?source=talk");
    for text in texts {
        assert!(html.contains(text), "{text}");
    }
    assert_eq!(
        html.matches("<div class=\"said\" dir=\"auto\">").count(),
        texts.len()
    );
}

#[test]
fn a_megabyte_in_one_drawer_is_cut_with_a_link_to_the_whole() {
    let scene = SiteScene::new();
    say(&scene, "before", 0, "Before it.");
    say(&scene, "huge", 20, &"x".repeat(1_000_000));
    say(&scene, "after", 1_000_100, "After it.");
    let html = check_page(&scene, "/source?source=talk&at=huge");
    assert!(
        html.contains("Show the whole text, 960 KB more") && html.contains("/drawer?id=huge&amp;whole=1"),
        "{html}"
    );
    let seen: Vec<String> = walk(&scene, "talk", "later", "/source")
        .iter()
        .flat_map(|html| items(html))
        .collect();
    assert_eq!(seen, ["before", "huge", "after"]);
}

#[test]
fn a_megabyte_without_a_line_break_is_read_part_by_part() {
    let scene = SiteScene::new();
    let line: String = (0..130_000).map(|at| format!("word{at} ")).collect();
    mine(&scene, "line.txt", &line);
    let parts = walk(&scene, "line.txt", "later", "/source/part");
    assert!(parts.len() > 5, "{} parts", parts.len());
    let shown: String = parts.iter().map(|html| visible_text(html)).collect();
    assert!(shown == line, "nothing is lost");
    assert!(
        parts.iter().all(|html| values(html, "data-n") == ["1"]),
        "all of it is line 1"
    );
}

/// Fills a source with drawers of one text, and returns the pages from its start, its middle and its end.
fn check_source(name: &str, kind: &str, text: &str, change: impl Fn(&mut NewDrawer)) {
    let scene = SiteScene::new();
    say(&scene, "elsewhere", 0, "So that the palace is there.");
    let drawers = (0..70).map(|at| {
        let mut drawer = message(name, &format!("m{at:02}"), at * text.len() as u64, text);
        drawer.place.kind = Some(kind.to_owned());
        change(&mut drawer);
        drawer
    });
    write_all(&scene, drawers);
    let source = form_encoded(name);
    for ending in ["&to=end", "&at=m35"] {
        for path in ["/source", "/source/part"] {
            let html = check_page(&scene, &format!("{path}?source={source}{ending}"));
            assert!(!items(&html).is_empty());
        }
    }
    let parts = walk(&scene, &source, "later", "/source/part");
    let seen: usize = parts.iter().map(|html| items(html).len()).sum();
    assert_eq!(seen, 70, "{name} {kind}");
}

#[test]
fn a_page_is_bounded_however_its_text_grows_when_it_is_shown() {
    let plain = |_: &mut NewDrawer| {};
    for (kind, text) in [
        ("human", "\u{202e}\u{1b}".repeat(900)),
        ("human", "`a` ".repeat(700)),
        ("file", "\n".repeat(2_000)),
        ("file", "1 ".repeat(2_000)),
        ("file", "a".repeat(3_000)),
        ("tool_call", "\"\"".repeat(3_000)),
        ("assistant", "<&\">".repeat(20_000)),
        ("human", "ok".to_owned()),
    ] {
        check_source("code.rs", kind, &text, plain);
    }
    // Names count, too: they stand in every link.
    check_source(&"ü".repeat(400), "human", "ok", plain);
    check_source("names", "human", "ok", |drawer| {
        drawer.place.speaker = Some("<\u{200b}>".repeat(600))
    });
    check_source("names", "tool_result", "ok", |drawer| {
        drawer.metadata.insert("tool", "\u{202e}".repeat(2_000))
    });
    check_source("names", "human", "ok", |drawer| {
        drawer.metadata.insert("title", "<".repeat(9_000))
    });
}
