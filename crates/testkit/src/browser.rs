//! A real browser for tests: a Chromium of its own, driven over a pipe by the DevTools protocol.
//!
//! The driver is ours because the tests need a dozen commands of the protocol, and blocking ones. `chromiumoxide` and
//! `thirtyfour` were tried beside it: both need an async runtime and a WebSocket or a second program that must match the
//! browser's version, and bring over a hundred packages; see `docs/decisions/036-web-pages.md`. With
//! `--remote-debugging-pipe` there is no port to guess, to wait for or to collide on, and the browser ends by itself when
//! the test does, however that ends.
//!
//! A browser resolves no host name and asks for nothing by itself, so what a page asks for is all that is asked for.

mod accessibility;
mod hands;
mod keys;
mod page;
mod picture;
mod record;
mod wire;

pub use page::{BrowserPage, BrowserPageOptions, BrowserTheme};
pub use record::PageMessage;

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tempfile::TempDir;

use crate::prepared::browser_folder;
use wire::BrowserWire;

/// How long a test waits for the browser before it fails: far longer than anything takes on a busy machine.
pub(crate) const BROWSER_PATIENCE: Duration = Duration::from_secs(40);

/// The switches of every browser. Its own services stay off, so that it asks for nothing that a page did not ask for.
const SWITCHES: [&str; 25] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--no-startup-window",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--no-pings",
    // So that a page that opens a window is seen to.
    "--disable-popup-blocking",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication,DialMediaRouteProvider",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--hide-scrollbars",
    "--password-store=basic",
    "--lang=en-US",
];

/// A running browser with a profile of its own; it ends with the value.
#[derive(Debug)]
pub struct Browser {
    wire: Arc<BrowserWire>,
    process: Child,
    profile: TempDir,
}

impl Browser {
    /// Starts the browser that `scripts/browser` has found or installed.
    #[track_caller]
    pub fn start_prepared() -> Self {
        let path = fs::read_to_string(browser_folder().join("chromium-path")).unwrap();
        Self::start(path.trim())
    }

    /// Starts this program.
    #[track_caller]
    pub fn start(program: impl AsRef<Path>) -> Self {
        let profile = tempfile::Builder::new()
            .prefix("loci-browser-")
            .tempdir()
            .unwrap();
        let trouble = File::create(profile.path().join("stderr")).unwrap();
        // The browser reads commands from descriptor 3 and answers on 4. The shell moves the pipes there, because a
        // Rust program can only do so by unsafe code.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#])
            .arg(program.as_ref())
            .args(SWITCHES)
            .arg(format!(
                "--user-data-dir={}",
                profile.path().join("user").display()
            ))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .env("TZ", "Europe/Berlin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(trouble)
            .process_group(0)
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let browser = Self {
            wire: BrowserWire::open(input, output),
            process,
            profile,
        };
        if let Err(error) =
            browser
                .wire
                .try_ask(None, "Target.setDiscoverTargets", &json!({"discover": true}))
        {
            panic!(
                "{} does not start: {error}: {}",
                program.as_ref().display(),
                browser.last_words()
            );
        }
        browser
    }

    /// Opens an empty page. Pages of one browser share their cookies.
    #[track_caller]
    pub fn new_page(&self, options: BrowserPageOptions) -> BrowserPage {
        BrowserPage::open(self.wire.clone(), options)
    }

    /// Returns the number of pages and windows that were ever opened, by the test and by pages.
    pub fn opened_pages(&self) -> usize {
        self.wire.read_state(|state| state.opened_pages)
    }

    /// Saves files that pages offer for download in this folder.
    #[track_caller]
    pub fn save_downloads(&self, folder: &Path) {
        let params = json!({
            "behavior": "allow", "downloadPath": folder.to_str().unwrap(), "eventsEnabled": true,
        });
        self.wire.ask(None, "Browser.setDownloadBehavior", &params);
    }

    /// Waits until `number` downloads are complete, and returns the paths of all.
    #[track_caller]
    pub fn wait_for_downloads(&self, number: usize) -> Vec<PathBuf> {
        let deadline = Instant::now() + BROWSER_PATIENCE;
        loop {
            let done = self.wire.read_state(|state| state.downloads.clone());
            if done.len() >= number {
                return done;
            }
            assert!(
                Instant::now() < deadline,
                "{} of {number} downloads came",
                done.len()
            );
            self.wire.wait_for_news(Duration::from_millis(100));
        }
    }

    /// Returns the last lines the browser printed.
    fn last_words(&self) -> String {
        let text = fs::read(self.profile.path().join("stderr")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let from = text.len().saturating_sub(1500);
        text.get(from..).unwrap_or(&text).to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // All of its processes are in the group that the shell began.
        if let Some(group) = Pid::from_raw(self.process.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.process.wait();
    }
}

/// Returns the script of axe-core.
#[track_caller]
fn axe_script() -> String {
    fs::read_to_string(browser_folder().join("axe.min.js")).unwrap()
}

#[cfg(test)]
mod tests;
