//! Adding: words are kept as they were typed, and nothing that is refused is lost.

use loci_core::OriginKind;

use super::{BrowserForm, garden};
use crate::scene::{SiteScene, body_text};

#[test]
fn typed_words_are_filed_in_the_owners_name_and_the_page_says_where() {
    let scene = SiteScene::new();
    let form = scene.form("/add?wing=garden", "/add");
    assert_eq!(form.value("wing"), "garden", "an address may fill in a place");
    let reply = form
        .typing("text", "\n First line,\nsecond  line \n")
        .typing("room", "beans")
        .typing("speaker", "Ada")
        .send(&scene);
    let html = scene.follow(reply);
    assert!(
        html.contains("Filed in garden / beans.") && html.contains("trust-user"),
        "{html}"
    );
    let drawer = &scene.drawers()[0];
    assert_eq!(
        drawer.document.as_deref(),
        Some("\n First line,\nsecond  line \n")
    );
    assert_eq!(
        (drawer.place.room.as_deref(), drawer.place.speaker.as_deref()),
        (Some("beans"), Some("Ada"))
    );
    assert_eq!(drawer.provenance.as_ref().unwrap().origin, OriginKind::Hand);
    assert!(drawer.embedding.is_some(), "it is found by meaning at once");
}

#[test]
fn an_empty_text_is_refused_and_the_rest_stays_typed() {
    let scene = SiteScene::new();
    let form = scene
        .form("/add", "/add")
        .typing("text", " \n ")
        .typing("wing", "garden")
        .typing("source", "a book");
    let reply = form.send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 400);
    assert!(
        html.contains("Nothing was filed.") && html.contains("the text is empty"),
        "{html}"
    );
    let again = BrowserForm::find(&html, "/add");
    assert_eq!((again.value("wing"), again.value("source")), ("garden", "a book"));
    assert!(
        html.contains("<details open>"),
        "the box with the source is in sight"
    );
    assert!(!scene.palace.exists().unwrap());
}

#[test]
fn what_is_refused_comes_back_in_the_box_to_the_last_character() {
    let scene = SiteScene::new();
    let hostile = "</textarea><script>alert(1)</script>\n\u{202e}&amp;";
    let reply = scene
        .form("/add", "/add")
        .typing("text", hostile)
        .typing("wing", " \u{7} ")
        .send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 400, "{html}");
    assert!(!html.contains("<script>alert"), "{html}");
    assert_eq!(
        BrowserForm::find(&html, "/add")
            .value("text")
            .replace("\r\n", "\n"),
        hostile
    );

    let huge = "beans ".repeat((1 << 20) / 6 + 1);
    let reply = scene.form("/add", "/add").typing("text", &huge).send(&scene);
    let (status, html) = (reply.status, body_text(reply));
    assert_eq!(status, 400);
    assert!(html.contains("one call files at most"), "a limit is named");
    assert_eq!(BrowserForm::find(&html, "/add").value("text").len(), huge.len());
}

#[test]
fn words_that_are_there_already_are_told_with_their_drawer() {
    let scene = SiteScene::new();
    let form = scene
        .form("/add", "/add")
        .typing("text", "Peas go in earlier.")
        .typing("wing", "garden");
    scene.follow(form.send(&scene));
    let html = scene.follow(form.send(&scene));
    assert!(
        html.contains("already filed in garden") && html.contains("Nothing was added"),
        "{html}"
    );
    assert!(html.contains("Peas go in earlier."), "the drawer itself is shown");
    assert_eq!(scene.drawers().len(), 1);
}

#[test]
fn a_wing_is_spelled_as_the_palace_does_and_its_name_is_harmless() {
    let scene = garden();
    let form = scene
        .form("/add", "/add")
        .typing("text", "Leeks.")
        .typing("wing", "GARDEN")
        .typing("room", "<b>\"x");
    let html = scene.follow(form.send(&scene));
    assert!(html.contains("Filed in garden / &lt;b&gt;&quot;x."), "{html}");
    assert!(!html.contains("<b>\"x"), "{html}");
}

#[test]
fn a_secret_is_sealed_and_the_page_says_so() {
    let scene = SiteScene::new();
    let form = scene.form("/add", "/add").typing(
        "text",
        "See postgres://ada:Ab3dEf6hIj9kLm2n@db.example.org/garden now.",
    );
    let html = scene.follow(form.send(&scene));
    assert!(html.contains("Secrets: sealed"), "{html}");
    assert!(!html.contains("Ab3dEf6hIj9kLm2n"), "{html}");
}
