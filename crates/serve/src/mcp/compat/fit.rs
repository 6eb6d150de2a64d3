//! Replies that stay within reason: texts are whole unless all of them together would be too much.

use loci_core::Result;
use serde::Serialize;

use crate::mcp::budget::Budget;

/// What a reply may cost, in tokens.
const TOKENS: usize = 20_000;

/// How much of each text is shown, in bytes: the first at which everything fits.
const SIZES: [usize; 8] = [usize::MAX, 8000, 4000, 2000, 1000, 480, 240, 120];

/// What a reply may cost.
pub(super) fn budget() -> Result<Budget> {
    Budget::of(Some(TOKENS))
}

/// Items that fit.
pub(super) struct Fitted<T> {
    pub(super) values: Vec<T>,
    /// What is said where something was cut or left out.
    pub(super) cut: Option<Cut>,
}

/// Says that a reply is not the whole.
#[derive(Debug, Serialize)]
pub(super) struct Cut {
    truncated: bool,
    note: String,
}

impl Cut {
    /// What is said where `left_out` items are not there at all, if any.
    pub(super) fn of(left_out: usize, note: &str) -> Option<Self> {
        (left_out > 0).then(|| Self {
            truncated: true,
            note: format!("{left_out} more are left out; {note}"),
        })
    }
}

/// As many of `items` as fit, from the first on, with texts as long as may be; `show` gives one with at most so many bytes
/// of text.
pub(super) fn fit<I, T: Serialize>(budget: Budget, items: &[I], show: impl Fn(&I, usize) -> T) -> Fitted<T> {
    let mut values = Vec::new();
    let mut is_cut = false;
    for size in SIZES {
        values = at_size(budget, items, |item| show(item, size));
        if values.len() == items.len() {
            break;
        }
        is_cut = true;
    }
    let left_out = items.len() - values.len();
    let cut = match left_out {
        0 => is_cut.then(|| Cut {
            truncated: true,
            note: "texts marked truncated are cut; mempalace_get_drawer has each whole".into(),
        }),
        _ => Cut::of(left_out, "ask for fewer; mempalace_get_drawer has texts whole"),
    };
    Fitted { values, cut }
}

fn at_size<I, T: Serialize>(mut budget: Budget, items: &[I], show: impl Fn(&I) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let value = show(item);
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

    fn fitted(texts: &[String]) -> Fitted<String> {
        fit(budget().unwrap(), texts, |text, size| {
            text.chars().take(size).collect()
        })
    }

    #[test]
    fn texts_are_whole_while_they_fit_and_cut_before_any_is_left_out() {
        let few = vec!["x".repeat(3000); 5];
        let whole = fitted(&few);
        assert_eq!(whole.values, few);
        assert!(whole.cut.is_none());

        let many = vec!["x".repeat(3000); 50];
        let cut = fitted(&many);
        assert_eq!(cut.values.len(), 50);
        assert!(cut.values.iter().all(|text| text.len() < 3000));
        assert!(cut.cut.is_some());

        let countless = vec!["x".repeat(3000); 5000];
        let left_out = fitted(&countless);
        let shown = left_out.values.len();
        assert!((1..5000).contains(&shown));
        assert!(
            left_out
                .cut
                .unwrap()
                .note
                .starts_with(&format!("{} more", 5000 - shown))
        );
    }
}
