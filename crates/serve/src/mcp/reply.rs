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
            let (line, item) = show(at, item, size);
            // What is sent is counted, which has no nulls.
            let sent = value(&item).unwrap_or_default();
            if !left.spend(&line, &sent) && at > 0 {
                break;
            }
            lines.push(line);
            values.push(item);
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

/// A value as JSON, without fields that have no value: agents would pay for them.
pub(crate) fn value(value: &impl Serialize) -> Result<Value> {
    let mut value = serde_json::to_value(value).map_err(|cause| {
        Error::new(ErrorKind::Internal, "an answer could not be written as JSON").caused_by(cause)
    })?;
    drop_nulls(&mut value);
    Ok(value)
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_without_a_value_are_left_out_and_empty_lists_stay() {
        let full = json!({"hits": [{"id": "a", "wing": null}], "warnings": [], "next": null, "n": 0});
        assert_eq!(
            value(&full).unwrap(),
            json!({"hits": [{"id": "a"}], "warnings": [], "n": 0})
        );
    }
}
