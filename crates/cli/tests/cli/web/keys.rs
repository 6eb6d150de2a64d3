//! Without a mouse, and without scripts.

use loci_testkit::{BrowserPage, BrowserPageOptions};

use super::scene::{WebScene, check_page, check_quiet, listed_ids};

/// Returns what has the focus, in words.
fn focus(page: &BrowserPage) -> String {
    let words = page.eval(
        "(one => one.getAttribute('aria-label') || one.name || one.innerText || one.tagName)(document.activeElement)",
    );
    words.as_str().unwrap_or_default().trim().to_owned()
}

#[test]
fn everything_is_reached_by_keys() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    page.goto(&scene.server.url("/map"));
    page.press_key("/");
    assert_eq!(focus(&page), "Search");
    page.type_text("beans on? the shelf");
    page.expect_load(|page| page.press_key("Enter"));
    assert!(
        page.address().contains("q=beans+on%3F+the+shelf"),
        "{}",
        page.address()
    );
    let ids = listed_ids(&page);
    let chosen = || page.eval("document.querySelector('.chosen')?.dataset.id ?? ''");
    for (key, expect) in [("j", &ids[0]), ("j", &ids[1]), ("j", &ids[2]), ("k", &ids[1])] {
        page.press_key(key);
        assert_eq!(chosen(), expect.as_str(), "{key}");
    }
    check_page(&page);
    page.press_key("?");
    page.wait_until("document.querySelector('#keys').open");
    check_page(&page);
    page.press_key("j");
    assert_eq!(
        chosen(),
        ids[1].as_str(),
        "keys of the page rest while the dialog is open"
    );
    page.press_key("Escape");
    page.wait_until("!document.querySelector('#keys').open");
    for (key, path) in [("m", "/map"), ("t", "/timeline"), ("s", "/")] {
        page.press_key("g");
        page.expect_load(|page| page.press_key(key));
        assert_eq!(page.eval("location.pathname"), path);
    }
    page.goto(&scene.server.url("/list?order=id&wing=garden"));
    page.press_key("j");
    page.expect_load(|page| page.press_key("Enter"));
    assert!(
        page.address().ends_with("/drawer?id=bean-1"),
        "{}",
        page.address()
    );
    check_quiet(&page);
}

#[test]
fn tab_goes_through_a_page_in_its_order_and_past_the_navigation() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    page.goto(&scene.server.url("/map"));
    let mut stops = Vec::new();
    for _ in 0..12 {
        page.press_key("Tab");
        let outline = page.eval("getComputedStyle(document.activeElement).outlineStyle");
        assert_eq!(outline, "solid", "{} shows that it has the focus", focus(&page));
        stops.push(focus(&page));
    }
    assert_eq!(
        stops[..4],
        ["Skip to the content", "Loci, to the search", "Search", "Map"],
        "{stops:?}"
    );
    page.goto(&scene.server.url("/map"));
    page.press_key("Tab");
    page.press_key("Enter");
    page.press_key("Tab");
    let inside = page.eval("document.querySelector('main').contains(document.activeElement)");
    assert_eq!(inside, true, "{}", focus(&page));
    check_quiet(&page);
}

#[test]
fn keys_with_modifiers_and_in_boxes_are_left_to_the_browser() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    page.goto(&scene.server.url("/list?wing=garden"));
    page.press_key("Control+j");
    assert_eq!(page.count(".chosen"), 0);
    page.press_key("/");
    page.type_text("gm j?k");
    assert_eq!(page.eval("document.activeElement.value"), "gm j?k");
    page.press_key("Escape");
    page.press_key("j");
    assert_eq!(page.count(".chosen"), 1);
}

#[test]
fn without_scripts_everything_is_a_link_or_a_form() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions {
        javascript: false,
        ..BrowserPageOptions::default()
    });
    page.fill("main input[name=q]", "beans on the shelf");
    page.expect_load(|page| page.click_named("main button", "Search"));
    check_quiet(&page);
    assert_eq!(page.count(".hit-list > li"), 10);
    page.click(".narrow summary");
    page.fill("input[name=room]", "shed");
    page.expect_load(|page| page.click_named("main button", "Search"));
    assert_eq!(page.text(".chips li bdi"), "shed");
    page.expect_load(|page| page.click(".pager a[rel=next]"));
    page.expect_load(|page| page.click_named(".card-foot a", "Details"));
    assert!(
        page.text(".drawer-text").contains("Shed note"),
        "{}",
        page.describe()
    );
    assert!(page.text(".card-head time").ends_with("UTC"));
    page.expect_load(|page| page.click_named("nav a", "Timeline"));
    page.expect_load(|page| page.click("main a[href*='day=']"));
    page.expect_load(|page| page.click_named("nav a", "Map"));
    page.expect_load(|page| page.click_named(".wing-card h2 a", "garden"));
    page.fill(".search.small input[name=q]", "hazel");
    page.expect_load(|page| page.click_named(".search.small button", "Search"));
    page.wait_for_text("hazel sticks");
    page.expect_load(|page| page.click("form.theme button"));
    assert_eq!(page.eval("document.documentElement.dataset.theme"), "light");
    check_quiet(&page);
}
