//! Replies: as many items as the budget holds, each as long as it may be, and how to get the rest.

use loci_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;

use super::budget::Budget;

/// How much of a text is shown, in bytes: the first at which everything fits.
const SIZES: [usize; 4] = [480, 240, 120, 60];

/// Items that fit a budget.
#[derive(Debug)]
pub(crate) struct Page<T> {
    /// How each is said in words.
    pub(crate) lines: Vec<String>,
    /// Each as a value.
    pub(crate) values: Vec<T>,
}

/// As many of `items` as fit, from the first on; `show` gives the words and the value of one with at most so many bytes of
/// text. The first is there even if it does not fit.
pub(crate) fn page<I, T: Serialize>(
    budget: Budget,
    items: &[I],
    show: impl Fn(usize, &I, usize) -> (String, T),
) -> Page<T> {
    let at_size = |size: usize| {
        let mut left = budget;
        let (mut lines, mut values) = (Vec::new(), Vec::new());
        for (at, item) in items.iter().enumerate() {
            let (line, value) = show(at, item, size);
            if !left.spend(&line, &value) && at > 0 {
                break;
            }
            lines.push(line);
            values.push(value);
        }
        Page { lines, values }
    };
    let mut best = None;
    for size in SIZES {
        let page = at_size(size);
        let whole = page.values.len() == items.len();
        best = Some(page);
        if whole {
            break;
        }
    }
    best.unwrap_or(Page {
        lines: Vec::new(),
        values: Vec::new(),
    })
}

/// A value as JSON.
pub(crate) fn value(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|cause| {
        Error::new(ErrorKind::Internal, "an answer could not be written as JSON").caused_by(cause)
    })
}

/// How far a list is followed.
const FARTHEST: usize = 1_000_000;

/// Where a list goes on: how many were shown so far, and a mark of what was asked, so that a cursor of another question is
/// noticed.
pub(crate) fn cursor(shown: usize, asked: &str) -> String {
    format!("{shown}.{}", mark(asked))
}

/// How many were shown before `cursor`.
pub(crate) fn shown_before(cursor: Option<&str>, asked: &str) -> Result<usize> {
    let Some(cursor) = cursor else { return Ok(0) };
    let parts = cursor.split_once('.');
    let shown = parts
        .and_then(|(shown, _)| shown.parse().ok())
        .filter(|shown| *shown <= FARTHEST);
    match (shown, parts) {
        (Some(shown), Some((_, of))) if of == mark(asked) => Ok(shown),
        _ => Err(
            Error::invalid(format!("{cursor:?} is no cursor of this question"))
                .hint("give `next` of the answer before, and the same arguments as then"),
        ),
    }
}

fn mark(asked: &str) -> String {
    blake3::hash(asked.as_bytes()).to_hex().chars().take(8).collect()
}
