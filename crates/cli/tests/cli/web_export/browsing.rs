//! The file in a real browser, opened as a file: it asks for nothing, says nothing, and finds everything.

use std::path::Path;

use loci_testkit::{Browser, BrowserPage, BrowserPageOptions, BrowserTheme, TempHome};

use super::scene::{HOSTILE, furnish_garden};
use crate::new_home;

/// A browser and the page of the garden in it.
struct OpenedFile {
    browser: Browser,
    home: TempHome,
    address: String,
}

impl OpenedFile {
    fn new() -> Self {
        let home = new_home();
        furnish_garden(&home);
        home.json(0, &["web", "--export", "garden.html"]);
        let address = format!("file://{}", home.path("garden.html").display());
        Self {
            browser: Browser::start_prepared(),
            home,
            address,
        }
    }

    fn open(&self, route: &str, options: BrowserPageOptions) -> BrowserPage {
        let page = self.browser.new_page(options);
        page.goto(&format!("{}{route}", self.address));
        if options.javascript {
            wait_for_view(&page);
        }
        page
    }

    /// Checks that the page asked for nothing but itself, and that nothing ran or complained.
    #[track_caller]
    fn expect_quiet(&self, page: &BrowserPage) {
        let others: Vec<String> = page
            .requests()
            .into_iter()
            .filter(|one| one.split('#').next() != Some(self.address.as_str()))
            .collect();
        assert_eq!(others, [""; 0]);
        assert!(
            page.messages().is_empty() && page.dialogs().is_empty(),
            "{}",
            page.describe()
        );
        assert_eq!(self.browser.opened_pages(), 1);
    }
}

/// Waits until everything is read and shown.
fn wait_for_view(page: &BrowserPage) {
    page.wait_until("document.querySelector('.file-note') && document.getElementById('reading').hidden");
}

fn search(page: &BrowserPage, words: &str) {
    page.fill("#q", words);
    page.press_key("Enter");
    // The title follows the results.
    let shown = format!(
        "document.title.startsWith({:?})",
        if words.is_empty() { "Search" } else { words }
    );
    page.wait_until(&shown);
}

fn found(page: &BrowserPage) -> Vec<String> {
    let ids = page.eval("[...document.querySelectorAll('.hit-list [data-id]')].map(item => item.dataset.id)");
    let ids = ids.as_array().unwrap().iter();
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn words_phrases_and_scripts_without_spaces_are_found_and_marked() {
    let file = OpenedFile::new();
    let page = file.open("", BrowserPageOptions::default());
    assert_eq!(page.text("#status"), "1–20 of 144 drawers");
    for (words, expected) in [
        ("last frost", vec!["bean-1", "bean-2"]),
        ("\"last frost\"", vec!["bean-1"]),
        ("CAFE bean", vec!["bean-1"]),
        ("haz", vec!["bean-2"]),
        ("roof frost nothing-like-it", vec!["roof-1"]),
        ("大きい", vec!["japanese"]),
        ("豆", vec!["japanese"]),
        ("الفاصوليا", vec!["arabic"]),
        ("הכפור", vec!["hebrew"]),
        ("Message 77", vec!["talk-077"]),
    ] {
        search(&page, words);
        let ids = found(&page);
        for id in &expected {
            assert!(ids.iter().any(|one| one == id), "{words}: {ids:?}");
        }
        assert!(
            ids.len() == expected.len() || words.contains("nothing"),
            "{words}: {ids:?}"
        );
        assert!(page.count("mark") > 0, "{words}");
    }
    search(&page, "last frost");
    assert_eq!(page.text(".hit-list mark"), "last");
    // Nothing holds all of these words; those that hold some are shown, and that is told.
    search(&page, "roof hazel");
    assert!(
        page.text("#status").starts_with("No drawer has all"),
        "{}",
        page.text("#status")
    );
    search(&page, "zzz");
    assert!(page.text("#view").contains("Nothing was found"));
    file.expect_quiet(&page);
}

#[test]
fn facets_narrow_chips_take_back_and_the_address_keeps_it_all() {
    let file = OpenedFile::new();
    let page = file.open("#q=frost&sort=newest", BrowserPageOptions::default());
    assert_eq!(found(&page), ["bean-2", "bean-1"]);
    page.click_named(".facets a", "Ada");
    page.wait_until("document.querySelectorAll('.hit-list li').length === 1");
    assert_eq!(found(&page), ["bean-1"]);
    assert!(
        page.text(".facets").contains("Bob"),
        "the other speaker can still be chosen"
    );
    page.click("a[aria-label='Remove Speaker']");
    page.wait_until("document.querySelectorAll('.hit-list li').length === 2");
    page.eval("history.back(); 0");
    page.wait_until("document.querySelectorAll('.hit-list li').length === 1");
    page.click("#brand, .brand");
    page.wait_until("document.getElementById('status').textContent.includes('144')");
    page.click("#next");
    page.wait_until("document.getElementById('status').textContent.startsWith('21–40')");
    // A name that is missing is chosen by a parameter of its own.
    page.goto(&format!("{}#no=source&wing=garden", file.address));
    page.wait_until("document.getElementById('status').textContent === '4 drawers'");
    file.expect_quiet(&page);
}

#[test]
fn sources_are_read_in_order_and_drawers_have_addresses() {
    let file = OpenedFile::new();
    let page = file.open(
        "#open=/home/ada/chats/compost.jsonl&at=talk-090",
        BrowserPageOptions::default(),
    );
    let ids = "[...document.querySelectorAll('.transcript [data-id]')].map(item => item.dataset.id)";
    assert!(
        page.eval(&format!(
            "{ids}.includes('talk-090') && !{ids}.includes('talk-010')"
        )) == true
    );
    let top = "document.querySelector('.here').getBoundingClientRect().top";
    assert!(
        page.eval(&format!("{top} > 0 && {top} < innerHeight")) == true,
        "it is in view"
    );
    page.click_named("button", "earlier");
    page.wait_until(&format!("{ids}.length === 130"));
    assert!(page.eval(&format!("{ids}.join() === {ids}.sort().join()")) == true);
    page.click(".passage.here a.place-mark");
    page.wait_until("document.querySelector('h1').textContent === 'Drawer'");
    assert!(page.address().ends_with("#d=talk-090"), "{}", page.address());
    assert_eq!(page.eval("document.activeElement.tagName"), "H1");
    let said = page.eval("document.querySelector('time').title");
    assert_eq!(said, "2026-03-01T09:30:00Z (UTC)");
    assert_eq!(page.text("time"), "Mar 1, 2026, 10:30 AM", "the time in Berlin");
    page.goto(&format!("{}#d=bean-", file.address));
    page.wait_for_text("This drawer is not in this file");
    page.goto(&format!("{}#view=wings", file.address));
    page.wait_for_text("144 drawers in");
    page.click_named(".wing-card h2 a", "house");
    page.wait_until("document.querySelectorAll('.hit-list li').length === 1");
    file.expect_quiet(&page);
}

#[test]
fn everything_can_be_done_by_keys() {
    let file = OpenedFile::new();
    let page = file.open("#q=frost", BrowserPageOptions::default());
    page.press_key("j");
    page.press_key("j");
    page.press_key("k");
    assert_eq!(page.count(".card.chosen"), 1);
    page.press_key("Enter");
    page.wait_until("location.hash.startsWith('#d=bean-') && document.activeElement.tagName === 'H1'");
    page.press_key("/");
    assert_eq!(page.eval("document.activeElement.id"), "q");
    page.type_text("compost j");
    page.wait_until("document.title.startsWith('compost j')");
    page.press_key("Escape");
    page.press_key("g");
    page.press_key("w");
    page.wait_for_text("Wings");
    page.press_key("?");
    page.wait_until("document.getElementById('keys').open");
    page.press_key("Escape");
    page.wait_until("!document.getElementById('keys').open");
    page.press_key("g");
    page.press_key("s");
    page.wait_until("document.getElementById('status').textContent.includes('144')");
    page.press_key("n");
    page.wait_until("document.getElementById('status').textContent.startsWith('21–40')");
    page.press_key("t");
    assert_eq!(page.eval("document.documentElement.dataset.theme"), "light");
    file.expect_quiet(&page);
}

#[test]
fn hostile_texts_are_only_shown() {
    let file = OpenedFile::new();
    let page = file.open("#q=hostile", BrowserPageOptions::default());
    assert_eq!(found(&page).len(), HOSTILE.len());
    let shown = page.text("#view");
    assert!(
        shown.contains("</script><script>alert(1)</script>")
            && shown.contains("U+202E")
            && shown.contains("U+0000")
    );
    assert_eq!(
        page.count("#view img") + page.count("#view script") + page.count("[style]"),
        0
    );
    for at in 0..HOSTILE.len() {
        page.click(&format!(".hit-list li:nth-child({}) a.words", at + 1));
        page.wait_until("document.querySelector('h1')?.textContent === 'Drawer'");
        page.click_named("a", "Read it in its source");
        page.wait_until("document.querySelector('.transcript')");
        page.eval("history.go(-2); 0");
        page.wait_until("document.querySelector('.hit-list')");
    }
    page.goto(&format!("{}#view=wings", file.address));
    page.wait_for_text("Wings");
    // Every link leads to a place in the file.
    assert_eq!(
        page.eval("[...document.links].filter(link => !link.getAttribute('href').startsWith('#')).length"),
        0
    );
    file.expect_quiet(&page);
    // The policy holds whatever the script does.
    let refused = page
        .eval("(() => { try { document.body.innerHTML = '<b>'; return false } catch { return true } })()");
    assert_eq!(refused, true);
}

#[test]
fn the_page_has_no_faults_at_any_width_in_either_theme() {
    let file = OpenedFile::new();
    // `LOCI_PICTURES=FOLDER` keeps pictures of what is checked.
    let pictures = std::env::var_os("LOCI_PICTURES");
    let routes = [
        ("list", "#q="),
        ("results", "#q=frost&wing=garden"),
        ("hostile", "#q=hostile"),
        ("source", "#open=/home/ada/chats/compost.jsonl"),
        ("drawer", "#d=bean-1"),
        ("wings", "#view=wings"),
    ];
    let page = file.open("", BrowserPageOptions::default());
    for theme in [BrowserTheme::Light, BrowserTheme::Dark] {
        page.set_theme(theme);
        for width in [320, 360, 900, 1600] {
            page.resize(width, 900);
            for (name, route) in routes {
                // Loaded anew, as by somebody who opens a link.
                page.goto("about:blank");
                page.goto(&format!("{}{route}", file.address));
                wait_for_view(&page);
                if let Some(folder) = &pictures {
                    let picture = format!("{name}-{width}-{theme:?}.png");
                    page.save_picture(&Path::new(folder).join(picture), 1600);
                }
                let at = format!("{name} {width} {theme:?}");
                assert_eq!(page.find_accessibility_faults(), [""; 0], "{at}");
                assert_eq!(page.eval("document.documentElement.scrollWidth"), width, "{at}");
            }
        }
    }
}

#[test]
fn a_file_that_was_cut_off_says_so_and_shows_what_is_there() {
    let file = OpenedFile::new();
    let whole = std::fs::read_to_string(file.home.path("garden.html")).unwrap();
    let cut = whole.find("\"id\":\"talk-100\"").unwrap() + 40;
    std::fs::write(file.home.path("garden.html"), &whole[..cut]).unwrap();
    let page = file.open("#q=frost", BrowserPageOptions::default());
    assert_eq!(found(&page).len(), 2);
    let told = page.text("#notices");
    assert!(
        told.contains("This file is not whole") && told.contains("of 144"),
        "{told}"
    );
    file.expect_quiet(&page);
}

#[test]
fn without_scripts_every_drawer_is_there_to_read() {
    let file = OpenedFile::new();
    let options = BrowserPageOptions {
        javascript: false,
        ..BrowserPageOptions::default()
    };
    let page = file.open("", options);
    let shown = page.text("body");
    for part in [
        "Drawers of the palace",
        "The runner beans go in",
        "Message 129",
        "\\u202egpj.exe",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(
        page.eval("document.getElementById('app').checkVisibility()"),
        false
    );
    file.expect_quiet(&page);
}
