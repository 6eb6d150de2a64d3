//! Deleting: one question, exactly what was shown, and the way back.

use super::{BrowserForm, garden};
use crate::scene::{SiteScene, body_text};

#[test]
fn a_drawer_is_deleted_after_one_question_and_comes_back_whole() {
    let scene = garden();
    let before = scene.drawers();
    let html = scene.html("/delete?id=bean-1");
    assert!(
        html.contains("<h1>Delete 1 drawer</h1>") && html.contains("You can undo this until"),
        "{html}"
    );
    assert!(html.contains("/export?id=bean-1"), "{html}");
    let reply = BrowserForm::find(&html, "/delete").send(&scene);
    assert_eq!(reply.location.as_deref(), Some("/list?wing=garden&room=plants"));
    let html = scene.follow(reply);
    assert!(
        html.contains("Deleted 1 drawer.") && html.contains("Undo"),
        "{html}"
    );
    assert_eq!(scene.get("/drawer?id=bean-1").status, 404);
    let html = scene.undo();
    assert!(
        html.contains("Undone: deleting 1 drawer.") && html.contains("Runner beans"),
        "{html}"
    );
    assert_eq!(scene.drawers(), before);
}

#[test]
fn another_number_than_was_agreed_to_deletes_nothing() {
    let scene = garden();
    let form = scene.form("/delete?wing=garden", "/delete");
    scene.add("late-1", "garden", "Leeks.");
    let reply = form.send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 409);
    assert!(
        html.contains("Nothing was done.") && html.contains("Delete 4 drawers"),
        "{html}"
    );
    assert_eq!(scene.drawers().len(), 5);
    scene.follow(BrowserForm::find(&html, "/delete").send(&scene));
    assert_eq!(scene.drawers().len(), 1);
}

#[test]
fn nothing_chosen_never_means_everything() {
    let scene = garden();
    for target in [
        "/delete",
        "/move",
        "/forget",
        "/delete?wing=",
        "/delete?room=&id=",
    ] {
        assert_eq!(scene.get(target).status, 400, "{target}");
    }
    for fields in [
        &[("expected", "4")] as &[_],
        &[("expected", "many"), ("wing", "garden")],
        &[("expected", "-1"), ("id", "bean-1")],
    ] {
        assert_eq!(scene.post("/delete", fields).status, 400, "{fields:?}");
    }
    assert_eq!(scene.drawers().len(), 4);
}

#[test]
fn chosen_drawers_that_are_gone_are_named_and_no_other_takes_their_place() {
    let scene = garden();
    scene.add("bean-10", "garden", "Ten beans.");
    let reply = scene.post("/delete", &[("id", "pea-1"), ("id", "pea-1"), ("id", "gone <b>")]);
    let html = body_text(reply);
    assert!(
        html.contains("Delete 1 drawer") && html.contains("gone &lt;b&gt;"),
        "{html}"
    );
    // Another visitor deletes bean-1 between the question and the answer; bean-10 begins alike.
    let form = scene.form("/delete?id=bean-1", "/delete");
    scene.follow(scene.post("/delete", &[("id", "bean-1"), ("expected", "1")]));
    let reply = form.send(&scene);
    assert_eq!(reply.status, 409);
    scene.stored("bean-10");
}

#[test]
fn a_mined_drawer_stays_deleted_and_the_page_says_so() {
    let scene = SiteScene::new();
    let id = scene.mine_paragraphs();
    let html = scene.html(&format!("/delete?id={id}"));
    assert!(
        html.contains("Mining their sources again does not bring them back."),
        "{html}"
    );
    scene.follow(BrowserForm::find(&html, "/delete").send(&scene));
    let file = scene.folder.path().join("notes/house.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\nOne line more.\n")).unwrap();
    let request = loci_engine::MineRequest::for_paths([scene.folder.path().join("notes")]);
    scene.palace.mine(&request, &mut |_| {}).unwrap();
    assert!(scene.drawers().iter().all(|drawer| drawer.id.as_str() != id));
    assert!(scene.undo().contains("Undone: deleting 1 drawer."));
    scene.stored(&id);
}

#[test]
fn a_return_address_never_leaves_the_site() {
    let scene = garden();
    for (back, to) in [("//elsewhere", "/list"), ("/map?wing=garden", "/map?wing=garden")] {
        let id = scene.drawers()[0].id.to_string();
        let reply = scene.post("/delete", &[("id", &id), ("expected", "1"), ("back", back)]);
        assert_eq!(reply.location.as_deref(), Some(to));
    }
}
