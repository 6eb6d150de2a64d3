//! Refusing: readers are offered no act and can do none, and a form of another visit does nothing.

use loci_engine::AccessPolicy;
use loci_web::PageRequest;

use super::garden;
use crate::scene::body_text;

/// Every act with fields that would do something.
const ACTS: [(&str, &[(&str, &str)]); 6] = [
    ("/add", &[("text", "New.")]),
    ("/edit", &[("id", "bean-1"), ("text", "Changed.")]),
    (
        "/move",
        &[("id", "bean-1"), ("expected", "1"), ("to_wing", "barn")],
    ),
    ("/delete", &[("id", "bean-1"), ("expected", "1")]),
    ("/forget", &[("id", "bean-1"), ("expected", "1")]),
    ("/undo", &[]),
];

#[test]
fn a_reader_is_offered_no_act_and_can_do_none() {
    let scene = garden();
    let before = scene.drawers();
    let site = scene.site_for(AccessPolicy::limited(true, Vec::new()));
    for (path, fields) in ACTS {
        let secret = ("form_secret", scene.visit.form_secret());
        let form = fields.iter().copied().chain([secret]).collect();
        let reply = site.answer(&PageRequest::post(path, form), &scene.visit);
        assert_eq!(reply.status, 403, "{path}");
        if path != "/undo" {
            let page = site.answer(&PageRequest::get(&format!("{path}?id=bean-1")), &scene.visit);
            assert_eq!(page.status, 403, "{path}");
        }
    }
    for target in ["/", "/list", "/drawer?id=bean-1"] {
        let html = body_text(site.answer(&PageRequest::get(target), &scene.visit));
        for act in ["/add", "/edit", "/move", "/delete", "/forget", "/undo"] {
            assert!(
                !html.contains(&format!("\"{act}")),
                "{target} offers {act}: {html}"
            );
        }
    }
    assert_eq!(scene.drawers(), before);
}

#[test]
fn a_form_with_another_secret_does_nothing() {
    let scene = garden();
    let before = scene.drawers();
    for (path, fields) in ACTS {
        for secret in [None, Some(""), Some("guessed")] {
            let secret = secret.map(|secret| ("form_secret", secret));
            let form = fields.iter().copied().chain(secret).collect();
            let reply = scene.site.answer(&PageRequest::post(path, form), &scene.visit);
            assert_eq!(reply.status, 409, "{path}");
        }
    }
    assert_eq!(scene.drawers(), before);
}

#[test]
fn a_visitor_of_one_wing_changes_nothing_beyond_it() {
    let scene = garden();
    let site = scene.site_for(AccessPolicy::limited(false, vec!["garden".into()]));
    let post = |path: &str, fields: &[(&str, &str)]| {
        let secret = ("form_secret", scene.visit.form_secret());
        let form = fields.iter().copied().chain([secret]).collect();
        site.answer(&PageRequest::post(path, form), &scene.visit)
    };
    let before = scene.drawers();
    let reply = post(
        "/move",
        &[("id", "bean-1"), ("expected", "1"), ("to_wing", "house")],
    );
    assert_eq!(reply.status, 404);
    assert_eq!(post("/add", &[("text", "x"), ("wing", "house")]).status, 404);
    assert_eq!(
        post("/delete", &[("id", "roof-1"), ("expected", "1")]).status,
        409
    );
    assert_eq!(
        site.answer(&PageRequest::get("/edit?id=roof-1"), &scene.visit)
            .status,
        404
    );
    assert_eq!(scene.drawers(), before);
    // Within it, everything is as for others.
    let reply = post("/delete", &[("id", "bean-1"), ("expected", "1")]);
    assert_eq!(reply.status, 303);
    assert_eq!(post("/undo", &[]).status, 303);
    assert_eq!(scene.drawers(), before);
}
