//! Replays a session from its change log: the whole session first, then values that were set, added or removed.

use serde_json::Value;

use crate::formats::json::{JsonFields, JsonSlice, lines};
use crate::formats::transcript::TranscriptBuilder;

/// The depth limit of a change, which bounds the nesting of the session.
const DEEPEST: usize = 32;

/// Returns the session after all changes that fit, as JSON; changes that do not fit are noted.
pub(super) fn replay_log(text: &str, said: &mut TranscriptBuilder) -> String {
    let mut session = Value::Null;
    for line in lines::read_lines(text) {
        if let Some(change) = said.read_line(line)
            && apply_change(&mut session, &change).is_none()
        {
            said.note("the change does not fit the session; it was left out");
        }
    }
    said.line = None;
    session.to_string()
}

fn apply_change(session: &mut Value, change: &JsonFields<'_>) -> Option<()> {
    let value = || {
        change
            .get("v")
            .and_then(|value| serde_json::from_str::<Value>(value.raw()).ok())
    };
    let path = change.items("k");
    // A hostile log could nest values until writing them back overflows the stack.
    if path.len() > DEEPEST {
        return None;
    }
    match change.get("kind")?.raw() {
        "0" => *session = value()?,
        "1" => *value_at(session, &path, true)? = value().unwrap_or(Value::Null),
        "2" => {
            let array = value_at(session, &path, false)?.as_array_mut()?;
            // `i` is the length to keep before `v` is appended: VS Code writes a changed tail this way.
            if let Some(keep) = change.get("i").and_then(|keep| keep.raw().parse().ok()) {
                array.truncate(keep);
            }
            if let Some(Value::Array(added)) = value() {
                array.extend(added);
            }
        }
        "3" => remove_at(session, &path)?,
        _ => return None,
    }
    Some(())
}

/// Returns the value at a path. Only its last step may be new, and only in an object or at the end of an array.
fn value_at<'v>(value: &'v mut Value, path: &[JsonSlice<'_>], may_be_new: bool) -> Option<&'v mut Value> {
    let Some((step, rest)) = path.split_first() else {
        return Some(value);
    };
    let new = may_be_new && rest.is_empty();
    let inner = match value {
        Value::Object(members) => {
            let name = step.text()?;
            if new {
                Some(members.entry(name).or_insert(Value::Null))
            } else {
                members.get_mut(&name)
            }
        }
        Value::Array(items) => {
            let at: usize = step.raw().parse().ok()?;
            if new && at == items.len() {
                items.push(Value::Null);
            }
            items.get_mut(at)
        }
        _ => None,
    };
    value_at(inner?, rest, may_be_new)
}

fn remove_at(session: &mut Value, path: &[JsonSlice<'_>]) -> Option<()> {
    let (last, above) = path.split_last()?;
    value_at(session, above, false)?
        .as_object_mut()?
        .remove(&last.text()?);
    Some(())
}
