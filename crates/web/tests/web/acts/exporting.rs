//! Exporting: the file that `loci import` reads, of a scope or of chosen drawers.

use loci_engine::AccessPolicy;
use loci_web::PageRequest;

use super::{BrowserForm, garden};
use crate::scene::body_text;

#[test]
fn a_scope_is_shown_and_downloaded_as_lines() {
    let scene = garden();
    let html = scene.html("/export?wing=garden");
    assert!(
        html.contains("Export 3 drawers") && html.contains("/export/file?wing=garden"),
        "{html}"
    );
    let reply = scene.get("/export/file?wing=garden");
    assert_eq!((reply.status, reply.media_type), (200, "application/x-ndjson"));
    assert_eq!(reply.file_name.as_deref(), Some("garden-garden-2026-06-01.jsonl"));
    let lines: Vec<serde_json::Value> = body_text(reply)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&str> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids, ["bean-1", "bean-2", "pea-1"]);
    assert_eq!(lines.len(), 4, "a header and three drawers");
}

#[test]
fn chosen_drawers_are_downloaded_by_a_form() {
    let scene = garden();
    let html = body_text(scene.post("/export", &[("id", "roof-1"), ("id", "bean-2")]));
    assert!(html.contains("Export 2 drawers"), "{html}");
    let text = body_text(BrowserForm::find(&html, "/export/file").send(&scene));
    assert!(
        text.contains("roof-1") && text.contains("bean-2") && !text.contains("pea-1"),
        "{text}"
    );
}

#[test]
fn everything_is_exported_with_its_deletions_and_a_missing_palace_is_told() {
    let scene = garden();
    assert!(scene.html("/export").contains("It is the whole palace"));
    assert_eq!(body_text(scene.get("/export/file")).lines().count(), 5);
    assert_eq!(crate::scene::SiteScene::new().get("/export/file").status, 404);
    assert_eq!(scene.get("/export/file?since=nonsense").status, 400);
}

#[test]
fn a_reader_of_one_wing_exports_that_wing_and_no_other() {
    let scene = garden();
    let site = scene.site_for(AccessPolicy::limited(true, vec!["house".into()]));
    let export = |target: &str| site.answer(&PageRequest::get(target), &scene.visit);
    let text = body_text(export("/export/file"));
    assert!(text.contains("roof-1") && !text.contains("bean"), "{text}");
    assert!(body_text(export("/export?id=bean-1")).contains("Export 0 drawers"));
    let form = [("form_secret", scene.visit.form_secret()), ("id", "bean-1")]
        .into_iter()
        .collect();
    let text = body_text(site.answer(&PageRequest::post("/export/file", form), &scene.visit));
    assert!(!text.contains("frost"), "{text}");
}
