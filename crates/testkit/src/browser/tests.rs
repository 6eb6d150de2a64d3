//! The driver on pages of the test: what it does to them, and what it sees of them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use super::*;
use crate::campaign_rounds;

const PAGE: &str = r#"<!doctype html><html lang="en"><head><title>Tiny</title></head>
<body><main><h1>Tiny</h1><button id="button" aria-label="Count up">+</button><output id="count">0</output>
<form action="/second"><label>Name <input name="name" id="box"></label><button>Send</button></form>
<p id="script">no script</p><p id="keys"></p></main>
<script>
let count = 0;
document.getElementById('script').textContent = 'a script';
document.getElementById('button').addEventListener('click', event => {
    if (event.isTrusted) document.getElementById('count').textContent = String(++count);
});
document.addEventListener('keydown', event => document.getElementById('keys').textContent += event.key + ' ');
</script></body></html>"#;

/// Serves the same page at every address until the test ends, and sets a cookie.
fn serve_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                line.clear();
            }
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nset-cookie: seen=1\r\n";
            // A browser opens connections that it may not use.
            let _ = write!(
                stream,
                "{head}content-length: {}\r\nconnection: close\r\n\r\n{PAGE}",
                PAGE.len()
            );
        }
    });
    address
}

#[test]
fn a_page_is_driven_as_by_a_person() {
    let (browser, address) = (Browser::start_prepared(), serve_page());
    let page = browser.new_page(BrowserPageOptions::default());
    page.goto(&address);
    page.click("#button");
    page.click_named("button", "Count up");
    page.wait_until("document.getElementById('count').textContent === '2'");
    page.click("#box");
    page.type_text("a 3é?");
    assert_eq!(page.eval("document.getElementById('box').value"), "a 3é?");
    page.press_key("Tab");
    assert_eq!(page.eval("document.activeElement.textContent"), "Send");
    assert!(page.text("#keys").ends_with("? Tab"), "{}", page.text("#keys"));
    page.expect_load(|page| page.press_key("Enter"));
    assert_eq!(page.address(), format!("{address}/second?name=a+3%C3%A9%3F"));
    assert_eq!(page.cookies()[0]["name"], "seen");
    assert_eq!(page.visited().len(), 2);
    assert!(
        page.messages().is_empty() && page.dialogs().is_empty(),
        "{}",
        page.describe()
    );
    assert_eq!(page.find_accessibility_faults(), [""; 0]);
    assert_eq!(browser.opened_pages(), 1);
}

#[test]
fn what_a_page_asks_for_says_and_opens_is_seen() {
    let (browser, address) = (Browser::start_prepared(), serve_page());
    let page = browser.new_page(BrowserPageOptions::default());
    page.goto(&address);
    page.eval("console.warn('one', 2); setTimeout(() => { throw new Error('three') }); alert('four'); 0");
    page.eval("fetch('http://elsewhere.example/five').catch(() => 0)");
    page.eval("document.body.append(Object.assign(new Image(), { src: '//elsewhere.example/image' })); 0");
    page.eval("window.open('about:blank#six'); document.querySelector('h1').remove(); 0");
    page.wait_until("document.images[0].complete");
    assert_eq!(page.dialogs(), ["four"]);
    let asked = page.requests();
    for wanted in ["http://elsewhere.example/five", "http://elsewhere.example/image"] {
        assert!(asked.iter().any(|one| one == wanted), "{asked:?}");
    }
    page.wait_for(|| {
        let said: Vec<String> = page
            .messages()
            .iter()
            .map(|one| format!("{} {}", one.level, one.text))
            .collect();
        let whole = said.join("\n");
        let is_whole = ["warning one 2", "Error: three", "ERR_NAME_NOT_RESOLVED"]
            .iter()
            .all(|one| whole.contains(one));
        if is_whole { Ok(()) } else { Err(whole) }
    });
    page.wait_for(|| {
        if browser.opened_pages() == 2 {
            Ok(())
        } else {
            Err("a second page".to_owned())
        }
    });
    let faults = page.find_accessibility_faults();
    assert!(
        faults.iter().any(|fault| fault.starts_with("image-alt")),
        "{faults:?}"
    );
}

#[test]
fn windows_have_sizes_and_colors_and_may_be_without_scripts() {
    let (browser, address) = (Browser::start_prepared(), serve_page());
    let options = BrowserPageOptions {
        width: 320,
        height: 500,
        theme: BrowserTheme::Dark,
        javascript: false,
    };
    let page = browser.new_page(options);
    page.goto(&address);
    assert_eq!(page.text("#script"), "no script");
    assert_eq!(
        page.eval("[innerWidth, document.documentElement.clientWidth]"),
        serde_json::json!([320, 320])
    );
    assert_eq!(
        page.eval("matchMedia('(prefers-color-scheme: dark)').matches"),
        true
    );
    page.expect_load(|page| page.click_named("form button", "Send"));
    assert_eq!(page.address(), format!("{address}/second?name="));
    let folder = tempfile::tempdir().unwrap();
    page.save_picture(&folder.path().join("page.png"), 4000);
    let bytes = std::fs::read(folder.path().join("page.png")).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.ends_with(b"IEND\xae\x42\x60\x82"));
}

/// `LOCI_ROUNDS=50` is the campaign by hand.
#[test]
fn browsers_start_again_and_again_and_leave_no_process() {
    let address = serve_page();
    for _ in 0..campaign_rounds(3) {
        let browser = Browser::start_prepared();
        let (group, profile) = (browser.process.id(), browser.profile.path().to_owned());
        browser.new_page(BrowserPageOptions::default()).goto(&address);
        drop(browser);
        let deadline = Instant::now() + BROWSER_PATIENCE;
        while runs_in_group(group) {
            assert!(Instant::now() < deadline, "a process is left");
            thread::yield_now();
        }
        assert!(!profile.exists(), "the profile is left");
    }
}

/// Returns whether a process of a group runs. A dead one stays in the table until the first process takes it out.
fn runs_in_group(group: u32) -> bool {
    let table = Command::new("ps")
        .args(["-A", "-o", "pgid=", "-o", "stat="])
        .output()
        .unwrap();
    String::from_utf8(table.stdout).unwrap().lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(&group.to_string()) && !words.next().is_some_and(|state| state.starts_with('Z'))
    })
}
