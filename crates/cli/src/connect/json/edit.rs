//! Editing JSON in place: what is put in can be taken out again without a trace.

use super::print::{Layout, member};
use super::{Inside, Item, Node, Plain, parse};

/// What one level of nesting adds where the file does not show it.
const UNIT: &str = "  ";

/// Puts an item behind the last one of the object or list at `path`, with a name in an object.
pub(in crate::connect) fn insert(
    text: &str,
    root: &Node,
    path: &[usize],
    name: Option<&str>,
    value: &Plain,
) -> String {
    let Some((container, inside)) = root.at(path).and_then(|node| Some((node, node.inside()?))) else {
        return text.to_owned();
    };
    let layout = layout(text, root, container, inside);
    let written = match name {
        Some(name) => member(name, value, &layout),
        None => value.written(&layout),
    };
    let Some(last) = inside.items.last() else {
        return fill(text, container, inside, &layout, &written);
    };
    let gap = match layout.newline {
        "" => " ".to_owned(),
        _ => layout.line(),
    };
    // A comma at the end is kept at the end; that is also how taking out knows whether there was one.
    match last.comma {
        Some(_) => spliced(text, &[(inside.tail, inside.tail, &format!("{gap}{written},"))]),
        None => {
            let end = last.value.span.end;
            spliced(
                text,
                &[
                    (end, end, ","),
                    (inside.tail, inside.tail, &format!("{gap}{written}")),
                ],
            )
        }
    }
}

/// Puts the first item into a container.
fn fill(text: &str, container: &Node, inside: &Inside, layout: &Layout, written: &str) -> String {
    let open = container.span.start + 1;
    let close = container.span.end - 1;
    if inside.tail != open {
        return spliced(
            text,
            &[(inside.tail, inside.tail, &format!("{}{written}", layout.line()))],
        );
    }
    let outer = match layout.newline {
        "" => String::new(),
        newline => format!("{newline}{}", line_indent(text, container.span.start)),
    };
    spliced(
        text,
        &[(open, close, &format!("{}{written}{outer}", layout.line()))],
    )
}

/// Takes the item at `path` out, with its comma and the space before it.
pub(in crate::connect) fn remove(text: &str, root: &Node, path: &[usize]) -> String {
    let taken = path.split_last().and_then(|(number, above)| {
        let container = root.at(above)?;
        let inside = container.inside()?;
        Some((container, inside, *number, inside.items.get(*number)?))
    });
    let Some((container, inside, number, item)) = taken else {
        return text.to_owned();
    };
    let end = item.comma.map_or(item.value.span.end, |comma| comma + 1);
    let open = container.span.start + 1;
    if inside.items.len() == 1 && item.before == open && inside.tail == end {
        return spliced(text, &[(open, container.span.end - 1, "")]);
    }
    let start = gap_start(text, item, end);
    let mut cuts = vec![(start, item.value.span.end, "")];
    let before = number.checked_sub(1).and_then(|number| inside.items.get(number));
    match (item.comma, before.and_then(|before| before.comma)) {
        (Some(comma), _) => cuts.push((comma, comma + 1, "")),
        (None, Some(comma)) => cuts.insert(0, (comma, comma + 1, "")),
        (None, None) => {}
    }
    spliced(text, &cuts)
}

/// Where the space before an item begins that goes with it. It stays where a comment before it would otherwise
/// swallow what follows.
fn gap_start(text: &str, item: &Item, end: usize) -> usize {
    let behind = text.get(end..).unwrap_or_default();
    let ends_line = behind.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
    match item.before_is_line && !ends_line {
        true => item.start,
        false => item.before,
    }
}

/// Puts another value in the place of the one at `path`.
pub(in crate::connect) fn replace(text: &str, root: &Node, path: &[usize], value: &Plain) -> String {
    let Some(node) = root.at(path) else {
        return text.to_owned();
    };
    let layout = Layout {
        newline: newline(text),
        indent: line_indent(text, node.span.start),
        unit: unit(text, root),
    };
    spliced(text, &[(node.span.start, node.span.end, &value.written(&layout))])
}

/// The text without the space between brackets that hold nothing: by that alone two files differ whose containers
/// were filled and emptied again.
pub(in crate::connect) fn tightened(text: &str) -> String {
    let mut cuts = Vec::new();
    if let Ok(root) = parse(text) {
        empty(&root, &mut cuts);
    }
    spliced(text, &cuts)
}

fn empty(node: &Node, cuts: &mut Vec<(usize, usize, &str)>) {
    if node.is_bare_container() {
        cuts.push((node.span.start + 1, node.span.end - 1, ""));
    }
    for item in node.items() {
        empty(&item.value, cuts);
    }
}

/// How a new item of `container` is laid out: as the last one is, or by the file's habits.
fn layout(text: &str, root: &Node, container: &Node, inside: &Inside) -> Layout {
    let unit = unit(text, root);
    let below = format!("{}{unit}", line_indent(text, container.span.start));
    let own = |item: &Item| own_line(text, item);
    let (newline, indent) = match inside.items.last() {
        _ if inside.tail_is_line => (newline(text), inside.items.last().and_then(own).unwrap_or(below)),
        Some(item) => match own(item) {
            Some(indent) => (newline(text), indent),
            None => ("", String::new()),
        },
        None if is_one_line(text, root) => ("", String::new()),
        None => (newline(text), below),
    };
    Layout {
        newline,
        indent,
        unit,
    }
}

/// Whether the file holds something and holds it in one line.
fn is_one_line(text: &str, root: &Node) -> bool {
    let whole = text.get(root.span.clone()).unwrap_or_default();
    !root.items().is_empty() && !whole.contains(['\n', '\r'])
}

/// The indent of an item that begins a line.
fn own_line(text: &str, item: &Item) -> Option<String> {
    let gap = text.get(item.before..item.start)?;
    let (_, indent) = gap.rsplit_once(['\n', '\r'])?;
    Some(indent.to_owned())
}

/// What the line that `at` stands in begins with.
fn line_indent(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let line = line.trim_start_matches('\u{feff}');
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// What one level of nesting adds, seen at the first item of the whole.
fn unit(text: &str, root: &Node) -> String {
    let base = line_indent(text, root.span.start);
    let seen = root.items().iter().find_map(|item| own_line(text, item));
    let seen = seen.and_then(|indent| indent.strip_prefix(&base).map(str::to_owned));
    seen.filter(|unit| !unit.is_empty())
        .unwrap_or_else(|| UNIT.to_owned())
}

/// How lines end in a text.
pub(in crate::connect) fn newline(text: &str) -> &'static str {
    match text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    }
}

/// The text with some parts replaced, given in order.
fn spliced(text: &str, parts: &[(usize, usize, &str)]) -> String {
    let mut made = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (start, end, new) in parts {
        made.push_str(text.get(at..*start).unwrap_or_default());
        made.push_str(new);
        at = *end;
    }
    made.push_str(text.get(at..).unwrap_or_default());
    made
}
