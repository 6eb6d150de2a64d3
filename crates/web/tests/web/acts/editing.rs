//! Editing: saved only over what was seen; nothing is overwritten silently, and nothing typed is lost.

use loci_core::DrawerId;
use loci_engine::update::UpdateRequest;

use super::{BrowserForm, garden};
use crate::scene::{SiteScene, body_text};

/// Changes a drawer as an agent would meanwhile.
fn change(scene: &SiteScene, id: &str, change: impl FnOnce(&mut UpdateRequest)) {
    let mut request = UpdateRequest::new(DrawerId::new(id).unwrap());
    change(&mut request);
    scene.palace.update(&request).unwrap();
}

#[test]
fn text_and_place_are_changed_and_undone() {
    let scene = garden();
    let before = scene.stored("bean-1");
    let form = scene.form("/edit?id=bean-1", "/edit");
    assert_eq!(form.value("text"), "Runner beans go in after the last frost.");
    let reply = form
        .typing("text", "Beans:\nin May.")
        .typing("wing", "HOUSE")
        .typing("room", "")
        .send(&scene);
    let html = scene.follow(reply);
    assert!(html.contains("Saved.") && html.contains("in May."), "{html}");
    let after = scene.stored("bean-1");
    assert_eq!(after.document.as_deref(), Some("Beans:\nin May."));
    assert_eq!(
        (after.place.wing.as_deref(), after.place.room),
        (Some("house"), None)
    );
    assert!(scene.undo().contains("Undone: editing a drawer."));
    assert_eq!(scene.stored("bean-1"), before);
}

#[test]
fn a_form_that_nobody_touched_changes_not_one_byte() {
    let scene = SiteScene::new();
    for (at, text) in ["\nfirst\n\nsecond", "one\r\ntwo\r\n", "a\r\nb\nc\rd\0e", "  ", ""]
        .iter()
        .enumerate()
    {
        let id = format!("d-{at}");
        scene.add_with(&id, "odd  wing\n", text, |drawer| {
            drawer.place.speaker = Some(" Ada ".into())
        });
        let before = scene.stored(&id);
        let html = scene.follow(scene.form(&format!("/edit?id={id}"), "/edit").send(&scene));
        assert!(html.contains("Nothing was changed"), "{text:?}: {html}");
        assert_eq!(scene.stored(&id), before);
    }
}

#[test]
fn line_breaks_stay_those_of_the_stored_text() {
    let scene = SiteScene::new();
    scene.add("dos", "w", "one\r\ntwo\r\n");
    scene.follow(
        scene
            .form("/edit?id=dos", "/edit")
            .typing("text", "one\nthree\n")
            .send(&scene),
    );
    assert_eq!(scene.stored("dos").document.as_deref(), Some("one\r\nthree\r\n"));
    scene.add("mixed", "w", "one\r\ntwo\n\0");
    let html = scene.html("/edit?id=mixed");
    assert!(
        html.contains("characters that a browser does not give back"),
        "{html}"
    );
}

#[test]
fn an_edit_that_meets_another_writes_nothing_and_shows_both() {
    let scene = garden();
    let form = scene.form("/edit?id=bean-1", "/edit").typing("text", "Mine <b>.");
    change(&scene, "bean-1", |request| {
        request.text = Some("Theirs <i>.".into());
        request.wing = Some("barn".into());
    });
    let theirs = scene.stored("bean-1");
    let reply = form.send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 409);
    for part in [
        "Nothing was saved.",
        "Theirs &lt;i&gt;.",
        "Mine &lt;b&gt;.",
        "differ in: text.",
        "/drawer?id=bean-1",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert_eq!(scene.stored("bean-1"), theirs);
    // Knowingly, mine is saved over theirs; the wing that I left alone is theirs.
    let over = BrowserForm::find(&html, "/edit");
    assert_eq!((over.value("text"), over.value("wing")), ("Mine <b>.", "barn"));
    scene.follow(over.send(&scene));
    let saved = scene.stored("bean-1");
    assert_eq!(
        (saved.document.as_deref(), saved.place.wing.as_deref()),
        (Some("Mine <b>."), Some("barn"))
    );
    scene.undo();
    assert_eq!(
        scene.stored("bean-1"),
        theirs,
        "undone, it is what it was before me"
    );
}

#[test]
fn the_second_version_may_meet_a_third() {
    let scene = garden();
    let form = scene.form("/edit?id=bean-1", "/edit").typing("text", "Mine.");
    change(&scene, "bean-1", |request| request.text = Some("Theirs.".into()));
    let html = body_text(form.send(&scene));
    change(&scene, "bean-1", |request| request.text = Some("A third.".into()));
    let reply = BrowserForm::find(&html, "/edit").send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 409);
    assert!(html.contains("A third.") && html.contains("Mine."), "{html}");
    assert_eq!(scene.stored("bean-1").document.as_deref(), Some("A third."));
}

#[test]
fn words_for_a_drawer_that_is_gone_can_be_filed_anew() {
    let scene = garden();
    let form = scene
        .form("/edit?id=bean-1", "/edit")
        .typing("text", "A long evening's work.");
    scene.follow(scene.post("/delete", &[("id", "bean-1"), ("expected", "1")]));
    let reply = form.send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 409);
    assert!(html.contains("was removed while you were editing"), "{html}");
    let anew = BrowserForm::find(&html, "/add");
    assert_eq!(
        (anew.value("text"), anew.value("wing")),
        ("A long evening's work.", "garden")
    );
    assert!(
        scene
            .follow(anew.send(&scene))
            .contains("Filed in garden / plants.")
    );
}

#[test]
fn what_cannot_be_saved_is_told_beside_what_was_typed() {
    let scene = garden();
    let before = scene.drawers();
    for (field, value, message) in [
        ("text", " \n", "the text is empty"),
        ("room", "\u{7}", "is not a valid room name"),
    ] {
        let reply = scene
            .form("/edit?id=bean-1", "/edit")
            .typing("kind", "typed kind")
            .typing(field, value)
            .send(&scene);
        let (status, html) = (reply.status, body_text(reply));
        assert_eq!(status, 400);
        assert!(
            html.contains("Nothing was changed.") && html.contains(message),
            "{html}"
        );
        assert_eq!(BrowserForm::find(&html, "/edit").value("kind"), "typed kind");
    }
    assert_eq!(scene.drawers(), before);
    assert_eq!(scene.get("/edit?id=nobody").status, 404);
    assert_eq!(scene.get("/edit").status, 400);
}

#[test]
fn hostile_text_stays_in_its_box() {
    let scene = SiteScene::new();
    let text = "</textarea><script>alert(1)</script>";
    scene.add("h", "\"><script>", text);
    let html = scene.html("/edit?id=h");
    assert!(
        !html.contains("<script>alert") && !html.contains("\"><script>"),
        "{html}"
    );
    assert_eq!(BrowserForm::find(&html, "/edit").value("text"), text);
}

#[test]
fn a_mined_drawer_is_edited_with_a_warning() {
    let scene = SiteScene::new();
    let id = scene.mine_paragraphs();
    let html = scene.html(&format!("/edit?id={id}"));
    assert!(
        html.contains("by mining") && html.contains("the drawer is replaced"),
        "{html}"
    );
    let by_hand = garden();
    assert!(!by_hand.html("/edit?id=bean-1").contains("by mining"));
}

#[test]
fn a_text_that_is_too_long_for_an_edit_keeps_it_and_moves() {
    let scene = SiteScene::new();
    let long = "beans ".repeat((1 << 20) / 6 + 1);
    scene.add("long", "garden", &long);
    let html = scene.html("/edit?id=long");
    assert!(!html.contains("<textarea") && html.contains("more than one edit may hold"));
    scene.follow(
        BrowserForm::find(&html, "/edit")
            .typing("wing", "barn")
            .send(&scene),
    );
    let stored = scene.stored("long");
    assert_eq!(
        (stored.document.unwrap(), stored.place.wing.as_deref()),
        (long, Some("barn"))
    );
}
