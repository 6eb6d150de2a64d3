//! Reading: the first page, search, facets, why-not, lists, the map, and one drawer.

use std::collections::BTreeSet;

use loci_core::{FilingDoor, OriginKind, Provenance};
use loci_engine::AccessPolicy;
use loci_web::PageRequest;

use crate::scene::{SiteScene, body_text};

fn garden() -> SiteScene {
    let scene = SiteScene::new();
    scene.add_with(
        "bean-1",
        "garden",
        "The runner beans go in after the last frost in May.",
        |drawer| {
            drawer.place.room = Some("beans".into());
            drawer.place.said_at = Some("2025-05-02T10:00:00Z".parse().unwrap());
            drawer.place.speaker = Some("Ada".into());
            drawer.place.kind = Some("note".into());
        },
    );
    scene.add_with("bean-2", "garden", "Beans climb on hazel sticks.", |drawer| {
        drawer.place.room = Some("beans".into());
        drawer.place.said_at = Some("2026-04-02T10:00:00Z".parse().unwrap());
    });
    scene.add("roof-1", "house", "The roof was mended by Casa do Beco.");
    scene
}

/// Returns the values of an attribute, in order.
fn attribute_values(html: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    html.split(&start)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect()
}

#[test]
fn the_first_page_shows_wings_and_what_was_filed_last() {
    let html = garden().html("/");
    for part in [
        "name=\"q\"",
        "/map?wing=garden",
        "/map?wing=house",
        "hazel sticks",
        "3 drawers in 2 wings",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn an_empty_or_missing_palace_says_what_to_do_first() {
    let scene = SiteScene::new();
    assert!(scene.html("/").contains("Nothing is filed here yet"));
    assert!(
        !scene.folder.path().join("palace").exists(),
        "looking creates nothing"
    );
}

#[test]
fn a_search_shows_hits_with_marks_reasons_and_facets() {
    let html = garden().html("/search?q=when+do+beans+go+in");
    assert!(html.contains("<mark>beans</mark>"), "{html}");
    assert!(html.contains("/drawer?id=bean-1"), "{html}");
    for part in [
        "By words: rank",
        "By meaning: rank",
        "Why",
        "wing=garden",
        "speaker=Ada",
        "kind=note",
        "since=2026-01-01",
        "trust-user",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn a_very_long_text_is_shown_in_part_until_all_of_it_is_asked_for() {
    let scene = SiteScene::new();
    let text = format!("begins {} ends", "é and more ".repeat(40_000));
    scene.add("long-1", "garden", &text);
    let html = scene.html("/drawer?id=long-1");
    assert!(
        html.contains("begins") && !html.contains(" ends"),
        "{}",
        html.len()
    );
    assert!(html.len() < 150_000, "{}", html.len());
    assert!(
        html.contains("The first 100 KB of 480 KB."),
        "{}",
        &html[html.len() - 3000..]
    );
    assert!(scene.html("/drawer?id=long-1&whole=1").contains(" ends"));
}

#[test]
fn a_card_names_a_kind_once() {
    let scene = SiteScene::new();
    let filed_as = |id: &str, kind: &str, origin: OriginKind| {
        scene.add_with(id, "garden", "Beans climb on hazel sticks.", |drawer| {
            drawer.place.kind = Some(kind.into());
            drawer.provenance = Some(Provenance::new(FilingDoor::Terminal, origin));
        });
    };
    filed_as("page-1", "file", OriginKind::File);
    let html = scene.html("/list");
    assert!(
        html.contains("trust-file") && !html.contains("class=\"kind\""),
        "{html}"
    );
    // A note in the hand of the owner is more than what they said.
    filed_as("note-1", "note", OriginKind::Hand);
    let html = scene.html("/list");
    assert_eq!(html.matches("class=\"kind\"").count(), 1, "{html}");
}

#[test]
fn a_facet_narrows_the_search_and_a_chip_takes_it_back() {
    let html = garden().html("/search?q=beans&wing=garden&room=beans");
    assert!(
        html.contains("aria-label=\"Remove Wing\"") && html.contains("/search?q=beans&amp;room=beans"),
        "{html}"
    );
    assert!(!html.contains("Casa do Beco"), "{html}");
}

#[test]
fn pages_of_results_neither_repeat_nor_skip() {
    let scene = SiteScene::new();
    for at in 0..34 {
        scene.add(
            &format!("n-{at:02}"),
            "w",
            &format!("{} beans number {at} of the shed {}", at * 7, "x".repeat(at)),
        );
    }
    let mut seen = Vec::new();
    let mut target = "/search?q=beans+of+the+shed".to_owned();
    for _ in 0..10 {
        let html = scene.html(&target);
        seen.extend(attribute_values(&html, "data-id"));
        let next = attribute_values(&html, "href")
            .into_iter()
            .find(|href| href.contains("cursor="));
        let Some(next) = next else { break };
        target = next.replace("&amp;", "&");
    }
    let distinct: BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (34, 34), "{seen:?}");
}

#[test]
fn why_a_drawer_is_not_found_is_explained() {
    let scene = garden();
    let html = scene.html("/why-not?q=beans&wing=house&id=bean-1");
    assert!(
        html.contains("Why it is not found") && html.contains("does not accept it"),
        "{html}"
    );
    assert!(scene.html("/why-not?q=beans&id=bean-1").contains("It is found"));
    assert_eq!(scene.get("/why-not?q=beans&id=nothing").status, 404);
    assert_eq!(scene.get("/why-not?q=beans").status, 400);
}

#[test]
fn the_map_leads_from_wings_to_rooms_to_sources() {
    let scene = garden();
    scene.add_with("s-1", "garden", "A line of a file.", |drawer| {
        drawer.place.source = Some("notes/shed.md".into())
    });
    let wings = scene.html("/map");
    assert!(
        wings.contains("3 drawers") && wings.contains("<bdi>beans</bdi><span class=\"num\">2"),
        "{wings}"
    );
    let wing = scene.html("/map?wing=garden");
    assert!(
        wing.contains("/map?wing=garden&amp;room=beans") && wing.contains("/source?source=notes%2Fshed.md"),
        "{wing}"
    );
    let room = scene.html("/map?wing=garden&room=beans");
    assert!(!room.contains("shed.md") && room.contains("2 drawers"), "{room}");
}

#[test]
fn a_list_keeps_its_order_from_page_to_page() {
    let scene = SiteScene::new();
    for at in 0..95 {
        scene.add(&format!("n-{at:02}"), "w", &format!("note {at}"));
    }
    let (mut seen, mut target) = (Vec::new(), "/list?order=id".to_owned());
    loop {
        let html = scene.html(&target);
        seen.extend(attribute_values(&html, "data-id"));
        match attribute_values(&html, "href")
            .into_iter()
            .find(|href| href.contains("cursor="))
        {
            Some(next) => target = next.replace("&amp;", "&"),
            None => break,
        }
    }
    let expected: Vec<String> = (0..95).map(|at| format!("n-{at:02}")).collect();
    assert_eq!(seen, expected);
    assert_eq!(scene.get("/list?order=sideways").status, 400);
    assert_eq!(scene.get("/list?cursor=x").status, 400);
}

#[test]
fn a_drawer_is_shown_whole_with_everything_known_of_it() {
    let scene = garden();
    scene.add_with("odd\"<id>&\u{202e}", "w", "first\n\n<b>second</b>", |drawer| {
        drawer.metadata.insert("k<", "v&");
    });
    let html = scene.html("/drawer?id=odd%22%3Cid%3E%26%E2%80%AE");
    for part in [
        "&lt;b&gt;second&lt;/b&gt;",
        "k&lt;",
        "v&amp;",
        "U+202E",
        "/edit?id=odd%22%3Cid%3E%26%E2%80%AE",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("<b>second") && !html.contains("<id>"), "{html}");
    assert_eq!(scene.get("/drawer?id=nothing-here").status, 404);
    assert_eq!(scene.get("/drawer").status, 400);
}

#[test]
fn a_visitor_of_one_wing_never_learns_of_another() {
    let scene = garden();
    let site = scene.site_for(AccessPolicy::limited(true, vec!["garden".into()]));
    for target in [
        "/",
        "/map",
        "/list",
        "/search?q=roof+mended",
        "/search?q=roof&wing=hous",
    ] {
        let html = body_text(site.answer(&PageRequest::get(target), &scene.visit));
        assert!(
            !html.contains("Casa do Beco") && !html.contains("house") && !html.contains("roof-1"),
            "{target}: {html}"
        );
        assert!(
            !html.contains("href=\"/add\""),
            "{target}: a reader is offered no act"
        );
    }
    // Where the visitor names it, it is as one that was never there.
    for (here, nowhere) in [
        ("/map?wing=house", "/map?wing=never"),
        ("/drawer?id=roof-1", "/drawer?id=never1"),
        ("/why-not?q=roof&id=roof-1", "/why-not?q=roof&id=never1"),
        ("/list?wing=house", "/list?wing=never"),
    ] {
        let [here, nowhere] = [here, nowhere].map(|target| {
            let reply = site.answer(&PageRequest::get(target), &scene.visit);
            let status = reply.status;
            (
                status,
                body_text(reply)
                    .replace("house", "never")
                    .replace("roof-1", "never1"),
            )
        });
        assert_eq!(here, nowhere);
    }
}

#[test]
fn an_unknown_page_and_a_wrong_method_are_told() {
    let scene = garden();
    assert_eq!(scene.get("/nothing").status, 404);
    assert_eq!(scene.get("/undo").status, 405);
    assert_eq!(scene.post("/search", &[]).status, 405);
}

#[test]
fn a_form_of_another_visit_is_refused() {
    let scene = garden();
    let form = [("theme", "dark"), ("form_secret", "guessed")]
        .into_iter()
        .collect();
    let reply = scene
        .site
        .answer(&PageRequest::post("/theme", form), &scene.visit);
    assert_eq!(reply.status, 409);
    assert!(reply.theme.is_none());
    let reply = scene.post("/theme", &[("theme", "dark"), ("back", "//elsewhere")]);
    assert_eq!((reply.status, reply.location.as_deref()), (303, Some("/")));
}
