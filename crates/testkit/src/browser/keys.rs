//! Keys of a keyboard, as the protocol describes them.

use serde_json::{Value as Json, json};

/// The keys that write nothing or are named by a word: name, key code of Windows, text.
const NAMED_KEYS: [(&str, u32, &str); 13] = [
    ("Enter", 13, "\r"),
    ("Tab", 9, ""),
    ("Escape", 27, ""),
    ("Backspace", 8, ""),
    ("Delete", 46, ""),
    ("Home", 36, ""),
    ("End", 35, ""),
    ("PageUp", 33, ""),
    ("PageDown", 34, ""),
    ("ArrowLeft", 37, ""),
    ("ArrowUp", 38, ""),
    ("ArrowRight", 39, ""),
    ("ArrowDown", 40, ""),
];

/// Returns the fields of the event of a key, which may begin with `Shift+` or `Control+`.
#[track_caller]
pub(super) fn describe_key(name: &str) -> Json {
    let (mut name, mut modifiers) = (name, 0);
    for (prefix, bit) in [("Control+", 2), ("Shift+", 8)] {
        if let Some(rest) = name.strip_prefix(prefix) {
            (name, modifiers) = (rest, modifiers | bit);
        }
    }
    if let Some((key, code, text)) = NAMED_KEYS.iter().find(|(key, _, _)| *key == name) {
        let mut event =
            json!({"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers});
        if !text.is_empty() {
            event["text"] = (*text).into();
        }
        return event;
    }
    let mut chars = name.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else {
        panic!("the key {name} is unknown")
    };
    let code = c.to_ascii_uppercase() as u32;
    let mut event = json!({"key": name, "windowsVirtualKeyCode": 0, "modifiers": modifiers});
    if c.is_ascii_alphanumeric() || c == ' ' {
        event["windowsVirtualKeyCode"] = code.into();
    }
    // With Control a key is a command and writes nothing.
    if modifiers & 2 == 0 {
        event["text"] = name.into();
    }
    event
}
