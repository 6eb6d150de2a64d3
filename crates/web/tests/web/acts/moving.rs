//! Moving: the number is shown, agreed to, and kept to.

use super::{BrowserForm, garden};
use crate::scene::{SiteScene, body_text};

#[test]
fn chosen_drawers_are_shown_and_moved_and_return_each_to_its_place() {
    let scene = garden();
    let before = scene.drawers();
    let reply = scene.post(
        "/move",
        &[("id", "bean-1"), ("id", "roof-1"), ("back", "/list?order=id")],
    );
    assert_eq!(reply.status, 200);
    let html = body_text(reply);
    assert!(
        html.contains("<h1>Move 2 drawers</h1>") && html.contains("Runner beans"),
        "{html}"
    );
    let form = BrowserForm::find(&html, "/move")
        .typing("to_wing", "barn")
        .typing("to_room", "loft");
    let reply = form.send(&scene);
    assert_eq!(reply.location.as_deref(), Some("/list?order=id"));
    assert!(scene.follow(reply).contains("Moved 2 drawers to barn / loft."));
    for id in ["bean-1", "roof-1"] {
        let place = scene.stored(id).place;
        assert_eq!(
            (place.wing.as_deref(), place.room.as_deref()),
            (Some("barn"), Some("loft"))
        );
    }
    assert!(scene.undo().contains("Undone: moving 2 drawers."));
    assert_eq!(scene.drawers(), before);
}

#[test]
fn a_scope_is_moved_as_a_whole_and_those_already_there_are_told() {
    let scene = garden();
    let html = scene.html("/move?room=plants");
    assert!(
        html.contains("Move 4 drawers") && html.contains("aria-label=\"Remove Room\""),
        "{html}"
    );
    let reply = BrowserForm::find(&html, "/move")
        .typing("to_wing", "garden")
        .send(&scene);
    assert_eq!(reply.location.as_deref(), Some("/list?wing=garden"));
    let html = scene.follow(reply);
    assert!(
        html.contains("Moved 1 drawer to garden; 3 stood there already."),
        "{html}"
    );
}

#[test]
fn another_number_than_was_agreed_to_moves_nothing() {
    let scene = garden();
    let form = scene.form("/move?wing=garden", "/move").typing("to_wing", "barn");
    scene.add("late-1", "garden", "Leeks.");
    let before = scene.drawers();
    let reply = form.send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 409);
    assert!(
        html.contains("Nothing was done.") && html.contains("3 drawers") && html.contains("Move 4 drawers"),
        "{html}"
    );
    assert_eq!(scene.drawers(), before);
    let again = BrowserForm::find(&html, "/move");
    assert_eq!(
        (again.value("to_wing"), again.value("expected")),
        ("barn", "4"),
        "what was typed stays"
    );
    assert!(scene.follow(again.send(&scene)).contains("Moved 4 drawers"));
}

#[test]
fn a_move_without_a_target_is_explained_on_its_page() {
    let scene = garden();
    let reply = scene.form("/move?id=bean-1", "/move").send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 400);
    assert!(
        html.contains("needs a target") && html.contains("<h1>Move 1 drawer</h1>"),
        "{html}"
    );
    let reply = scene
        .form("/move?id=bean-1", "/move")
        .typing("to_room", "shed")
        .send(&scene);
    assert_eq!(reply.location.as_deref(), Some("/drawer?id=bean-1"));
}

#[test]
fn thousands_of_chosen_drawers_are_moved_and_return() {
    let scene = SiteScene::new();
    let ids: Vec<String> = (0..2_500).map(|at| format!("note-{at:04}")).collect();
    let filing = scene.palace.open_filing(None).unwrap();
    let new = |id: &String| {
        let mut new = loci_core::NewDrawer::new(loci_core::DrawerId::new(id.as_str()).unwrap(), id.as_str());
        new.place.wing = Some("many".into());
        loci_core::Write::Add(new)
    };
    filing.apply(ids.iter().map(new).collect()).unwrap();
    let fields: Vec<(&str, &str)> = ids.iter().map(|id| ("id", id.as_str())).collect();
    let html = body_text(scene.post("/move", &fields));
    assert!(
        html.contains("Move 2,500 drawers") && html.contains("and 2,490 more"),
        "{}",
        html.len()
    );
    let form = BrowserForm::find(&html, "/move").typing("to_wing", "barn");
    assert!(
        scene
            .follow(form.send(&scene))
            .contains("Moved 2,500 drawers to barn.")
    );
    assert!(scene.undo().contains("Undone: moving 2500 drawers."));
    assert!(
        scene
            .drawers()
            .iter()
            .all(|drawer| drawer.place.wing.as_deref() == Some("many"))
    );
}
