//! Sources: transcripts and files, part by part, from a hit to its place, whatever is in them.

mod hostile;
mod large;
mod mined;
mod scrolling;

use std::fs;
use std::path::Path;

use loci_core::{CollectionExt as _, DrawerId, DrawerPlace, NewDrawer, OpenOptions, SourceSpan, Write};
use loci_engine::MineRequest;

use crate::scene::{SiteScene, body_text};

/// The most bytes that a page of a source may have.
const MOST_BYTES: usize = 150_000;

/// Mines a file with this content, and nothing else, into the wing `shop`.
fn mine(scene: &SiteScene, name: &str, content: &str) {
    let folder = scene.folder.path().join("files");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    mine_path(scene, &path);
}

fn mine_path(scene: &SiteScene, path: &Path) {
    let request = MineRequest {
        wing: Some("shop".into()),
        ..MineRequest::for_paths([path.to_owned()])
    };
    let report = scene.palace.mine(&request, &mut |_| {}).unwrap();
    assert_eq!(report.sources_failed.len(), 0, "{report:?}");
}

/// Copies an example of this project and mines it.
fn mine_example(scene: &SiteScene, example: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(example);
    let name = path.file_name().unwrap().to_str().unwrap();
    mine(scene, name, &fs::read_to_string(&path).unwrap());
}

/// Files a message of the conversation `talk` by hand.
fn say(scene: &SiteScene, id: &str, start: u64, text: &str) {
    say_in(scene, "talk", id, start, text, |_| {});
}

fn say_in(
    scene: &SiteScene,
    source: &str,
    id: &str,
    start: u64,
    text: &str,
    change: impl FnOnce(&mut NewDrawer),
) {
    scene.add_with(id, "boat", text, |drawer| {
        let provenance = drawer.provenance.take();
        *drawer = message(source, id, start, text);
        drawer.provenance = provenance;
        change(drawer);
    });
}

/// Makes a message.
fn message(source: &str, id: &str, start: u64, text: &str) -> NewDrawer {
    let mut drawer = NewDrawer::new(DrawerId::new(id).unwrap(), text);
    drawer.place = DrawerPlace {
        wing: Some("boat".into()),
        room: Some("talks".into()),
        source: Some(source.into()),
        kind: Some("human".into()),
        speaker: Some("Ada".into()),
        span: Some(SourceSpan {
            start,
            end: start + text.len() as u64,
            line_start: 1,
            line_end: 1,
        }),
        said_at: None,
    };
    drawer.metadata.insert("message_id", id);
    drawer
}

/// Writes drawers in batches and without vectors; the palace must be there.
fn write_all(scene: &SiteScene, drawers: impl IntoIterator<Item = NewDrawer>) {
    let collection = scene.palace.open(&OpenOptions::for_writing()).unwrap();
    let mut writes = drawers.into_iter().map(Write::Add).peekable();
    while writes.peek().is_some() {
        let batch: Vec<Write> = writes.by_ref().take(5_000).collect();
        collection.apply_batch(&batch).unwrap();
    }
}

/// Returns the values of an attribute, in order.
fn values(html: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    let rest = html.split(&start).skip(1);
    rest.filter_map(|rest| Some(rest.split_once('"')?.0.replace("&amp;", "&")))
        .collect()
}

/// Returns the ids of the drawers that a page shows as items.
fn items(html: &str) -> Vec<String> {
    values(html, "data-id")
}

/// Returns what a reader sees of some HTML: its text, without the numbers of lines and the signs at their side.
fn visible_text(html: &str) -> String {
    let mut text = String::new();
    for (at, piece) in html.split('<').enumerate() {
        let after = if at == 0 {
            piece
        } else {
            piece.split_once('>').map_or("", |(_, after)| after)
        };
        text.push_str(after.trim_start_matches('¶'));
    }
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// Follows the links of parts from one end to the other, by pages or by parts for the script.
fn walk(scene: &SiteScene, source: &str, side: &str, path: &str) -> Vec<String> {
    let end = if side == "earlier" { "&to=end" } else { "" };
    let mut target = format!("{path}?source={source}{end}");
    let mut all = Vec::new();
    loop {
        let html = scene.html(&target);
        assert!(html.len() <= MOST_BYTES, "{target}: {} bytes", html.len());
        if side == "earlier" {
            all.insert(0, html.clone());
        } else {
            all.push(html.clone());
        }
        match values(&html, &format!("data-{side}")).first() {
            Some(next) => target = next.replacen("/source", path, 1),
            None => return all,
        }
        assert!(all.len() < 1_000, "the parts of {source} do not end");
    }
}

#[test]
fn parts_neither_repeat_nor_skip_in_either_direction() {
    let scene = SiteScene::new();
    let mut start = 0;
    for at in 0..170 {
        let text = format!("message {at} {}", "word ".repeat(at * 7 % 400));
        say(&scene, &format!("m{at:03}"), start, &text);
        start += text.len() as u64 + 1;
    }
    let expect: Vec<String> = (0..170).map(|at| format!("m{at:03}")).collect();
    for side in ["earlier", "later"] {
        for path in ["/source", "/source/part"] {
            let parts = walk(&scene, "talk", side, path);
            assert!(parts.len() > 2);
            let seen: Vec<String> = parts.iter().flat_map(|html| items(html)).collect();
            assert_eq!(seen, expect, "{side} {path}");
        }
    }
}

#[test]
fn a_hit_leads_to_its_place_and_the_place_is_marked() {
    let scene = SiteScene::new();
    let mut start = 0;
    for at in 0..200 {
        let text = format!("The {at}th knot is tied.");
        say(&scene, &format!("m{at:03}"), start, &text);
        start += text.len() as u64 + 1;
    }
    let hits = scene.html("/search?q=%22120th+knot%22");
    let place = values(&hits, "href")
        .into_iter()
        .find(|href| href.starts_with("/source?"))
        .unwrap();
    let (target, anchor) = place.split_once('#').unwrap();
    let html = scene.html(target);
    assert!(
        html.contains(&format!("<span class=\"piece here\" id=\"{anchor}\">")),
        "{html}"
    );
    assert!(html.contains("data-id=\"m120\" aria-current=\"true\""), "{html}");
    assert_eq!(html.matches("aria-current=\"true\"").count(), 1);
    let shown = items(&html);
    assert!(
        shown.contains(&"m119".into()) && shown.contains(&"m121".into()),
        "{shown:?}"
    );
    // Both ways on are links, so that no script is needed.
    assert!(
        html.contains("rel=\"prev\" href=\"/source?") && html.contains("rel=\"next\" href=\"/source?"),
        "{html}"
    );
}

#[test]
fn the_head_tells_where_one_is_and_leads_on() {
    let scene = SiteScene::new();
    for at in 0..3 {
        say_in(
            &scene,
            "/logs/boat talk.json#7",
            &format!("m{at}"),
            at * 100,
            &format!("Knot number {at}, made of {} ropes.", at * 7),
            |drawer| {
                drawer.metadata.insert("title", "Knots & <ropes>");
                drawer.place.said_at = Some(format!("2026-05-0{}T10:00:00Z", at / 2 + 1).parse().unwrap());
            },
        );
    }
    let html = scene.html("/source?source=%2Flogs%2Fboat+talk.json%237");
    for part in [
        "<h1><bdi>Knots &amp; &lt;ropes&gt;</bdi></h1>",
        "/logs/boat talk.json#7",
        "/map?wing=boat\"",
        "/map?wing=boat&amp;room=talks",
        "Conversation, 3 drawers",
        "/list?source=%2Flogs%2Fboat+talk.json%237&amp;order=source",
        "to=end",
        "name=\"source\" value=\"/logs/boat talk.json#7\"",
        "data-day=\"2026-05-02\"",
        "/timeline?source=%2Flogs%2Fboat+talk.json%237&amp;day=2026-05-01",
        "The source begins here.",
        "The source ends here.",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert_eq!(html.matches("data-day=").count(), 2, "a day is told once");
    assert_eq!(html.matches("<h1").count(), 1);
    assert_eq!(html.matches("<h2 class=\"speaker\">").count(), 3);
    let search = scene.html("/search?source=%2Flogs%2Fboat+talk.json%237&q=knot");
    assert!(
        search.contains("/source?source=%2Flogs%2Fboat+talk.json%237"),
        "{search}"
    );
}

#[test]
fn what_is_not_there_is_told_with_what_to_do() {
    let scene = SiteScene::new();
    say(&scene, "m1", 0, "A knot.");
    say_in(&scene, "other", "o1", 0, "A rope.", |_| {});
    for (target, status, told) in [
        ("/source?source=tlak", 404, "did you mean &quot;talk&quot;"),
        ("/source?source=nothing-like-it", 404, "look for it on the map"),
        (
            "/source/part?source=nothing-like-it",
            404,
            "open the source again",
        ),
        ("/source", 400, "names no source"),
        ("/source?source=", 400, "names no source"),
        ("/source?source=talk&after=x", 400, "from its start"),
        ("/source?source=talk&before=id.m1", 400, "from its start"),
        (
            "/source?source=talk&after=source.other.0.o1",
            400,
            "another source",
        ),
        (
            "/source/part?source=talk&before=source.other.0.o1",
            400,
            "another source",
        ),
        ("/source?source=talk&at=", 400, "id"),
    ] {
        let reply = scene.get(target);
        let (found, html) = (reply.status, body_text(reply));
        assert_eq!(found, status, "{target}: {html}");
        assert!(html.contains(told), "{target}: {html}");
    }
    let html = scene.html("/source?source=talk&at=o1");
    assert!(
        html.contains("is not in this source") && html.contains("/drawer?id=o1"),
        "{html}"
    );
    assert!(html.contains("A knot."), "the source is shown: {html}");
    // A place that was removed since still leads to what follows it.
    let html = scene.html("/source?source=talk&after=source.talk.0.m0");
    assert!(html.contains("A knot."), "{html}");
    let html = scene.html("/source?source=talk&after=source.talk.90.m9");
    assert!(
        html.contains("Nothing is here any more") && html.contains("To the start"),
        "{html}"
    );
}

#[test]
fn several_sources_of_one_name_are_listed_page_by_page() {
    let scene = SiteScene::new();
    for at in 0..60 {
        for part in 0..=at % 2 {
            say_in(
                &scene,
                &format!("/talks.json#{at:02}"),
                &format!("m{at}-{part}"),
                part * 50,
                "Hi.",
                |drawer| {
                    drawer.metadata.insert("title", format!("Talk <{at}>"));
                },
            );
        }
    }
    let first = scene.html("/source?source=talks.json");
    assert!(
        first.contains("60 sources") && first.contains("Talk &lt;1&gt;"),
        "{first}"
    );
    assert!(first.contains("<td class=\"num\">2</td>"), "{first}");
    assert!(
        first.contains("source=talks.json&amp;skip=50") && !first.contains("Talk &lt;50&gt;"),
        "{first}"
    );
    let second = scene.html("/source?source=talks.json&skip=50");
    assert!(
        second.contains("Talk &lt;59&gt;") && !second.contains("skip=60"),
        "{second}"
    );
    assert!(second.contains("First sources"), "{second}");
    assert!(
        scene
            .html("/source?source=talks.json&skip=600")
            .contains("no more sources")
    );
    assert!(
        scene
            .html("/source?source=talks.json&at=gone")
            .contains("is in none of them")
    );
    // A drawer tells which of them is meant.
    assert!(
        scene
            .html("/source?source=talks.json&at=m7-1")
            .contains("piece here")
    );
}

#[test]
fn a_visitor_of_one_wing_reads_no_other() {
    let scene = SiteScene::new();
    say(&scene, "m1", 0, "A knot.");
    say_in(&scene, "secret-log", "s1", 0, "Treasure.", |drawer| {
        drawer.place.wing = Some("cellar9".into())
    });
    say_in(&scene, "talk", "s2", 50, "More treasure.", |drawer| {
        drawer.place.wing = Some("cellar9".into())
    });
    let site = scene.site_for(loci_engine::AccessPolicy::limited(false, vec!["boat".into()]));
    let ask = |target: &str| {
        let reply = site.answer(&loci_web::PageRequest::get(target), &scene.visit);
        (reply.status, body_text(reply))
    };
    let (status, html) = ask("/source?source=talk");
    assert_eq!(status, 200);
    assert!(html.contains("A knot.") && html.contains("1 drawer<"), "{html}");
    assert!(!html.contains("reasure") && !html.contains("cellar9"), "{html}");
    let (status, html) = ask("/source?source=talk&at=s2");
    assert!(
        status == 200 && html.contains("is not in this source") && !html.contains("reasure"),
        "{html}"
    );
    let same = |html: String| html.replace("secret-log", "never-was1");
    assert_eq!(ask("/source?source=secret-log").0, 404);
    assert_eq!(
        same(ask("/source?source=secret-log").1),
        ask("/source?source=never-was1").1
    );
}
