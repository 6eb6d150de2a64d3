//! Sources in a real browser: parts that load while one scrolls, keys, and what assistive software sees.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use loci_testkit::{Browser, BrowserPage, BrowserPageOptions, BrowserTheme};
use loci_web::ReplyBody;

use super::*;

/// What a page may load and run: only the files of the page itself.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A scene that a browser can open.
struct ServedScene {
    scene: SiteScene,
    /// Whether parts fail to load.
    is_broken: AtomicBool,
}

/// Serves a scene until the test ends, and returns its address.
fn serve(scene: SiteScene) -> (Arc<ServedScene>, String) {
    let served = Arc::new(ServedScene {
        scene,
        is_broken: AtomicBool::new(false),
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let shared = Arc::clone(&served);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(stream), shared) = (stream, Arc::clone(&shared)) else {
                return;
            };
            thread::spawn(move || answer(&shared, &stream));
        }
    });
    (served, address)
}

/// Answers one request; a browser also opens connections that it does not use.
fn answer(served: &ServedScene, mut stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    lines.find(String::is_empty);
    let target = first.split(' ').nth(1).unwrap_or("/");
    let mut reply = served.scene.get(target);
    if target.starts_with("/source/part") && served.is_broken.load(Ordering::SeqCst) {
        reply.status = 500;
    }
    let ReplyBody::Whole(body) = reply.body else {
        return;
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {} Reply\r\ncontent-type: {}\r\ncontent-security-policy: {POLICY}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply.status,
        reply.media_type,
        body.len()
    );
    let _ = stream.write_all(&body);
}

/// A conversation of 700 messages, some of them folded.
fn long_talk() -> SiteScene {
    let scene = SiteScene::new();
    say(&scene, "m-first", 0, "How it began.");
    let messages = (0..700_u64).map(|at| {
        let text = format!(
            "Message {at}. {}",
            "Of knots and ropes. ".repeat((at % 11) as usize)
        );
        let mut drawer = message("talk", &format!("m{at:03}"), 1_000 + at * 1_000, &text);
        drawer.place.kind = Some(["human", "assistant", "tool_call"][at as usize % 3].into());
        drawer.place.said_at = Some(format!("2026-05-{:02}T10:00:00Z", at / 50 + 1).parse().unwrap());
        drawer
    });
    write_all(&scene, messages);
    scene
}

const IDS: &str = "[...document.querySelectorAll('.part [data-id]')].map((item) => item.dataset.id)";

fn shown_ids(page: &BrowserPage) -> Vec<String> {
    let ids = page.eval(IDS);
    ids.as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

/// Asserts that the messages on a page follow each other without a gap.
#[track_caller]
fn check_order(page: &BrowserPage) -> Vec<String> {
    let ids = shown_ids(page);
    let first: usize = ids[0].trim_start_matches('m').parse().unwrap_or(0);
    let named = |id: &String| id != "m-first";
    let expect: Vec<String> = (first..)
        .map(|at| format!("m{at:03}"))
        .take(ids.iter().filter(|id| named(id)).count())
        .collect();
    assert_eq!(
        ids.iter().filter(|id| named(id)).cloned().collect::<Vec<_>>(),
        expect
    );
    ids
}

#[test]
fn parts_load_while_one_scrolls_and_the_place_stays() {
    let (served, address) = serve(long_talk());
    let browser = Browser::start_prepared();
    let page = browser.new_page(BrowserPageOptions::default());
    let html = served.scene.html("/source?source=talk&at=m352");
    let (_, anchor) = html.split_once("<span class=\"piece here\" id=\"").unwrap();
    let anchor = anchor.split('"').next().unwrap();
    page.goto(&format!("{address}/source?source=talk&at=m352#{anchor}"));
    page.wait_until("(() => { const { top } = document.querySelector('.here').getBoundingClientRect(); return top > 0 && top < innerHeight; })()");
    // What the reader sees stays where it is when something is put before it.
    let place = "document.querySelector('[data-id=\"m340\"]').getBoundingClientRect().top";
    let before = page.eval(&format!("(scrollTo(0, 0), {place})")).as_f64().unwrap();
    page.wait_until("document.querySelectorAll('.part').length >= 2");
    let after = page.eval(place).as_f64().unwrap();
    assert!((before - after).abs() < 2.0, "{before} {after}");
    check_order(&page);
    assert_eq!(
        page.eval("document.querySelectorAll('.part time:not([data-local])').length"),
        0
    );
    // On to the end, and back to the start; far parts go, so that the page stays small.
    for (to, id) in [("document.body.scrollHeight", "m699"), ("0", "m-first")] {
        page.wait_until(&format!("(window.scrollTo(0, {to}), {IDS}.includes('{id}'))"));
        let ids = check_order(&page);
        assert!(ids.len() <= 60 * 9, "{} messages", ids.len());
        assert!(page.count(".part") <= 9);
    }
    page.wait_for_text("The source begins here.");
    assert_eq!(
        page.eval("document.querySelector('[rel=prev]').checkVisibility()"),
        false
    );
    // Each day is told once.
    let days = page
        .eval("[...document.querySelectorAll('.day-break:not([hidden])')].map((line) => line.dataset.day)");
    let days: Vec<&str> = days
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|day| day.as_str())
        .collect();
    assert!(days.is_sorted_by(|one, next| one < next), "{days:?}");
    assert!(page.messages().is_empty(), "{}", page.describe());
}

#[test]
fn a_part_that_fails_to_load_leaves_its_link() {
    let (served, address) = serve(long_talk());
    served.is_broken.store(true, Ordering::SeqCst);
    let browser = Browser::start_prepared();
    let page = browser.new_page(BrowserPageOptions::default());
    page.goto(&format!("{address}/source?source=talk"));
    page.eval("window.scrollTo(0, document.body.scrollHeight)");
    page.wait_until("document.getElementById('passage-status').textContent.includes('could not be loaded')");
    assert_eq!(page.count(".part"), 1);
    page.expect_load(|page| page.click(".pager a[rel=next]"));
    assert!(page.address().contains("after="), "{}", page.address());
    assert_eq!(shown_ids(&page).len(), 60);
}

#[test]
fn without_scripts_the_parts_are_pages() {
    let (_served, address) = serve(long_talk());
    let browser = Browser::start_prepared();
    let page = browser.new_page(BrowserPageOptions {
        javascript: false,
        ..BrowserPageOptions::default()
    });
    page.goto(&format!("{address}/source?source=talk"));
    let first = shown_ids(&page);
    page.expect_load(|page| page.click(".pager a[rel=next]"));
    let second = shown_ids(&page);
    assert_eq!(
        (first.last().unwrap().as_str(), second[0].as_str()),
        ("m058", "m059")
    );
    page.expect_load(|page| page.click(".pager a[rel=prev]"));
    assert_eq!(shown_ids(&page), first);
}

#[test]
fn keys_go_from_message_to_message_and_open_what_is_folded() {
    let (_served, address) = serve(long_talk());
    let browser = Browser::start_prepared();
    let page = browser.new_page(BrowserPageOptions::default());
    page.goto(&format!("{address}/source?source=talk"));
    for _ in 0..4 {
        page.press_key("j");
    }
    assert_eq!(page.eval("document.querySelector('.chosen').dataset.id"), "m002");
    assert_eq!(page.eval("document.activeElement.className"), "here-link");
    assert_eq!(page.count("details[open]"), 0);
    page.expect_load(|page| page.press_key("Enter"));
    assert!(page.address().contains("at=m002#d-"), "{}", page.address());
    assert_eq!(page.count(".here"), 1);
    assert_eq!(page.count("details[open] .here"), 1);
    // A link to something folded on the same page opens it.
    page.eval("location.hash = document.querySelectorAll('.folded .piece')[2].id");
    page.wait_until("document.querySelectorAll('details[open]').length === 2");
}

#[test]
fn pages_of_a_source_have_no_accessibility_faults() {
    let scene = long_talk();
    let code: String = (0..200)
        .map(|at| format!("fn f{at}() -> u64 {{ {at} }} // \"it\" is `{at}`\n"))
        .collect();
    mine(&scene, "code.rs", &code);
    mine(
        &scene,
        "notes.md",
        &format!(
            "# Notes\n\n`code` and ⟦x⟧ {}\n",
            ["AKIA", "Q7RT4WXN2PLZ6KJD"].concat()
        ),
    );
    let mut output = message("output", "long", 0, &"A line of output.\n".repeat(300));
    output.place.kind = Some("tool_result".into());
    write_all(&scene, [output]);
    let folder = std::env::var_os("LOCI_TEST_PICTURES").map(std::path::PathBuf::from);
    let (_served, address) = serve(scene);
    let browser = Browser::start_prepared();
    for (width, theme) in [(1200, BrowserTheme::Light), (390, BrowserTheme::Dark)] {
        let options = BrowserPageOptions {
            width,
            theme,
            ..BrowserPageOptions::default()
        };
        let page = browser.new_page(options);
        for target in [
            "source=talk&at=m352",
            "source=output&at=long",
            "source=code.rs",
            "source=notes.md",
        ] {
            page.goto(&format!("{address}/source?{target}"));
            assert_eq!(
                page.find_accessibility_faults(),
                [""; 0],
                "{target} {width} {theme:?}"
            );
            let overflow = page.eval("document.documentElement.scrollWidth - innerWidth");
            assert!(overflow.as_i64().unwrap() <= 0, "{target} {width}: {overflow}");
            if let Some(folder) = &folder {
                let name = format!("{}-{width}.png", target.replace(['=', '&', '.'], "-"));
                page.save_picture(&folder.join(name), 1_600);
            }
        }
    }
}
