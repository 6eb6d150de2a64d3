//! A page of a browser: where it is, what it shows, and what happened on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::record::{PageMessage, PageRecord};
use super::wire::BrowserWire;
use super::{BROWSER_PATIENCE, axe_script};

/// The colors that the system of a page prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserTheme {
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// The window of a page.
#[derive(Debug, Clone, Copy)]
pub struct BrowserPageOptions {
    /// Its width in CSS pixels.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// The colors that its system prefers.
    pub theme: BrowserTheme,
    /// Whether scripts of pages run.
    pub javascript: bool,
}

impl Default for BrowserPageOptions {
    fn default() -> Self {
        Self {
            width: 1200,
            height: 800,
            theme: BrowserTheme::Light,
            javascript: true,
        }
    }
}

/// A page of a browser.
///
/// Its functions wait for what they need and fail the test with what the page shows when it does not come.
#[derive(Debug)]
pub struct BrowserPage {
    pub(super) wire: Arc<BrowserWire>,
    pub(super) session: String,
}

impl BrowserPage {
    #[track_caller]
    pub(super) fn open(wire: Arc<BrowserWire>, options: BrowserPageOptions) -> Self {
        let target = wire.ask(None, "Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = wire.ask(None, "Target.attachToTarget", &attach);
        let page = Self {
            wire,
            session: attached["sessionId"].as_str().unwrap().to_owned(),
        };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            page.ask(domain, &json!({}));
        }
        page.ask("Page.setLifecycleEventsEnabled", &json!({"enabled": true}));
        page.resize(options.width, options.height);
        page.set_theme(options.theme);
        page.ask(
            "Emulation.setScriptExecutionDisabled",
            &json!({"value": !options.javascript}),
        );
        // A page in the background gets no keys and draws nothing.
        page.ask("Emulation.setFocusEmulationEnabled", &json!({"enabled": true}));
        page
    }

    /// Runs a command of the protocol on this page.
    #[track_caller]
    pub fn ask(&self, method: &str, params: &Json) -> Json {
        self.wire.ask(Some(&self.session), method, params)
    }

    /// Gives its window another size.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Changes the colors that its system prefers. Motion is always reduced, so that nothing moves under a click.
    #[track_caller]
    pub fn set_theme(&self, theme: BrowserTheme) {
        let value = if theme == BrowserTheme::Dark {
            "dark"
        } else {
            "light"
        };
        let features = json!([
            {"name": "prefers-color-scheme", "value": value},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Goes to an address and waits until it is loaded.
    #[track_caller]
    pub fn goto(&self, address: &str) {
        let reply = self.ask("Page.navigate", &json!({"url": address}));
        if let Some(error) = reply["errorText"].as_str() {
            panic!("{address}: {error}");
        }
        // Without a document there is only another place on the same page.
        let Some(document) = reply["loaderId"].as_str() else {
            return;
        };
        self.wait_for(|| hold(self.read(|record| record.loaded.contains(document)), address));
    }

    /// Does something that leads to another page, and waits until that is loaded.
    #[track_caller]
    pub fn expect_load<T>(&self, act: impl FnOnce(&Self) -> T) -> T {
        let before = self.read(|record| record.loaded.len());
        let done = act(self);
        self.wait_for(|| {
            hold(
                self.read(|record| record.loaded.len() > before),
                "another page is loaded",
            )
        });
        done
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        self.expect_load(|page| page.ask("Page.reload", &json!({})));
    }

    /// Returns the address of the page.
    #[track_caller]
    pub fn address(&self) -> String {
        self.eval("location.href").as_str().unwrap_or_default().to_owned()
    }

    /// Returns the value of an expression of JavaScript; a promise is waited for. It also works where scripts are off.
    #[track_caller]
    pub fn eval(&self, expression: &str) -> Json {
        match self.try_eval(expression) {
            Ok(value) => value,
            Err(error) => panic!("{error}\nin {expression}\n{}", self.describe()),
        }
    }

    pub(super) fn try_eval(&self, expression: &str) -> Result<Json, String> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut reply = self
            .wire
            .try_ask(Some(&self.session), "Runtime.evaluate", &params)?;
        let thrown = &reply["exceptionDetails"];
        if thrown.is_null() {
            return Ok(reply["result"]["value"].take());
        }
        let words = thrown["exception"]["description"]
            .as_str()
            .or_else(|| thrown["text"].as_str());
        Err(words.unwrap_or("an exception").to_owned())
    }

    /// Returns the text that the first element shows that this selector finds.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        let value = self.eval(&format!("document.querySelector({})?.innerText", json!(selector)));
        match value.as_str() {
            Some(text) => text.to_owned(),
            None => panic!("{selector} is not there:\n{}", self.describe()),
        }
    }

    /// Returns the number of elements that a selector finds.
    #[track_caller]
    pub fn count(&self, selector: &str) -> usize {
        let value = self.eval(&format!("document.querySelectorAll({}).length", json!(selector)));
        usize::try_from(value.as_u64().unwrap()).unwrap()
    }

    /// Waits until an expression is true. It is tried again whenever the page reports something, and often.
    #[track_caller]
    pub fn wait_until(&self, condition: &str) {
        // A page that is being replaced has no scripts to ask.
        let is_true = || {
            self.try_eval(&format!("!!({condition})"))
                .is_ok_and(|value| value == true)
        };
        self.wait_for(|| hold(is_true(), condition));
    }

    /// Waits until the page shows this text.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.wait_until(&format!("document.body.innerText.includes({})", json!(text)));
    }

    /// Tries something until it gives a value; it says what is still missing.
    #[track_caller]
    pub(super) fn wait_for<T>(&self, mut attempt: impl FnMut() -> Result<T, String>) -> T {
        let deadline = Instant::now() + BROWSER_PATIENCE;
        loop {
            match attempt() {
                Ok(value) => return value,
                Err(missing) if Instant::now() > deadline => {
                    panic!("waited in vain: {missing}\n{}", self.describe())
                }
                Err(_) => self.wire.wait_for_news(Duration::from_millis(25)),
            }
        }
    }

    /// Returns what the page is and shows, for the messages of failed tests.
    pub fn describe(&self) -> String {
        let shown =
            "location.href + '\\n' + document.title + '\\n' + document.body?.innerText.slice(0, 3000)";
        let shown = self.try_eval(shown).unwrap_or_default();
        let messages = self.messages();
        format!(
            "--- the page:\n{}\n--- its messages: {messages:?}",
            shown.as_str().unwrap_or_default()
        )
    }

    /// Returns the address of everything the page asked for.
    pub fn requests(&self) -> Vec<String> {
        self.read(|record| record.requests.clone())
    }

    /// Returns the addresses of the documents it showed.
    pub fn visited(&self) -> Vec<String> {
        self.read(|record| record.visited.clone())
    }

    /// Returns everything in its console.
    pub fn messages(&self) -> Vec<PageMessage> {
        self.read(|record| record.messages.clone())
    }

    /// Returns the texts of the dialogs it opened, such as those of `alert`.
    pub fn dialogs(&self) -> Vec<String> {
        self.read(|record| record.dialogs.clone())
    }

    /// Returns the cookies that its address would be sent.
    #[track_caller]
    pub fn cookies(&self) -> Vec<Json> {
        let reply = self.ask("Network.getCookies", &json!({}));
        reply["cookies"].as_array().cloned().unwrap_or_default()
    }

    /// Checks the page with axe-core, and describes each violation in a line.
    #[track_caller]
    pub fn find_accessibility_faults(&self) -> Vec<String> {
        super::accessibility::find_faults(self, &axe_script())
    }

    fn read<T>(&self, read: impl FnOnce(&PageRecord) -> T) -> T {
        self.wire.read_state(|state| read(state.page(&self.session)))
    }
}

fn hold(is_so: bool, what: &str) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(what.to_owned()) }
}

impl Drop for BrowserPage {
    fn drop(&mut self) {
        // It is also closed with the browser, which may be gone already.
        let _ = self.wire.try_ask(Some(&self.session), "Page.close", &json!({}));
    }
}
