//! The entries of a JSON settings file: added, brought up to date, removed.

mod hooks;
mod server;

use crate::json::{JsonNode, JsonValue, collapse_empty_containers, parse_json, remove_item};
use crate::splice::{BYTE_ORDER_MARK, is_blank};
use crate::{EditResult, SERVER_NAME};

pub(crate) use hooks::{HookCommand, HookLayout};

/// An entry of a settings file.
#[derive(Debug, Clone)]
pub(crate) enum JsonEntry {
    /// The server.
    Server {
        /// The name of the object that lists servers.
        list: &'static str,
        /// The fields of the server.
        fields: Vec<(String, JsonValue)>,
    },
    /// Commands to run at events.
    Hooks {
        /// The shape in which an event lists its commands.
        layout: HookLayout,
        /// The commands.
        hooks: Vec<HookCommand>,
    },
}

/// Adds the entries or brings them up to date. `original` is the text before any entry was added.
pub(crate) fn add_entries(text: &str, entries: &[JsonEntry], original: Option<&str>) -> EditResult<String> {
    let mut edited = text.to_owned();
    // Tools create empty settings files, and an undo must give back exactly those bytes.
    if is_blank(text) {
        let bom = text.chars().take_while(|c| *c == BYTE_ORDER_MARK).take(1);
        edited = bom.chain("{}\n".chars()).collect();
    }
    for entry in entries {
        edited = match entry {
            JsonEntry::Server { list, fields } => server::put_server(&edited, list, fields)?,
            JsonEntry::Hooks { layout, hooks } => hooks::put_hooks(&edited, *layout, hooks, original)?,
        };
    }
    Ok(edited)
}

/// Removes the entries. `None` if nothing else is left and no file existed before: then there is no
/// `original`.
pub(crate) fn remove_entries(
    text: &str,
    entries: &[JsonEntry],
    original: Option<&str>,
) -> EditResult<Option<String>> {
    if is_blank(text) {
        return Ok(Some(text.to_owned()));
    }
    let mut edited = text.to_owned();
    for entry in entries {
        edited = match entry {
            JsonEntry::Server { list, .. } => server::remove_server(edited, list, original)?,
            JsonEntry::Hooks { layout, .. } => hooks::remove_all_hooks(edited, *layout, original)?,
        };
    }
    // Nothing of ours was found: a file we never touched must stay as it is, even if it looks like our own
    // empty one.
    if edited == text {
        Ok(Some(edited))
    } else {
        restore_original_bytes(edited, original)
    }
}

/// The arguments of the server in a settings file, if the server is there.
pub(crate) fn find_json_args(text: &str, entries: &[JsonEntry]) -> EditResult<Option<Vec<String>>> {
    if is_blank(text) {
        return Ok(None);
    }
    let root = parse_object(text)?;
    let list = entries.iter().find_map(|entry| match entry {
        JsonEntry::Server { list, .. } => Some(*list),
        JsonEntry::Hooks { .. } => None,
    });
    let server = list.and_then(|list| root.find_by_names(&[list, SERVER_NAME]));
    Ok(server.map(|server| {
        let args = server.get("args").map_or(&[][..], JsonNode::items);
        let words = args.iter().filter_map(|item| item.value.text());
        words.map(str::to_owned).collect()
    }))
}

/// The original where the text differs from it only by space inside empty brackets; else the text.
fn restore_original_bytes(edited: String, original: Option<&str>) -> EditResult<Option<String>> {
    let root = parse_object(&edited)?;
    // A comment outside the braces makes the file worth keeping, even if nothing else is left.
    let outside = [edited.get(..root.span.start), edited.get(root.span.end..)];
    let is_empty = root.is_empty_container() && outside.iter().flatten().all(|text| is_blank(text));
    Ok(match original {
        None if is_empty => None,
        Some(original) if is_empty && is_blank(original) => Some(original.to_owned()),
        Some(original) if collapse_empty_containers(original) == collapse_empty_containers(&edited) => {
            Some(original.to_owned())
        }
        _ => Some(edited),
    })
}

/// Parses a settings file, which must be an object.
fn parse_object(text: &str) -> EditResult<JsonNode> {
    let root = parse_json(text).map_err(|problem| format!("is not JSON: {problem}"))?;
    if root.is_object() {
        Ok(root)
    } else {
        Err("does not hold an object".to_owned())
    }
}

/// Parses the original, if it is JSON.
fn parse_original(original: Option<&str>) -> Option<JsonNode> {
    original.and_then(|text| parse_json(text).ok())
}

/// Finds the object called `name` at the top of the file.
fn find_object(root: &JsonNode, name: &str) -> EditResult<Option<usize>> {
    match root.position(name) {
        Some(at) if root.find_by_path(&[at]).is_some_and(JsonNode::is_object) => Ok(Some(at)),
        Some(_) => Err(format!("does not hold an object under {name:?}")),
        None => Ok(None),
    }
}

/// Removes the container at `path` if it is empty.
fn remove_if_empty(text: String, path: &[usize]) -> EditResult<String> {
    let root = parse_object(&text)?;
    let is_empty = root.find_by_path(path).is_some_and(JsonNode::is_empty_container);
    Ok(if is_empty {
        remove_item(&text, &root, path)
    } else {
        text
    })
}
