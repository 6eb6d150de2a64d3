//! Sixty stored texts and names that try to break out of every page that shows them.

mod texts;

use std::cell::OnceCell;

use loci_testkit::{BrowserPage, BrowserPageOptions, TempHome};
use serde_json::{Value as Json, json};

use self::texts::{hostile_texts, name_of};
use super::scene::{WebScene, check_page, check_quiet};
use crate::new_home;

/// A page that shows stored texts or names: its address, for a drawer that [`file_hostile`] filed.
type HostileAddress = fn(&HostileDrawer) -> String;

/// Every page that shows one drawer or its names, that of the drawer last. Pages that come later are added before it.
const ADDRESSES: &[(&str, HostileAddress)] = &[
    ("search", |drawer| {
        format!("/search?q={}", encode(&drawer.start()))
    }),
    ("wing", |drawer| format!("/map?wing={}", encode(&drawer.name))),
    ("edit", |drawer| format!("/edit?id={}", encode(&drawer.id))),
    ("move", |drawer| format!("/move?wing={}", encode(&drawer.name))),
    ("delete", |drawer| format!("/delete?id={}", encode(&drawer.id))),
    ("forget", |drawer| {
        format!("/forget?wing={}", encode(&drawer.name))
    }),
    ("export", |drawer| {
        format!("/export?wing={}", encode(&drawer.name))
    }),
    ("drawer", |drawer| format!("/drawer?id={}", encode(&drawer.id))),
];

/// Every page that shows many, and is visited once.
const SHARED_PAGES: [&str; 9] = [
    "/",
    "/add",
    "/map",
    "/list?order=id",
    "/list?order=filed",
    "/timeline?year=2026",
    "/timeline?day=2026-05-01",
    "/search?q=hostile",
    "/search?q=alert+script",
];

/// A drawer whose text and names are hostile.
#[derive(Debug)]
pub(super) struct HostileDrawer {
    pub(super) id: String,
    /// Its wing, room, source, speaker and kind.
    name: String,
    text: String,
}

impl HostileDrawer {
    /// The beginning of its text, for a query.
    fn start(&self) -> String {
        self.text.chars().take(200).collect()
    }

    fn line(&self) -> Json {
        let name = &self.name;
        json!({
            "id": self.id, "document": self.text, "wing": name, "room": name, "source": name, "speaker": name, "kind": name,
            "said_at": "2026-05-01T12:00:00Z", "metadata": { name.as_str(): self.text.chars().take(2000).collect::<String>() },
        })
    }
}

pub(super) fn encode(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|byte| {
            if is_plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Files every text, under names that are as hostile.
pub(super) fn file_hostile(home: &TempHome) -> Vec<HostileDrawer> {
    let texts = hostile_texts();
    assert!(texts.len() >= 60, "{}", texts.len());
    let drawers: Vec<HostileDrawer> = texts
        .into_iter()
        .enumerate()
        .map(|(n, text)| HostileDrawer {
            id: format!("{n:02} {}", name_of(&text)),
            name: name_of(&text),
            text,
        })
        .collect();
    let lines: String = drawers
        .iter()
        .map(|drawer| format!("{}\n", drawer.line()))
        .collect();
    home.file_lines(&lines);
    drawers
}

/// Returns the text that an element shows, with the characters that it shows by their codes.
fn read_text(page: &BrowserPage, selector: &str) -> String {
    let text = page.eval(&format!(
        "(element => {{
            const copy = element.cloneNode(true);
            for (const sign of copy.querySelectorAll('.unseen')) sign.replaceWith(String.fromCodePoint(parseInt(sign.textContent.slice(2), 16)));
            return copy.textContent;
        }})(document.querySelector({}))",
        json!(selector)
    ));
    text.as_str().unwrap().to_owned()
}

#[test]
fn no_stored_text_becomes_more_than_text() {
    let home = new_home();
    let drawers = file_hostile(&home);
    let scene = WebScene::serve(home, &[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    for (at, drawer) in drawers.iter().enumerate() {
        for (name, address) in ADDRESSES {
            page.goto(&scene.server.url(&address(drawer)));
            // Checks of the whole page take long; the pages differ in their texts alone.
            if at % 20 == 0 {
                check_page(&page);
            } else {
                check_quiet(&page);
            }
            assert_eq!(page.count("main .problem"), 0, "{name}: {}", page.describe());
        }
        // A long text is shown in part until all of it is asked for.
        let rest = "main a[href*=\"whole=1\"]";
        if page.count(rest) == 1 {
            page.expect_load(|page| page.click(rest));
        }
        // The last page is that of the drawer, which ends lines as HTML does.
        assert_eq!(
            read_text(&page, ".drawer-text"),
            drawer.text.replace("\r\n", "\n"),
            "{drawer:?}"
        );
    }
    assert_eq!(scene.browser().opened_pages(), 1, "no page opened another");
}

#[test]
fn pages_that_show_many_hostile_names_are_as_every_other() {
    let home = new_home();
    file_hostile(&home);
    let scene = WebScene::serve(home, &[]);
    let page = scene.open_signed_in(BrowserPageOptions::default());
    for target in SHARED_PAGES {
        scene.visit(&page, target);
        let overflow = page.eval("document.documentElement.scrollWidth - innerWidth");
        assert_eq!(overflow, 0, "{target} is wider than the window");
    }
    assert_eq!(scene.browser().opened_pages(), 1);
}

#[test]
fn what_an_address_says_is_as_hostile_as_what_is_stored() {
    let scene = WebScene::start(&[]);
    let visitor = scene.visitor();
    let browser: OnceCell<BrowserPage> = OnceCell::new();
    for text in hostile_texts() {
        let text = encode(&text.chars().take(300).collect::<String>());
        for target in [
            format!("/search?q={text}&wing={text}&room={text}&only={text}&cursor={text}"),
            format!("/search?q=beans&since={text}"),
            format!("/list?order={text}&kind={text}&where={text}"),
            format!("/map?wing={text}&room={text}&skip={text}"),
            format!("/timeline?year={text}&by={text}"),
            format!("/timeline?day={text}"),
            format!("/drawer?id={text}"),
            format!("/why-not?q={text}&id={text}"),
            format!("/add?wing={text}&room={text}&source={text}"),
            format!("/edit?id={text}"),
            format!("/delete?id={text}&wing={text}&back={text}"),
            format!("/move?where={text}&to_wing={text}"),
        ] {
            let answer = visitor.get(&target);
            assert!(
                (200..505).contains(&answer.status) && answer.status != 500,
                "{target}: {answer:?}"
            );
        }
        // A browser notes every page that was not found, so only one that is found is opened.
        let page = browser.get_or_init(|| scene.open_signed_in(BrowserPageOptions::default()));
        page.goto(&scene.server.url(&format!("/search?q={text}")));
        check_quiet(page);
    }
}
