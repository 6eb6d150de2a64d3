//! Edits of JSON in place. Inserting an item and removing it again leaves no trace.

use std::ops::Range;

use super::print::{JsonLayout, print_member};
use super::{JsonBody, JsonItem, JsonNode, JsonValue, parse_json};
use crate::splice::{BYTE_ORDER_MARK, line_ending, splice};

/// The indentation of one level where the file does not show its own.
const INDENT_UNIT: &str = "  ";

/// Inserts an item behind the last one of the object or list at `path`; in an object it has a name.
pub(crate) fn insert_item(
    text: &str,
    root: &JsonNode,
    path: &[usize],
    name: Option<&str>,
    value: &JsonValue,
) -> String {
    let container = root.find_by_path(path);
    let Some((container, body)) = container.and_then(|node| Some((node, node.body()?))) else {
        return text.to_owned();
    };
    // A new item imitates the file around it, so that the diff shows nothing else.
    let layout = choose_layout(text, root, container, body);
    let printed = match name {
        Some(name) => print_member(name, value, &layout),
        None => value.print(&layout),
    };
    let Some(last) = body.items.last() else {
        return fill_container(text, container, body, &layout, &printed);
    };
    let gap = match layout.line_ending {
        "" => " ".to_owned(),
        _ => layout.line_break(),
    };
    let tail = body.tail..body.tail;
    // A trailing comma stays trailing, and its presence tells a later removal that the file had one.
    if last.comma.is_some() {
        return splice(text, &[(tail, format!("{gap}{printed},"))]);
    }
    let end = last.value.span.end;
    splice(
        text,
        &[(end..end, ",".to_owned()), (tail, format!("{gap}{printed}"))],
    )
}

/// Inserts the first item of a container.
fn fill_container(
    text: &str,
    container: &JsonNode,
    body: &JsonBody,
    layout: &JsonLayout,
    printed: &str,
) -> String {
    let open = container.span.start + 1;
    let close = container.span.end - 1;
    let inner = layout.line_break();
    if body.tail != open {
        // The container holds a comment, which must keep its place.
        return splice(text, &[(body.tail..body.tail, format!("{inner}{printed}"))]);
    }
    let outer = match layout.line_ending {
        "" => String::new(),
        line_ending => format!("{line_ending}{}", line_indent(text, container.span.start)),
    };
    splice(text, &[(open..close, format!("{inner}{printed}{outer}"))])
}

/// Removes the item at `path`, with its comma and the space before it.
pub(crate) fn remove_item(text: &str, root: &JsonNode, path: &[usize]) -> String {
    let removed = path.split_last().and_then(|(index, above)| {
        let container = root.find_by_path(above)?;
        let body = container.body()?;
        Some((container, body, *index, body.items.get(*index)?))
    });
    let Some((container, body, index, item)) = removed else {
        return text.to_owned();
    };
    let end = item.comma.map_or(item.value.span.end, |comma| comma + 1);
    let open = container.span.start + 1;
    // The only item of a container without comments: the brackets close up, as if they had never been filled.
    if body.items.len() == 1 && item.before == open && body.tail == end {
        return splice(text, &[(open..container.span.end - 1, "")]);
    }
    let start = find_gap_start(text, item, end);
    let mut cuts = vec![(start..item.value.span.end, "")];
    let before = index.checked_sub(1).and_then(|index| body.items.get(index));
    // The item's own comma goes. A last item without one takes the comma before it along, or that would be
    // left trailing.
    match (item.comma, before.and_then(|before| before.comma)) {
        (Some(comma), _) => cuts.push((comma..comma + 1, "")),
        (None, Some(comma)) => cuts.insert(0, (comma..comma + 1, "")),
        (None, None) => {}
    }
    splice(text, &cuts)
}

/// Finds the start of the space before an item that is removed with it. The space stays where a line comment
/// before it would otherwise swallow the text behind the item.
fn find_gap_start(text: &str, item: &JsonItem, end: usize) -> usize {
    let rest = text.get(end..).unwrap_or_default();
    // If the item was the last on its line, the line break behind it ends the comment just as well.
    let ends_line = rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
    if item.before_is_line && !ends_line {
        item.start
    } else {
        item.before
    }
}

/// Replaces the value at `path`.
pub(crate) fn replace_value(text: &str, root: &JsonNode, path: &[usize], value: &JsonValue) -> String {
    let Some(node) = root.find_by_path(path) else {
        return text.to_owned();
    };
    let layout = JsonLayout {
        line_ending: line_ending(text),
        indent: line_indent(text, node.span.start),
        unit: indent_unit(text, root),
    };
    splice(text, &[(node.span.clone(), value.print(&layout))])
}

/// The text without the space inside empty brackets. A file whose containers were filled and emptied again
/// differs from its original in that space alone.
pub(crate) fn collapse_empty_containers(text: &str) -> String {
    let mut cuts = Vec::new();
    if let Ok(root) = parse_json(text) {
        collect_empty_bodies(&root, &mut cuts);
    }
    splice(text, &cuts)
}

fn collect_empty_bodies(node: &JsonNode, cuts: &mut Vec<(Range<usize>, &str)>) {
    if node.is_empty_container() {
        cuts.push((node.span.start + 1..node.span.end - 1, ""));
    }
    for item in node.items() {
        collect_empty_bodies(&item.value, cuts);
    }
}

/// Chooses the layout of a new item of `container`: that of the last item, or else that of the file.
fn choose_layout(text: &str, root: &JsonNode, container: &JsonNode, body: &JsonBody) -> JsonLayout {
    let unit = indent_unit(text, root);
    let below = format!("{}{unit}", line_indent(text, container.span.start));
    let last = body.items.last();
    let last_indent = last.and_then(|item| item_indent(text, item));
    let single_line = ("", String::new());
    let (line_ending, indent) = match (last, last_indent) {
        // Behind a line comment a new line must begin.
        (_, indent) if body.tail_is_line => (line_ending(text), indent.unwrap_or(below)),
        (Some(_), Some(indent)) => (line_ending(text), indent),
        (Some(_), None) => single_line,
        (None, _) if is_single_line(text, root) => single_line,
        (None, _) => (line_ending(text), below),
    };
    JsonLayout {
        line_ending,
        indent,
        unit,
    }
}

/// Whether the file has items and all of them stand on one line.
fn is_single_line(text: &str, root: &JsonNode) -> bool {
    let whole = text.get(root.span.clone()).unwrap_or_default();
    !root.items().is_empty() && !whole.contains(['\n', '\r'])
}

/// The indentation of an item that begins a line.
fn item_indent(text: &str, item: &JsonItem) -> Option<String> {
    let gap = text.get(item.before..item.start)?;
    let (_, indent) = gap.rsplit_once(['\n', '\r'])?;
    Some(indent.to_owned())
}

/// The indentation of the line that contains `at`.
fn line_indent(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let line = line.trim_start_matches(BYTE_ORDER_MARK);
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// The indentation one level adds, as the first item of the file shows it.
fn indent_unit(text: &str, root: &JsonNode) -> String {
    let base = line_indent(text, root.span.start);
    let first = root.items().iter().find_map(|item| item_indent(text, item));
    // Relative to the root, which may itself be indented.
    let unit = first.and_then(|indent| indent.strip_prefix(&base).map(str::to_owned));
    unit.filter(|unit| !unit.is_empty())
        .unwrap_or_else(|| INDENT_UNIT.to_owned())
}
