//! Replies that stay within reason: texts are whole unless all of them together would be too much.

use loci_core::Result;
use serde_json::{Map, Value as Json};

use crate::mcp::budget::Budget;
use crate::mcp::words::beginning;

/// What a reply may cost, in tokens.
const TOKENS: usize = 20_000;

/// How much of each text is shown, in bytes: the first at which everything fits.
const SIZES: [usize; 8] = [usize::MAX, 8000, 4000, 2000, 1000, 480, 240, 120];

/// What a reply may cost.
pub(super) fn budget() -> Result<Budget> {
    Budget::of(Some(TOKENS))
}

/// An item of a reply, and the text in it that may be cut.
#[derive(Debug)]
pub(super) struct FitItem {
    pub(super) value: Map<String, Json>,
    /// The key of its text, and the text.
    pub(super) text: Option<(&'static str, String)>,
}

impl FitItem {
    /// The item with at most so many bytes of its text.
    fn cut_to(&self, bytes: usize) -> Json {
        let mut value = self.value.clone();
        if let Some((key, text)) = &self.text {
            let shown = beginning(text, bytes);
            value.insert((*key).to_owned(), shown.into());
            if shown.len() < text.len() {
                value.insert("truncated".into(), true.into());
            }
        }
        Json::Object(value)
    }
}

/// As many items as fit, from the first on, with texts as long as may be, and what to say where the reply is not whole.
pub(super) fn fit(items: &[FitItem]) -> Result<(Vec<Json>, Map<String, Json>)> {
    let mut values = Vec::new();
    let mut is_cut = false;
    for size in SIZES {
        values = take_fitting(budget()?, items, size);
        if values.len() == items.len() {
            break;
        }
        is_cut = true;
    }
    let left_out = items.len() - values.len();
    let note = if left_out == 0 && is_cut {
        say_cut("texts marked truncated are cut; mempalace_get_drawer has each whole".to_owned())
    } else {
        say_left_out(left_out, "ask for fewer; mempalace_get_drawer has texts whole")
    };
    Ok((values, note))
}

/// What to say where some items are not there at all; nothing if all are.
pub(super) fn say_left_out(left_out: usize, note: &str) -> Map<String, Json> {
    if left_out == 0 {
        return Map::new();
    }
    say_cut(format!("{left_out} more are left out; {note}"))
}

fn say_cut(note: String) -> Map<String, Json> {
    Map::from_iter([("truncated".into(), true.into()), ("note".into(), note.into())])
}

fn take_fitting(mut budget: Budget, items: &[FitItem], size: usize) -> Vec<Json> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let value = item.cut_to(size);
        // Nested as it will be in the reply, so that its indentation counts.
        let words = serde_json::to_string_pretty(&[[&value]]).unwrap_or_default();
        if !budget.spend(&words, &value) {
            break;
        }
        values.push(value);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(count: usize) -> (Vec<Json>, Map<String, Json>) {
        let item = || FitItem {
            value: Map::new(),
            text: Some(("text", "x".repeat(3000))),
        };
        fit(&(0..count).map(|_| item()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn texts_are_whole_while_they_fit_and_cut_before_any_is_left_out() {
        let whole = |value: &Json| value["text"].as_str().unwrap().len() == 3000;
        let (few, note) = fitted(5);
        assert!(few.len() == 5 && few.iter().all(whole) && note.is_empty());

        let (many, note) = fitted(50);
        assert_eq!(many.len(), 50);
        assert!(
            many.iter()
                .all(|value| !whole(value) && value["truncated"] == true)
        );
        assert_eq!(note["truncated"], true);

        let (some, note) = fitted(5000);
        assert!((1..5000).contains(&some.len()));
        let said = note["note"].as_str().unwrap();
        assert!(said.starts_with(&format!("{} more", 5000 - some.len())), "{said}");
    }
}
