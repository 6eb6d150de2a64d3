//! A source of a hundred thousand messages: its pages are as small as those of any other.

use super::*;

const MESSAGES: u64 = 100_000;

/// A palace with one long conversation, written in batches without vectors.
fn long_conversation() -> SiteScene {
    let scene = SiteScene::new();
    say(&scene, "first", 0, "How it began.");
    let messages = (0..MESSAGES).map(|at| {
        let text = format!("Message {at} of a very long talk.");
        let mut drawer = message("talk", &format!("m{at:06}"), 100 + at * 50, &text);
        drawer.place.kind = Some(["human", "assistant", "tool_result"][at as usize % 3].into());
        drawer
    });
    write_all(&scene, messages);
    scene
}

#[test]
fn a_page_of_a_hundred_thousand_messages_is_as_small_as_any() {
    let scene = long_conversation();
    for (target, expect) in [
        ("/source?source=talk", "m000010"),
        ("/source?source=talk&to=end", "m099999"),
        ("/source?source=talk&at=m050000", "m050000"),
        ("/source?source=talk&after=source.talk.2500140.m050000", "m050010"),
        (
            "/source/part?source=talk&before=source.talk.2500100.m050000",
            "m049999",
        ),
    ] {
        let html = scene.html(target);
        assert!(html.len() < MOST_BYTES, "{target}: {} bytes", html.len());
        let shown = items(&html);
        assert!(
            shown.len() <= 60 && shown.contains(&expect.to_owned()),
            "{target}: {shown:?}"
        );
        if !target.contains("part") {
            assert!(html.contains("100,001 drawers"), "{target}");
        }
    }
}
