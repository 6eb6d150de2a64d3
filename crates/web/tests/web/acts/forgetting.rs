//! Forgetting: said before it happens, done to the last byte, and never undone from any visit.

use loci_engine::AccessPolicy;
use loci_web::{PageRequest, Visit};

use super::{BrowserForm, garden};
use crate::scene::{SiteScene, body_text};

/// Sends the form, waits until the job has ended, and checks that no byte of the text is left.
#[track_caller]
fn forget(scene: &SiteScene, form: &BrowserForm, text: &str) {
    let reply = form.send(scene);
    assert!(
        reply
            .location
            .as_deref()
            .is_some_and(|to| to.starts_with("/job?number=")),
        "{reply:?}"
    );
    // Until then, nothing else can be forgotten.
    while scene.get("/forget?id=roof-1").status == 409 {
        std::thread::yield_now();
    }
    let texts = [text.to_owned()];
    let traces = scene.palace.find_traces(&texts, &[], &mut |_, _, _| {}).unwrap();
    assert_eq!(traces.found, []);
}

#[test]
fn the_page_names_what_it_reaches_and_what_it_cannot_before_it_acts() {
    let scene = garden();
    let backup = scene.folder.path().join("backup.loci");
    let moved = scene.folder.path().join("moved.loci");
    for file in [&backup, &moved] {
        let address = scene.palace.address().unwrap();
        let snapshots = address.backend.snapshots().unwrap();
        snapshots.backup(&address.reference, file, &mut |_| {}).unwrap();
    }
    std::fs::remove_file(&moved).unwrap();
    let html = scene.html("/forget?id=bean-1");
    for part in [
        "This cannot be undone.",
        "Will be rewritten",
        "backup.loci",
        "Cannot be reached",
        "moved.loci",
        "Forget 1 drawer",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    scene.stored("bean-1");
    forget(
        &scene,
        &BrowserForm::find(&html, "/forget"),
        "Runner beans go in after the last frost.",
    );
    assert_eq!(scene.drawers().len(), 3);
}

#[test]
fn no_visit_can_bring_forgotten_words_back() {
    let scene = garden();
    let other = Visit::begin().unwrap();
    let edit = |visit: &Visit| {
        let html = body_text(scene.site.answer(&PageRequest::get("/edit?id=bean-1"), visit));
        BrowserForm::find(&html, "/edit")
    };
    let reply = edit(&other)
        .typing("text", "Not what it said.")
        .send_as(&scene, &other);
    assert_eq!(reply.status, 303);
    scene.follow(scene.form("/delete?id=bean-1", "/delete").send(&scene));
    scene.add("bean-1", "garden", "Once more.");
    forget(&scene, &scene.form("/forget?id=bean-1", "/forget"), "Once more.");
    for visit in [&scene.visit, &other] {
        let form = [("form_secret", visit.form_secret()), ("back", "/")]
            .into_iter()
            .collect();
        let reply = scene.site.answer(&PageRequest::post("/undo", form), visit);
        assert_eq!(reply.status, 303);
        let html = body_text(scene.site.answer(&PageRequest::get("/"), visit));
        assert!(html.contains("There is nothing to undo."), "{html}");
    }
    assert_eq!(scene.drawers().len(), 3);
}

#[test]
fn another_number_than_was_agreed_to_forgets_nothing() {
    let scene = garden();
    let form = scene.form("/forget?wing=garden", "/forget");
    scene.add("late-1", "garden", "Leeks.");
    let reply = form.send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 409);
    assert!(
        html.contains("Nothing was done.") && html.contains("Forget 4 drawers"),
        "{html}"
    );
    assert_eq!(scene.drawers().len(), 5);
}

#[test]
fn what_is_left_of_a_deleted_drawer_can_be_forgotten() {
    let scene = garden();
    scene.follow(scene.form("/delete?id=bean-1", "/delete").send(&scene));
    let html = scene.html("/forget?id=bean-1");
    assert!(html.contains("Forget what is left of 1 deleted drawer"), "{html}");
    forget(
        &scene,
        &BrowserForm::find(&html, "/forget"),
        "Runner beans go in after the last frost.",
    );
}

#[test]
fn a_visitor_of_one_wing_forgets_nothing() {
    let scene = garden();
    let site = scene.site_for(AccessPolicy::limited(false, vec!["garden".into()]));
    assert_eq!(
        site.answer(&PageRequest::get("/forget?id=bean-1"), &scene.visit)
            .status,
        403
    );
    let form = [
        ("form_secret", scene.visit.form_secret()),
        ("id", "bean-1"),
        ("expected", "1"),
    ];
    let post = PageRequest::post("/forget", form.into_iter().collect());
    assert_eq!(site.answer(&post, &scene.visit).status, 403);
    for target in ["/list", "/drawer?id=bean-1", "/delete?id=bean-1"] {
        let html = body_text(site.answer(&PageRequest::get(target), &scene.visit));
        assert!(!html.contains("/forget"), "{target}: {html}");
    }
    assert_eq!(scene.drawers().len(), 4);
}
