//! The server in a JSON list of servers.

use super::{find_object, parse_object, parse_original, remove_if_empty};
use crate::json::{JsonNode, JsonValue, insert_item, remove_item, replace_value};
use crate::{EditResult, SERVER_NAME};

/// Adds the server to the object called `list`, or brings its fields up to date.
pub(super) fn put_server(text: &str, list: &str, fields: &[(String, JsonValue)]) -> EditResult<String> {
    let root = parse_object(text)?;
    let server = JsonValue::Object(fields.to_vec());
    let Some(at) = find_object(&root, list)? else {
        let servers = JsonValue::object([(SERVER_NAME, server)]);
        return Ok(insert_item(text, &root, &[], Some(list), &servers));
    };
    let existing = root
        .find_by_path(&[at])
        .and_then(|list| Some((list.position(SERVER_NAME)?, list.get(SERVER_NAME)?)));
    match existing {
        None => Ok(insert_item(text, &root, &[at], Some(SERVER_NAME), &server)),
        Some((index, node)) if node.is_object() => update_fields(text, &[at, index], fields),
        // Not an object, so no tool could have read it as a server.
        Some((index, _)) => Ok(replace_value(text, &root, &[at, index], &server)),
    }
}

/// Sets our fields and leaves those that users added.
fn update_fields(text: &str, path: &[usize], fields: &[(String, JsonValue)]) -> EditResult<String> {
    let mut edited = text.to_owned();
    for (name, value) in fields {
        // Parsed again for each field: an edit moves every position behind it.
        let root = parse_object(&edited)?;
        let server = root.find_by_path(path);
        let existing = server.and_then(|node| Some((node.position(name)?, node.get(name)?)));
        edited = match existing {
            None => insert_item(&edited, &root, path, Some(name), value),
            Some((_, node)) if value.equals_node(node) => continue,
            Some((at, _)) => replace_value(&edited, &root, &[path, &[at]].concat(), value),
        };
    }
    Ok(edited)
}

/// Removes the server, and the list if that came with it.
pub(super) fn remove_server(text: String, list: &str, original: Option<&str>) -> EditResult<String> {
    let root = parse_object(&text)?;
    let Some(at) = find_object(&root, list)? else {
        return Ok(text);
    };
    let Some(index) = root
        .find_by_path(&[at])
        .and_then(|list| list.position(SERVER_NAME))
    else {
        return Ok(text);
    };
    let edited = remove_item(&text, &root, &[at, index]);
    let had_list =
        parse_original(original).is_some_and(|root| root.get(list).is_some_and(JsonNode::is_object));
    if had_list {
        Ok(edited)
    } else {
        remove_if_empty(edited, &[at])
    }
}
