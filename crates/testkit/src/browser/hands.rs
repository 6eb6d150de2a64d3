//! The hands of a test: a mouse and a keyboard, as the browser gets them from a person.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::keys::describe_key;
use super::page::BrowserPage;
use super::picture;

/// Finds the first visible element for a selector whose name or text holds some words, brings it into view, and returns
/// the middle of its first line, or what is in the way.
const AIM: &str = "((selector, words) => {
    const nameOf = element => [element.getAttribute('aria-label'), element.value, element.textContent]
        .find(name => typeof name === 'string' && name.includes(words));
    const found = [...document.querySelectorAll(selector)]
        .filter(element => element.checkVisibility({ visibilityProperty: true }))
        .find(element => words === null || nameOf(element) !== undefined);
    if (!found) return 'is not there';
    found.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = [...found.getClientRects()].find(rect => rect.width > 0 && rect.height > 0);
    if (!box) return 'has no size';
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const top = document.elementFromPoint(x, y);
    if (!top) return `is outside the window, at ${x} ${y}`;
    const labels = found.labels ? [...found.labels] : [];
    if (![found, ...labels].some(one => one.contains(top) || top.contains(one)))
        return `is covered by ${top.outerHTML.slice(0, 200)}`;
    return [x, y];
})";

impl BrowserPage {
    /// Clicks the first visible element that a selector finds.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.click_where(selector, &Json::Null);
    }

    /// Clicks the first visible element that a selector finds and whose name or text holds these words.
    #[track_caller]
    pub fn click_named(&self, selector: &str, words: &str) {
        self.click_where(selector, &json!(words));
    }

    #[track_caller]
    fn click_where(&self, selector: &str, words: &Json) {
        let aim = format!("{AIM}({}, {words})", json!(selector));
        // Pages still move while their scripts begin.
        let place = self.wait_for(|| match self.try_eval(&aim) {
            Ok(place) if place.is_array() => Ok(place),
            Ok(reason) => Err(format!(
                "{selector} {words} {}",
                reason.as_str().unwrap_or("is not there")
            )),
            Err(error) => Err(error),
        });
        for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": if kind == "mouseMoved" { "none" } else { "left" },
                "buttons": buttons, "clickCount": 1,
            });
            self.ask("Input.dispatchMouseEvent", &event);
        }
    }

    /// Types a text into what has the focus.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        for c in text.chars() {
            if c.is_ascii_graphic() || c == ' ' {
                self.press_key(&c.to_string());
            } else {
                // As an input method would.
                self.ask("Input.insertText", &json!({"text": c.to_string()}));
            }
        }
    }

    /// Clicks a box and replaces what stands in it.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        self.click(selector);
        self.eval(&format!("document.querySelector({}).select?.()", json!(selector)));
        if text.is_empty() {
            self.press_key("Delete");
        } else {
            self.ask("Input.insertText", &json!({"text": text}));
        }
    }

    /// Presses a key by its name, such as `j`, `?`, `Enter`, `Tab` or `Shift+Tab`.
    #[track_caller]
    pub fn press_key(&self, name: &str) {
        let (mut down, mut up) = (describe_key(name), describe_key(name));
        down["type"] = if down["text"].is_string() {
            "keyDown"
        } else {
            "rawKeyDown"
        }
        .into();
        up["type"] = "keyUp".into();
        if let Some(up) = up.as_object_mut() {
            up.remove("text");
        }
        self.ask("Input.dispatchKeyEvent", &down);
        self.ask("Input.dispatchKeyEvent", &up);
    }

    /// Turns the wheel over the middle of the window.
    #[track_caller]
    pub fn scroll_by(&self, pixels: i32) {
        let event = json!({"type": "mouseWheel", "x": 300, "y": 300, "deltaX": 0, "deltaY": pixels});
        self.ask("Input.dispatchMouseEvent", &event);
    }

    /// Writes a picture of the whole page, up to a height of `most` pixels, as a PNG file.
    #[track_caller]
    pub fn save_picture(&self, path: &Path, most: u32) {
        let metrics = self.ask("Page.getLayoutMetrics", &json!({}));
        let (view, content) = (&metrics["cssVisualViewport"], &metrics["cssContentSize"]);
        let size = |value: &Json| value.as_f64().unwrap_or(1.0);
        let height = size(&content["height"])
            .min(f64::from(most))
            .max(size(&view["clientHeight"]));
        let width = size(&content["width"]).max(size(&view["clientWidth"]));
        let params = json!({
            "format": "png", "captureBeyondViewport": true,
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
        });
        let reply = self.ask("Page.captureScreenshot", &params);
        let bytes = picture::decode_base64(reply["data"].as_str().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
