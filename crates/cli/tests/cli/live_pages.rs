//! The live parts of `loci web` in a real browser: changes as they happen, and the progress of a job.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;

use loci_testkit::{Browser, BrowserPage, BrowserPageOptions, BrowserTheme, TempHome};
use serde_json::Value as Json;

/// The server of a home, and the link that signs in. It ends with the value.
struct ServedPages {
    process: Child,
    link: String,
    origin: String,
}

impl ServedPages {
    #[track_caller]
    fn start(home: &TempHome) -> Self {
        let mut command = home.command(&["--json", "web", "--no-open", "--port", "0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let said: Json = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self {
            process,
            link: said["url"].as_str().unwrap().to_owned(),
            origin: format!("http://{}", said["address"].as_str().unwrap()),
        }
    }

    #[track_caller]
    fn open(&self, browser: &Browser, options: BrowserPageOptions) -> BrowserPage {
        let page = browser.new_page(options);
        page.goto(&self.link);
        page
    }
}

impl Drop for ServedPages {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn home() -> TempHome {
    TempHome::of_program(env!("CARGO_BIN_EXE_loci"))
}

/// Files drawers by lines, from a process of their own.
#[track_caller]
fn file_lines(home: &TempHome, names: impl Iterator<Item = String>) {
    let lines: String = names
        .map(|name| format!("{{\"id\":\"{name}\",\"text\":\"words of {name}\",\"wing\":\"w\"}}\n"))
        .collect();
    let filed = home.run_with(&["add", "--jsonl", "-", "--batch", "10"], lines.as_bytes());
    filed.expect_code(0);
}

/// The ids of the changes on the page, the newest first.
fn shown_ids(page: &BrowserPage) -> Vec<String> {
    let shown = page.eval("[...document.querySelectorAll('#activity li')].map(item => item.dataset.id)");
    let shown = shown.as_array().unwrap().iter();
    shown.map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn changes_appear_as_they_happen_each_once_and_in_order() {
    const EACH: usize = 90;
    let home = home();
    file_lines(&home, (0..3).map(|at| format!("old-{at}")));
    let (served, browser) = (ServedPages::start(&home), Browser::start_prepared());
    let page = served.open(&browser, BrowserPageOptions::default());
    page.goto(&format!("{}/activity", served.origin));
    page.wait_for_text("Live");
    assert_eq!(shown_ids(&page), ["old-2", "old-1", "old-0"]);
    // More than a page of the feed, by two processes at once.
    thread::scope(|scope| {
        for writer in ["a", "b"] {
            let home = &home;
            scope.spawn(move || file_lines(home, (0..EACH).map(|at| format!("{writer}-{at:02}"))));
        }
    });
    page.wait_until(&format!(
        "document.querySelectorAll('#activity li').length >= {}",
        2 * EACH + 3
    ));
    page.wait_until("document.getElementById('activity-news').textContent.includes('new change')");
    let ids = shown_ids(&page);
    assert_eq!(ids.len(), 2 * EACH + 3);
    for writer in ["a", "b"] {
        let own: Vec<&String> = ids.iter().filter(|id| id.starts_with(writer)).collect();
        let expected: Vec<String> = (0..EACH).rev().map(|at| format!("{writer}-{at:02}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
    let seqs = "[...document.querySelectorAll('#activity li')].map(item => Number(item.dataset.seq))";
    assert_eq!(
        page.eval(&format!(
            "{seqs}.every((seq, at, all) => at === 0 || all[at - 1] > seq)"
        )),
        true
    );
    // Times of what was added are the reader's own, as those that were there before.
    assert_eq!(page.count("#activity time:not([data-local])"), 0);
    pause_and_go_on(&home, &page);
    assert!(page.messages().is_empty(), "{:?}", page.messages());
}

#[track_caller]
fn pause_and_go_on(home: &TempHome, page: &BrowserPage) {
    page.click("#activity-pause");
    page.wait_for_text("Paused");
    let before = page.count("#activity li");
    file_lines(home, ["while-paused".to_owned()].into_iter());
    let asked = page.requests().len();
    // As if the reader came back to the page, which asks at once unless it is paused.
    page.eval("document.dispatchEvent(new Event('visibilitychange'))");
    assert_eq!(
        (page.requests().len(), page.count("#activity li")),
        (asked, before)
    );
    page.click("#activity-pause");
    page.wait_until("document.querySelector('#activity li').dataset.id === 'while-paused'");
    home.run(&["delete", "while-paused", "--yes"]).expect_code(0);
    page.wait_until("document.querySelector('#activity li .removed') !== null");
    assert_eq!(page.count("#activity li"), before + 2);
}

#[test]
fn a_job_shows_its_progress_until_it_has_ended() {
    let home = home();
    let notes: PathBuf = home.path("notes");
    std::fs::create_dir(&notes).unwrap();
    for at in 0..400 {
        let words = format!("# Note {at}\n\n{}", "Beans climb on hazel sticks. ".repeat(60));
        std::fs::write(notes.join(format!("n{at:03}.md")), words).unwrap();
    }
    let (served, browser) = (ServedPages::start(&home), Browser::start_prepared());
    let page = served.open(&browser, BrowserPageOptions::default());
    page.goto(&format!("{}/mine", served.origin));
    page.fill("input[name=path]", notes.to_str().unwrap());
    page.expect_load(|page| page.click_named("main button", "Mine"));
    assert!(page.address().contains("/job?number=1"), "{}", page.address());
    page.wait_for_text("400 mined");
    page.wait_until("document.getElementById('job-news').textContent === 'Done'");
    assert_eq!(page.count("#job[data-job]"), 0);
    assert!(page.messages().is_empty(), "{:?}", page.messages());
}

#[test]
fn the_pages_fit_every_width_and_can_be_read_by_everyone() {
    let home = home();
    file_lines(&home, (0..5).map(|at| format!("n-{at}")));
    let (served, browser) = (ServedPages::start(&home), Browser::start_prepared());
    let page = served.open(&browser, BrowserPageOptions::default());
    let mut faults = Vec::new();
    for path in [
        "/activity",
        "/doctor",
        "/embedder",
        "/embedder?switch=builtin",
        "/mine",
        "/job",
        "/diary",
        "/wake-up",
    ] {
        for (width, theme) in [(1200, BrowserTheme::Light), (320, BrowserTheme::Dark)] {
            page.resize(width, 800);
            page.set_theme(theme);
            page.goto(&format!("{}{path}", served.origin));
            let found = page.find_accessibility_faults().into_iter();
            faults.extend(found.map(|fault| format!("{path} at {width}: {fault}")));
            let over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            if page.eval(over) != 0 {
                faults.push(format!("{path} scrolls sideways at {width}"));
            }
            if let Some(folder) = std::env::var_os("LOCI_PICTURES") {
                let name = path.replace(['/', '?', '='], "_");
                page.save_picture(
                    &PathBuf::from(folder).join(format!("{name}-{width}.png")),
                    1 << 20,
                );
            }
        }
    }
}
