//! A session as a log of changes, replayed: the whole first, then what was set, added or taken away since.

use serde_json::Value;

use crate::formats::json::{Fields, Json, lines};
use crate::formats::transcript::TranscriptBuilder;

/// How deep a change may reach; it bounds how deep the session can grow.
const DEEPEST: usize = 32;

/// The session after every change that could be made, as JSON; those that could not are noted.
pub(super) fn replay(text: &str, said: &mut TranscriptBuilder) -> String {
    let mut session = Value::Null;
    for line in lines::each(text) {
        if let Some(change) = said.read_line(line)
            && apply(&mut session, &change).is_none()
        {
            said.note("the change does not fit the session; it was left out");
        }
    }
    said.line = None;
    session.to_string()
}

fn apply(session: &mut Value, change: &Fields<'_>) -> Option<()> {
    let value = || {
        change
            .get("v")
            .and_then(|value| serde_json::from_str::<Value>(value.raw()).ok())
    };
    let path = change.items("k");
    if path.len() > DEEPEST {
        return None;
    }
    match change.get("kind")?.raw() {
        "0" => *session = value()?,
        "1" => *place(session, &path, true)? = value().unwrap_or(Value::Null),
        "2" => {
            let array = place(session, &path, false)?.as_array_mut()?;
            if let Some(keep) = change.get("i").and_then(|keep| keep.raw().parse().ok()) {
                array.truncate(keep);
            }
            if let Some(Value::Array(added)) = value() {
                array.extend(added);
            }
        }
        "3" => remove(session, &path)?,
        _ => return None,
    }
    Some(())
}

/// The value at a path. Only its last step may be new, and only in an object or at the end of an array.
fn place<'v>(value: &'v mut Value, path: &[Json<'_>], may_be_new: bool) -> Option<&'v mut Value> {
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
    place(inner?, rest, may_be_new)
}

fn remove(session: &mut Value, path: &[Json<'_>]) -> Option<()> {
    let (last, above) = path.split_last()?;
    place(session, above, false)?
        .as_object_mut()?
        .remove(&last.text()?);
    Some(())
}
