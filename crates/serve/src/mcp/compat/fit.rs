//! Bounded replies: texts are whole unless all of them together would be too much.

use loci_core::Result;
use serde_json::{Map, Value as Json};

use crate::mcp::budget::ReplyBudget;
use crate::mcp::words::take_beginning;

/// The budget of a reply, in tokens. MemPalace has none, so its prompts expect whole texts; this is a safety
/// bound.
const REPLY_TOKENS: usize = 20_000;

/// Bytes of text shown per item: the first size at which every item fits is used.
const TEXT_SIZES: [usize; 8] = [usize::MAX, 8000, 4000, 2000, 1000, 480, 240, 120];

/// Returns the budget of a reply.
pub(super) fn compat_budget() -> Result<ReplyBudget> {
    ReplyBudget::from_tokens(Some(REPLY_TOKENS))
}

/// An item of a reply, and the text in it that may be cut.
#[derive(Debug)]
pub(super) struct FitItem {
    pub(super) value: Map<String, Json>,
    /// The key of its text, and the text.
    pub(super) text: Option<(&'static str, String)>,
}

impl FitItem {
    /// Returns the item with at most so many bytes of its text.
    fn cut_to(&self, bytes: usize) -> Json {
        let mut value = self.value.clone();
        if let Some((key, text)) = &self.text {
            let shown = take_beginning(text, bytes);
            value.insert((*key).to_owned(), shown.into());
            if shown.len() < text.len() {
                value.insert("truncated".into(), true.into());
            }
        }
        Json::Object(value)
    }
}

/// Returns as many items as fit, from the first on, with texts as long as possible, and the fields that
/// report cuts.
pub(super) fn fit_items(items: &[FitItem]) -> Result<(Vec<Json>, Map<String, Json>)> {
    let mut values = Vec::new();
    let mut is_cut = false;
    for size in TEXT_SIZES {
        values = take_fitting(compat_budget()?, items, size);
        if values.len() == items.len() {
            break;
        }
        is_cut = true;
    }
    // Cutting texts comes before leaving items out: an agent can fetch a cut text by its id, but not an item
    // it never saw.
    let left_out = items.len() - values.len();
    let note = if left_out == 0 && is_cut {
        note_truncated("texts marked truncated are cut; mempalace_get_drawer returns each whole".to_owned())
    } else {
        note_left_out(
            left_out,
            "ask for fewer; mempalace_get_drawer returns whole texts",
        )
    };
    Ok((values, note))
}

/// Returns the fields that report omitted items; none if all are there.
pub(super) fn note_left_out(left_out: usize, note: &str) -> Map<String, Json> {
    if left_out == 0 {
        return Map::new();
    }
    note_truncated(format!("{left_out} more are left out; {note}"))
}

fn note_truncated(note: String) -> Map<String, Json> {
    Map::from_iter([("truncated".into(), true.into()), ("note".into(), note.into())])
}

fn take_fitting(mut budget: ReplyBudget, items: &[FitItem], size: usize) -> Vec<Json> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let value = item.cut_to(size);
        // Nested as in the final reply, so that its indentation is counted.
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
        fit_items(&(0..count).map(|_| item()).collect::<Vec<_>>()).unwrap()
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
