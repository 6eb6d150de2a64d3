//! Acting in a real browser: by keys, in boxes, beside another visitor, and without scripts.

use loci_testkit::{BrowserPage, BrowserPageOptions};

use super::hostile::{encode, file_hostile};
use super::scene::{WebScene, check_page, check_quiet, listed_ids};
use crate::new_home;

/// Returns the text that a drawer has now.
fn stored_text(scene: &WebScene, id: &str) -> String {
    let shown = scene.home.run(&["show", id, "--json"]).expect_code(0).json();
    shown["drawers"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_browser_gives_every_text_back_as_it_was() {
    let home = new_home();
    let drawers = file_hostile(&home);
    let scene = WebScene::serve(home, &[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    for drawer in &drawers {
        page.goto(&scene.server.url(&format!("/edit?id={}", encode(&drawer.id))));
        page.expect_load(|page| page.click_named("main button", "Save"));
        assert!(
            page.text("main").contains("Nothing was changed"),
            "{drawer:?}: {}",
            page.describe()
        );
    }
    check_quiet(&page);
}

#[test]
fn words_are_added_and_taken_back_by_keys() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    // On the first page the box has the focus, and takes every key.
    page.goto(&scene.server.url("/map"));
    page.expect_load(|page| page.press_key("n"));
    check_page(&page);
    page.type_text("u and n are typed here, and act nowhere.");
    page.fill("input[name=wing]", "garden");
    page.click("main textarea");
    page.expect_load(|page| page.press_key("Control+Enter"));
    page.wait_for_text("Filed in garden.");
    assert_eq!(
        page.text(".drawer-text"),
        "u and n are typed here, and act nowhere."
    );
    check_page(&page);
    page.expect_load(|page| page.press_key("u"));
    page.wait_for_text("Undone: adding a drawer.");
    check_page(&page);
}

#[test]
fn all_of_a_page_is_chosen_deleted_and_brought_back() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    page.goto(&scene.server.url("/list?wing=garden&room=shed&order=id"));
    let ids = listed_ids(&page);
    assert_eq!(ids.len(), 20);
    page.click_named("label", "Choose all on this page");
    check_page(&page);
    page.expect_load(|page| page.click_named(".selection-acts button", "Delete"));
    assert!(
        page.text("h1").contains("Delete 20 drawers"),
        "{}",
        page.describe()
    );
    check_page(&page);
    page.resize(320, 640);
    let overflow = page.eval("document.documentElement.scrollWidth - innerWidth");
    assert_eq!(overflow, 0, "{}", page.describe());
    page.resize(1200, 800);
    page.expect_load(|page| page.click_named("main button", "Delete 20 drawers"));
    page.wait_for_text("Deleted 20 drawers.");
    assert_eq!(listed_ids(&page), [""; 0]);
    page.expect_load(|page| page.click_named(".notice button", "Undo"));
    page.wait_for_text("Undone: deleting 20 drawers.");
    assert_eq!(listed_ids(&page), ids);
    check_page(&page);
}

#[test]
fn two_who_edit_one_drawer_both_see_what_the_other_wrote() {
    let scene = WebScene::start(&[]);
    let edit = |page: &BrowserPage| page.goto(&scene.server.url("/edit?id=bean-2"));
    let (mine, theirs) = (
        scene.open_signed_in(BrowserPageOptions::default()),
        scene.open_signed_in(BrowserPageOptions::default()),
    );
    edit(&mine);
    edit(&theirs);
    for (page, text) in [(&theirs, "Theirs."), (&mine, "Mine.")] {
        page.fill("main textarea", text);
        page.expect_load(|page| page.click_named("main button", "Save"));
    }
    assert_eq!(stored_text(&scene, "bean-2"), "Theirs.");
    mine.wait_for_text("Two versions");
    check_page_after_refusal(&mine);
    mine.resize(320, 640);
    let overflow = mine.eval("document.documentElement.scrollWidth - innerWidth");
    assert_eq!(overflow, 0, "{}", mine.describe());
    mine.expect_load(|page| page.click_named("main button", "Save mine over it"));
    assert_eq!(stored_text(&scene, "bean-2"), "Mine.");
    mine.expect_load(|page| page.press_key("u"));
    assert_eq!(stored_text(&scene, "bean-2"), "Theirs.");
}

/// Checks a page that came with a status of refusal, which the browser notes.
fn check_page_after_refusal(page: &BrowserPage) {
    assert_eq!(page.find_accessibility_faults(), [""; 0], "{}", page.describe());
    assert!(page.dialogs().is_empty());
}

#[test]
fn without_scripts_every_act_is_a_form() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions {
        javascript: false,
        ..BrowserPageOptions::default()
    });
    page.expect_load(|page| page.click_named("nav a", "Add"));
    page.fill("main textarea", "Leeks stand in winter.");
    page.expect_load(|page| page.click_named("main button", "File it"));
    page.expect_load(|page| page.click_named("main a", "Edit"));
    page.fill("input[name=room]", "beds");
    page.expect_load(|page| page.click_named("main button", "Save"));
    page.expect_load(|page| page.click_named("main a", "Move"));
    page.fill("input[name=to_wing]", "garden");
    page.expect_load(|page| page.click_named("main button", "Move 1 drawer"));
    assert!(
        page.text(".card-head").contains("garden/beds"),
        "{}",
        page.describe()
    );
    page.expect_load(|page| page.click_named("main a", "Delete"));
    page.expect_load(|page| page.click_named("main button", "Delete 1 drawer"));
    for what in [
        "deleting 1 drawer",
        "moving 1 drawer",
        "editing a drawer",
        "adding a drawer",
    ] {
        page.expect_load(|page| page.click_named(".undo-foot button", &format!("Undo {what}")));
        assert!(
            page.text("main").contains(&format!("Undone: {what}.")),
            "{}",
            page.describe()
        );
    }
    check_quiet(&page);
}

#[test]
fn a_file_of_chosen_drawers_is_downloaded() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    let folder = tempfile::tempdir().unwrap();
    scene.browser().save_downloads(folder.path());
    page.goto(&scene.server.url("/list?wing=garden&room=shed&order=id"));
    page.click("input[name=id]");
    page.expect_load(|page| page.click_named(".selection-acts button", "Export"));
    check_page(&page);
    page.click_named("main button", "Export 1 drawer");
    let files = scene.browser().wait_for_downloads(1);
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("shed-00"), "{text}");
}
