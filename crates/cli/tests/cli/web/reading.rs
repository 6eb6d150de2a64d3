//! Reading in a real browser: signing in, searching, narrowing, the list, the map, the timeline, one drawer.

use std::collections::BTreeSet;

use loci_testkit::{Browser, BrowserPage, BrowserPageOptions, BrowserTheme};

use super::scene::{WebScene, check_page, check_quiet, listed_ids};

#[test]
fn the_link_signs_a_browser_in_once() {
    let scene = WebScene::start(&[]);
    let page = scene.browser().new_page(BrowserPageOptions::default());
    page.goto(&scene.server.link);
    assert_eq!(
        page.address(),
        scene.server.url("/"),
        "the key is not left in the address"
    );
    check_page(&page);
    assert_eq!(page.eval("document.cookie"), "", "no script reads the cookie");
    assert_eq!(page.cookies()[0]["httpOnly"], true);
    assert_eq!(page.cookies()[0]["sameSite"], "Strict");
    page.goto(&scene.server.link);
    assert_eq!(page.address(), scene.server.url("/"));
    let (other, server) = (Browser::start_prepared(), &scene.server);
    let stranger = other.new_page(BrowserPageOptions::default());
    for address in [&server.link, &server.url("/list"), &server.url("/nothing")] {
        stranger.goto(address);
        assert!(
            !stranger.text("body").contains("garden"),
            "{}",
            stranger.describe()
        );
        assert_eq!(stranger.find_accessibility_faults(), [""; 0]);
    }
    assert!(stranger.cookies().is_empty());
}

/// Types a search into the box and sends it.
fn search_for(page: &BrowserPage, query: &str) {
    page.fill("main input[name=q]", query);
    page.expect_load(|page| page.press_key("Enter"));
}

#[test]
fn a_search_is_narrowed_by_facets_and_widened_by_chips() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    check_page(&page);
    search_for(&page, "beans on the shelf");
    check_page(&page);
    assert!(
        page.count("mark") > 0 && page.count(".hit-list > li") == 10,
        "{}",
        page.describe()
    );
    page.expect_load(|page| page.click_named(".facets a", "Ada"));
    check_page(&page);
    page.expect_load(|page| page.click_named(".facets a", "shed"));
    assert_eq!(page.count(".chips li"), 2);
    let heads = page.eval("[...document.querySelectorAll('.hit-list .card-head')].every(head => head.innerText.includes('shed') && head.innerText.includes('Ada'))");
    assert_eq!(heads, true, "{}", page.describe());
    page.expect_load(|page| page.click("[aria-label='Remove Room']"));
    assert_eq!(page.count(".chips li"), 1);
    page.click(".why summary");
    page.wait_for_text("By words: rank");
    page.click(".plan summary");
    page.wait_for_text("Matched words");
    check_page(&page);
    page.click(".narrow summary");
    page.fill("input[name=since]", "2026-05-20");
    page.expect_load(|page| page.press_key("Enter"));
    assert!(page.address().contains("since=2026-05-20"), "{}", page.address());
    check_page(&page);
}

#[test]
fn pages_of_results_neither_repeat_nor_skip() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    page.goto(
        &scene
            .server
            .url("/search?q=shed+note+jars+of+beans&wing=garden&source=notes%2Fgarden%2F1.md"),
    );
    let mut seen = listed_ids(&page);
    while page.count(".pager a[rel=next]") > 0 {
        page.expect_load(|page| page.click(".pager a[rel=next]"));
        check_quiet(&page);
        seen.extend(listed_ids(&page));
    }
    let distinct: BTreeSet<String> = seen.iter().cloned().collect();
    let expected: BTreeSet<String> = (20..40).map(|n| format!("shed-{n}")).collect();
    assert_eq!((seen.len(), distinct), (20, expected));
    check_page(&page);
}

#[test]
fn why_a_drawer_is_not_found_is_explained() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    page.goto(&scene.server.url("/search?q=beans&wing=garden"));
    page.click(".why-not summary");
    page.fill(".why-not input[name=id]", "roof-1");
    page.expect_load(|page| page.click_named(".why-not button", "Explain"));
    page.wait_for_text("Why it is not found");
    check_page(&page);
    page.expect_load(|page| page.click_named("main a", "roof-1"));
    page.wait_for_text("Casa do Beco");
}

#[test]
fn list_map_and_timeline_lead_to_drawers() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    page.expect_load(|page| page.click_named("nav a", "Map"));
    check_page(&page);
    page.expect_load(|page| page.click_named(".wing-card h2 a", "garden"));
    check_page(&page);
    page.expect_load(|page| page.click_named("table a", "beans"));
    page.wait_for_text("beans");
    check_page(&page);
    page.expect_load(|page| page.click_named("main a", "All drawers"));
    check_page(&page);
    assert!(
        page.address().contains("/list?wing=garden&room=beans"),
        "{}",
        page.address()
    );
    page.expect_load(|page| page.click_named("nav a", "By id"));
    let ids = listed_ids(&page);
    assert!(ids.is_sorted() && ids[0] == "bean-1", "{ids:?}");
    page.expect_load(|page| page.click_named("nav a", "Timeline"));
    check_page(&page);
    page.goto(&scene.server.url("/timeline?year=2026"));
    let shades = "[...new Set([...document.querySelectorAll('.day-cell')].map(day => getComputedStyle(day).backgroundColor))].length";
    let shades = page.eval(shades).as_u64().unwrap();
    assert!(shades >= 3, "{shades}: days are darker the more was said on them");
    page.expect_load(|page| page.click("main a[href*='day=2026-03-04']"));
    check_page(&page);
    page.expect_load(|page| page.click_named("a.words", "Casa do Beco"));
    check_page(&page);
    assert!(page.text(".drawer-text").contains("in the rain"));
    // The page has UTC; the reader has the time of Berlin, and UTC when pointing at it.
    let time = page.eval("(time => [time.innerText, time.title])(document.querySelector('.card-head time'))");
    assert!(time[0].as_str().unwrap().contains("6:20"), "{time}");
    assert!(time[1].as_str().unwrap().contains("2026-03-04T17:20"), "{time}");
}

#[test]
fn every_script_and_hostile_name_has_its_pages() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    for (target, text) in [
        ("/search?q=%E5%A4%A7%E9%98%AA%E3%81%AE%E6%9C%9D%E5%B8%82", "七輪"),
        ("/drawer?id=%D7%A8%D7%A9%D7%99%D7%9E%D7%94", "02-555-0199"),
        ("/list?wing=garden&room=%F0%9F%8C%B1+seeds", "🥕"),
        ("/drawer?id=%3Cb+id%3Dx%3E", "more than names"),
        ("/map?wing=%3Cimg+src%3Dx+onerror%3Dalert%281%29%3E", "onclick="),
        ("/map?wing=shop", "login-test"),
        ("/drawer?id=long-1", "wwww"),
        ("/drawer?id=no-wing", "filed nowhere"),
    ] {
        scene.visit(&page, target);
        page.wait_for_text(text);
    }
    page.resize(320, 640);
    for target in [
        "/",
        "/drawer?id=long-1",
        "/list?wing=shop",
        "/map",
        "/timeline",
        "/search?q=login+test",
    ] {
        scene.visit(&page, target);
        let overflow = page.eval("document.documentElement.scrollWidth - innerWidth");
        assert_eq!(overflow, 0, "{target} is wider than the window");
    }
}

/// Returns the colors of the page: those it was asked for, and those it has.
fn colors(page: &BrowserPage) -> (String, bool) {
    let theme = page.eval("document.documentElement.dataset.theme");
    let is_dark = page.eval(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).every(part => part < 100)",
    );
    (theme.as_str().unwrap().to_owned(), is_dark.as_bool().unwrap())
}

#[test]
fn colors_follow_the_system_until_others_are_chosen_and_stay() {
    let scene = WebScene::start(&[]);
    let page = scene.open_signed_in(BrowserPageOptions {
        theme: BrowserTheme::Dark,
        ..BrowserPageOptions::default()
    });
    assert_eq!(colors(&page), ("system".to_owned(), true));
    page.goto(&scene.server.url("/list?wing=garden&order=id"));
    let next = |expect: (&str, bool)| {
        page.expect_load(|page| page.click("form.theme button"));
        assert_eq!(
            page.address(),
            scene.server.url("/list?wing=garden&order=id"),
            "one stays on the page"
        );
        assert_eq!(colors(&page), (expect.0.to_owned(), expect.1));
    };
    next(("light", false));
    next(("dark", true));
    page.set_theme(BrowserTheme::Light);
    page.reload();
    assert_eq!(colors(&page), ("dark".to_owned(), true));
    let other = scene.open_signed_in(BrowserPageOptions::default());
    assert_eq!(
        colors(&other),
        ("dark".to_owned(), true),
        "another page of the browser remembers"
    );
    for target in ["/", "/search?q=beans", "/map", "/timeline?year=2026"] {
        scene.visit(&page, target);
    }
    page.goto(&scene.server.url("/list?wing=garden&order=id"));
    page.expect_load(|page| page.click("form.theme button"));
    assert_eq!(colors(&page), ("system".to_owned(), false));
}
