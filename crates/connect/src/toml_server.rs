//! The server in a TOML settings file: added, brought up to date, removed. All other bytes stay.

use std::ops::Range;

use toml_edit::{Document, Item, Table};

use crate::splice::{BYTE_ORDER_MARK, is_blank, line_ending, splice};
use crate::{EditResult, SERVER_NAME};

/// The table that lists servers.
const LIST: &str = "mcp_servers";

/// The fields of the server.
#[derive(Debug, Clone)]
pub(crate) struct TomlServer {
    /// The program.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
}

impl TomlServer {
    /// The fields as they are written.
    fn write_fields(&self) -> [(&'static str, String); 2] {
        let args: Vec<String> = self.args.iter().map(|arg| quote_toml(arg)).collect();
        [
            ("command", quote_toml(&self.command)),
            ("args", format!("[{}]", args.join(", "))),
        ]
    }

    /// Whether a field of the file has our value, however it is laid out.
    fn equals_field(&self, name: &str, item: &Item) -> bool {
        match name {
            "command" => item.as_str() == Some(&self.command),
            _ => item.as_array().is_some_and(|array| {
                array.len() == self.args.len()
                    && array
                        .iter()
                        .zip(&self.args)
                        .all(|(one, arg)| one.as_str() == Some(arg))
            }),
        }
    }
}

fn quote_toml(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn parse_document(text: &str) -> EditResult<Document<&str>> {
    Document::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| {
            let before = text.as_bytes().iter().take(span.start);
            before.filter(|byte| **byte == b'\n').count()
        });
        format!("is not TOML: {} in line {}", error.message().trim_end(), line + 1)
    })
}

fn find_server<'a>(document: &'a Document<&str>) -> EditResult<Option<&'a Item>> {
    match document.get(LIST) {
        None => Ok(None),
        Some(Item::Table(table)) => Ok(table.get(SERVER_NAME)),
        // An inline table allows no line breaks, so a server could not be added and removed line by line.
        Some(_) => Err(format!("writes {LIST:?} as one value, which Loci does not edit")),
    }
}

/// The arguments of the server in a settings file, if the server is there.
pub(crate) fn find_toml_args(text: &str) -> EditResult<Option<Vec<String>>> {
    let document = parse_document(text)?;
    let Some(server) = find_server(&document)? else {
        return Ok(None);
    };
    let args = server.as_table_like().and_then(|table| table.get("args"));
    let words = args.and_then(Item::as_array).into_iter().flatten();
    Ok(Some(
        words
            .filter_map(|word| word.as_str())
            .map(str::to_owned)
            .collect(),
    ))
}

/// Adds the server or brings its fields up to date.
pub(crate) fn add_server(text: &str, wanted: &TomlServer) -> EditResult<String> {
    let document = parse_document(text)?;
    let Some(item) = find_server(&document)? else {
        let edited = append_table(text, wanted);
        // TOML forbids a table header for a table that dotted keys have already defined.
        parse_document(&edited).map_err(|problem| format!("cannot be added to: the new text {problem}"))?;
        return Ok(edited);
    };
    let table = item
        .as_table_like()
        .ok_or_else(|| refuse_entry(item.type_name()))?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (name, value) in wanted.write_fields() {
        match table.get(name) {
            Some(field) if wanted.equals_field(name, field) => {}
            Some(field) => edits.push((field.span().ok_or_else(|| refuse_entry("unplaced"))?, value)),
            None => edits.push(add_field(text, item, name, &value)?),
        }
    }
    // The file may have the fields in another order than we write them.
    edits.sort_by_key(|(span, _)| span.start);
    Ok(splice(text, &edits))
}

/// The edit that adds a field below the header of the table.
fn add_field(text: &str, item: &Item, name: &str, value: &str) -> EditResult<(Range<usize>, String)> {
    // Without a header of its own, the table is spread over dotted keys, and there is no line to add a field
    // below.
    let header = item
        .as_table()
        .filter(|table| !table.is_implicit())
        .and_then(Table::span);
    let header = header.ok_or_else(|| refuse_entry("scattered"))?;
    let end = find_line_end(text, header.end);
    let line_ending = line_ending(text);
    let ends_line = text.get(..end).is_some_and(|text| text.ends_with('\n'));
    let line = if ends_line {
        format!("{name} = {value}{line_ending}")
    } else {
        // The header is the last line of the file and has no line ending.
        format!("{line_ending}{name} = {value}")
    };
    Ok((end..end, line))
}

fn refuse_entry(state: &str) -> String {
    format!("has an entry {LIST}.{SERVER_NAME} that is {state}, which Loci does not edit")
}

/// Appends the table behind an empty line. Where the last line has no line ending, the new last line has none
/// either: by that a removal knows which line endings to remove.
fn append_table(text: &str, wanted: &TomlServer) -> String {
    let line_ending = line_ending(text);
    let fields = wanted.write_fields();
    let fields = fields.map(|(name, value)| format!("{name} = {value}"));
    let table = format!("[{LIST}.{SERVER_NAME}]{line_ending}{}", fields.join(line_ending));
    if text.trim_start_matches(BYTE_ORDER_MARK).is_empty() {
        format!("{text}{table}{line_ending}")
    } else if text.ends_with('\n') {
        format!("{text}{line_ending}{table}{line_ending}")
    } else {
        format!("{text}{line_ending}{line_ending}{table}")
    }
}

/// Removes the server with all tables below it. `None` if nothing is left and no file existed before: then
/// there is no `original`.
pub(crate) fn remove_server(text: &str, original: Option<&str>) -> EditResult<Option<String>> {
    let document = parse_document(text)?;
    let Some(item) = find_server(&document)? else {
        return Ok(Some(text.to_owned()));
    };
    // Whole lines are cut by their position in the text: printing the parsed document would reformat the
    // rest.
    let mut cuts = Vec::new();
    let key = document
        .get(LIST)
        .and_then(Item::as_table)
        .and_then(|list| list.key(SERVER_NAME));
    collect_lines(text, item, key.and_then(|key| key.span()), &mut cuts);
    cuts.sort_by_key(|cut: &Range<usize>| cut.start);
    let cuts: Vec<_> = cuts.into_iter().map(|cut| (cut, "")).collect();
    let edited = splice(text, &cuts);
    Ok(match original {
        None if is_blank(&edited) => None,
        _ => Some(edited),
    })
}

/// Collects the lines of an item and of everything below it.
fn collect_lines(text: &str, item: &Item, key: Option<Range<usize>>, cuts: &mut Vec<Range<usize>>) {
    match item {
        Item::Table(table) => {
            collect_table_lines(text, table, table.span().filter(|_| has_header(table)), cuts)
        }
        Item::ArrayOfTables(tables) => {
            for table in tables.iter() {
                collect_table_lines(text, table, table.span(), cuts);
            }
        }
        _ => {
            let ends = item.span().zip(key);
            cuts.extend(
                ends.map(|(value, key)| find_line_start(text, key.start)..find_line_end(text, value.end)),
            );
        }
    }
}

fn has_header(table: &Table) -> bool {
    !table.is_implicit() && !table.is_dotted()
}

fn collect_table_lines(
    text: &str,
    table: &Table,
    header: Option<Range<usize>>,
    cuts: &mut Vec<Range<usize>>,
) {
    let mut own = Vec::new();
    let mut below = Vec::new();
    for (name, item) in table.iter() {
        // Dotted keys and values stand below this table's header; other tables have their own, perhaps
        // elsewhere.
        let is_own = match item {
            Item::Table(table) => table.is_dotted(),
            Item::ArrayOfTables(_) => false,
            _ => true,
        };
        let key = table.key(name).and_then(|key| key.span());
        collect_lines(text, item, key, if is_own { &mut own } else { &mut below });
    }
    match header {
        None => cuts.append(&mut own),
        Some(header) => {
            let last = own.iter().map(|cut| cut.end).max();
            let end = last.unwrap_or_else(|| find_line_end(text, header.end));
            // One cut from the header to the last own line takes the user's comments in between along.
            cuts.push(find_gap_start(text, find_line_start(text, header.start), end)..end);
        }
    }
    cuts.append(&mut below);
}

/// Finds the start of the empty line before a table, which is removed with it.
fn find_gap_start(text: &str, start: usize, end: usize) -> usize {
    let mut at = start;
    // A table without a last line ending was appended to a text without one: see `append_table`.
    let was_ended = text.get(..end).is_some_and(|text| text.ends_with('\n'));
    for _ in 0..if was_ended { 1 } else { 2 } {
        let before = text.get(..at).unwrap_or_default();
        let shorter = before
            .strip_suffix('\n')
            .map(|text| text.strip_suffix('\r').unwrap_or(text));
        // Only an empty line goes, unless the line ending before the table is ours as well.
        match shorter {
            Some(shorter) if !was_ended || shorter.is_empty() || shorter.ends_with('\n') => {
                at = shorter.len()
            }
            _ => break,
        }
    }
    at
}

/// Finds the start of the line that contains `at`, behind a byte order mark.
fn find_line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let bom = text.starts_with(BYTE_ORDER_MARK);
    let first = if bom { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    before.rfind('\n').map_or(first, |end| end + 1)
}

/// Finds the end of the line that contains `at`, behind its line ending.
fn find_line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |newline| at + newline + 1)
}
