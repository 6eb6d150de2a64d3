//! Undoing: newest first, never over what others changed.

use loci_core::DrawerId;
use loci_engine::update::UpdateRequest;

use super::garden;

#[test]
fn the_last_acts_are_undone_newest_first() {
    let scene = garden();
    let before = scene.drawers();
    scene.follow(
        scene
            .form("/edit?id=bean-1", "/edit")
            .typing("text", "Changed.")
            .send(&scene),
    );
    scene.follow(
        scene
            .form("/move?id=bean-1", "/move")
            .typing("to_wing", "barn")
            .send(&scene),
    );
    scene.follow(scene.form("/add", "/add").typing("text", "New.").send(&scene));
    scene.follow(scene.form("/delete?id=bean-1", "/delete").send(&scene));
    assert!(
        scene.html("/").contains("Undo deleting 1 drawer"),
        "every page offers the last act"
    );
    for what in [
        "deleting 1 drawer",
        "adding a drawer",
        "moving 1 drawer",
        "editing a drawer",
    ] {
        let html = scene.undo();
        assert!(html.contains(&format!("Undone: {what}.")), "{what}: {html}");
    }
    assert_eq!(scene.drawers(), before);
    let html = scene.undo();
    assert!(
        html.contains("There is nothing to undo.") && !html.contains("action=\"/undo\""),
        "{html}"
    );
}

#[test]
fn a_drawer_that_was_changed_since_stays_and_is_named() {
    let scene = garden();
    scene.follow(
        scene
            .form("/edit?id=bean-1", "/edit")
            .typing("text", "Mine.")
            .send(&scene),
    );
    let theirs = UpdateRequest {
        text: Some("Theirs.".into()),
        ..UpdateRequest::new(DrawerId::new("bean-1").unwrap())
    };
    scene.palace.update(&theirs).unwrap();
    let html = scene.undo();
    assert!(
        html.contains("Not undone: editing a drawer.")
            && html.contains("The drawer bean-1 was changed since"),
        "{html}"
    );
    assert_eq!(scene.stored("bean-1").document.as_deref(), Some("Theirs."));
}

#[test]
fn a_part_of_an_act_is_undone_where_the_rest_was_changed() {
    let scene = garden();
    scene.follow(
        scene
            .form("/move?wing=garden", "/move")
            .typing("to_wing", "barn")
            .send(&scene),
    );
    let theirs = UpdateRequest {
        wing: Some("shed".into()),
        ..UpdateRequest::new(DrawerId::new("bean-2").unwrap())
    };
    scene.palace.update(&theirs).unwrap();
    let html = scene.undo();
    assert!(
        html.contains("Undone in part: moving 3 drawers. 2 drawers are as before, 1 left as it is."),
        "{html}"
    );
    assert_eq!(scene.stored("bean-1").place.wing.as_deref(), Some("garden"));
    assert_eq!(scene.stored("bean-2").place.wing.as_deref(), Some("shed"));
}

#[test]
fn only_the_visit_that_acted_can_undo_it_and_only_so_many_acts() {
    let scene = garden();
    let other = loci_web::Visit::begin().unwrap();
    for at in 0..25 {
        let text = format!("note {at}");
        scene.follow(scene.form("/add", "/add").typing("text", &text).send(&scene));
    }
    let page = scene.site.answer(&loci_web::PageRequest::get("/"), &other);
    assert!(!crate::scene::body_text(page).contains("action=\"/undo\""));
    for _ in 0..20 {
        assert!(scene.undo().contains("Undone: adding a drawer."));
    }
    assert!(scene.undo().contains("There is nothing to undo."));
    assert_eq!(scene.drawers().len(), 4 + 5);
}
