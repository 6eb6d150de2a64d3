//! Replies: as many items as the budget holds, each with as much text as fits.

use loci_core::{Error, ErrorKind, PalaceFinding, Result};
use serde::Serialize;
use serde_json::Value;

use super::budget::ReplyBudget;
use super::words;

/// Bytes of text shown per item: the first size at which every item fits is used.
const TEXT_SIZES: [usize; 4] = [480, 240, 120, 60];

/// Items that fit a budget.
#[derive(Debug)]
pub(crate) struct ReplyPage<T> {
    /// Each item as text.
    pub(crate) lines: Vec<String>,
    /// Each item as a value.
    pub(crate) values: Vec<T>,
}

/// Returns as many of `items` as fit, from the first on. `show` renders one item with at most the given bytes
/// of text, as text and as a value. The first item is included even if it does not fit.
pub(crate) fn fit_page<I, T: Serialize>(
    budget: ReplyBudget,
    items: &[I],
    show: impl Fn(usize, &I, usize) -> (String, T),
) -> ReplyPage<T> {
    let at_size = |size: usize| {
        let mut left = budget;
        let (mut lines, mut values) = (Vec::new(), Vec::new());
        for (at, item) in items.iter().enumerate() {
            let (line, item) = show(at, item, size);
            // Nulls are dropped before sending, so they must not be counted.
            let sent = to_reply_json(&item).unwrap_or_default();
            // An empty page with a cursor would send the agent round in circles, so the first item always
            // goes out.
            if !left.spend(&line, &sent) && at > 0 {
                break;
            }
            lines.push(line);
            values.push(item);
        }
        ReplyPage { lines, values }
    };
    let mut best = None;
    // More hits with shorter quotes beat fewer hits with longer ones: the agent reads those it wants with
    // `get`.
    for size in TEXT_SIZES {
        let page = at_size(size);
        let whole = page.values.len() == items.len();
        best = Some(page);
        if whole {
            break;
        }
    }
    best.unwrap_or(ReplyPage {
        lines: Vec::new(),
        values: Vec::new(),
    })
}

/// Converts a value to JSON without null fields: agents would pay for them.
pub(crate) fn to_reply_json(value: &impl Serialize) -> Result<Value> {
    let mut value = serde_json::to_value(value).map_err(|cause| {
        Error::new(ErrorKind::Internal, "cannot write the answer as JSON").caused_by(cause)
    })?;
    drop_nulls(&mut value);
    Ok(value)
}

/// Adds damage that a call has met to the `warnings` of its answer, here and not in each tool, so that none can forget
/// it. Returns the warnings that were not there yet.
pub(crate) fn add_damage(value: &mut Value, damage: &[PalaceFinding]) -> Vec<String> {
    let Some(fields) = value.as_object_mut().filter(|_| !damage.is_empty()) else {
        return Vec::new();
    };
    let warnings = fields
        .entry("warnings")
        .or_insert_with(|| Value::Array(Vec::new()));
    let Some(warnings) = warnings.as_array_mut() else {
        return Vec::new();
    };
    let told = |one: &String| warnings.iter().any(|known| known.as_str() == Some(one));
    let mut more = words::list_warnings(damage);
    more.retain(|one| !told(one));
    warnings.extend(more.iter().cloned().map(Value::from));
    more
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
    use loci_core::FindingSeverity;
    use serde_json::json;

    #[test]
    fn damage_is_told_once_and_only_where_there_is_some() {
        let damage = [PalaceFinding::new("a", FindingSeverity::Error, "torn")];
        let mut value = json!({"hits": []});
        assert!(add_damage(&mut value, &[]).is_empty());
        assert_eq!(value, json!({"hits": []}));
        assert_eq!(add_damage(&mut value, &damage), ["torn"]);
        assert_eq!(value, json!({"hits": [], "warnings": ["torn"]}));
        assert!(add_damage(&mut value, &damage).is_empty(), "told already");
        assert_eq!(value, json!({"hits": [], "warnings": ["torn"]}));
    }

    #[test]
    fn fields_without_a_value_are_left_out_and_empty_lists_stay() {
        let full = json!({"hits": [{"id": "a", "wing": null}], "warnings": [], "next": null, "n": 0});
        assert_eq!(
            to_reply_json(&full).unwrap(),
            json!({"hits": [{"id": "a"}], "warnings": [], "n": 0})
        );
    }
}
