//! What happened on a page: what it asked for, what it said, which dialogs it opened, where it went.

use std::collections::HashSet;

use serde_json::Value as Json;

/// A line of a page's console, an exception of its scripts, or a complaint of the browser about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMessage {
    /// Its level, such as `error` or `warning`.
    pub level: String,
    /// Its text.
    pub text: String,
}

/// Everything that happened on a page.
#[derive(Debug, Default)]
pub(super) struct PageRecord {
    pub(super) requests: Vec<String>,
    pub(super) messages: Vec<PageMessage>,
    pub(super) dialogs: Vec<String>,
    /// The addresses of the documents it showed.
    pub(super) visited: Vec<String>,
    /// The browser's names of the documents that were loaded to their end.
    pub(super) loaded: HashSet<String>,
    main_frame: Option<String>,
}

impl PageRecord {
    /// Records an event of the protocol.
    pub(super) fn record(&mut self, method: &str, params: &Json) {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        match method {
            "Network.requestWillBeSent" => self.requests.push(text(&params["request"]["url"])),
            "Network.webSocketCreated" | "Network.webTransportCreated" => {
                self.requests.push(text(&params["url"]));
            }
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                self.main_frame = params["frame"]["id"].as_str().map(str::to_owned);
                self.visited.push(text(&params["frame"]["url"]));
            }
            // Frames, too, are loaded; a page of ours has none, and a hostile one must not pass for the page.
            "Page.lifecycleEvent" if params["name"] == "load" && self.is_main_frame(&params["frameId"]) => {
                self.loaded.insert(text(&params["loaderId"]));
            }
            "Page.javascriptDialogOpening" => self.dialogs.push(text(&params["message"])),
            "Runtime.consoleAPICalled" => {
                let words = params["args"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(describe_value);
                self.add_message(text(&params["type"]), words.collect::<Vec<_>>().join(" "));
            }
            "Runtime.exceptionThrown" => {
                let details = &params["exceptionDetails"];
                let exception = describe_value(&details["exception"]);
                self.add_message(
                    "error".to_owned(),
                    format!("{} {exception}", text(&details["text"])),
                );
            }
            "Log.entryAdded" => {
                let entry = &params["entry"];
                let words = format!("{} {}", text(&entry["text"]), text(&entry["url"]));
                self.add_message(text(&entry["level"]), words);
            }
            _ => {}
        }
    }

    fn is_main_frame(&self, frame: &Json) -> bool {
        self.main_frame.as_deref() == frame.as_str()
    }

    fn add_message(&mut self, level: String, text: String) {
        self.messages.push(PageMessage { level, text });
    }
}

fn describe_value(value: &Json) -> String {
    let known = value["description"].as_str().or_else(|| value["value"].as_str());
    known.map_or_else(|| value["value"].to_string(), str::to_owned)
}
