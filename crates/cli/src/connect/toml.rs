//! Our entry in a TOML config: put in, brought up to date, taken out. All other bytes stay.

use std::ops::Range;

use toml_edit::{Document, Item, Table};

use super::entries::NAME;
use super::json::newline;

/// The table that lists servers.
const LIST: &str = "mcp_servers";

/// What is said of the server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// The program.
    pub(super) command: String,
    /// Its arguments.
    pub(super) args: Vec<String>,
}

type Made<T> = Result<T, String>;

impl Server {
    /// The lines of the table.
    fn fields(&self) -> [(&'static str, String); 2] {
        let args: Vec<String> = self.args.iter().map(|arg| quoted(arg)).collect();
        [
            ("command", quoted(&self.command)),
            ("args", format!("[{}]", args.join(", "))),
        ]
    }

    fn is(&self, name: &str, found: &Item) -> bool {
        match name {
            "command" => found.as_str() == Some(&self.command),
            _ => found.as_array().is_some_and(|array| {
                array.len() == self.args.len()
                    && array
                        .iter()
                        .zip(&self.args)
                        .all(|(one, arg)| one.as_str() == Some(arg))
            }),
        }
    }
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn read(text: &str) -> Made<Document<&str>> {
    Document::parse(text).map_err(|wrong| {
        let line = wrong.span().map_or(0, |span| {
            let before = text.as_bytes().iter().take(span.start);
            before.filter(|byte| **byte == b'\n').count()
        });
        format!("is not TOML: {} in line {}", wrong.message().trim_end(), line + 1)
    })
}

fn server<'a>(document: &'a Document<&str>) -> Made<Option<&'a Item>> {
    match document.get(LIST) {
        None => Ok(None),
        Some(Item::Table(table)) => Ok(table.get(NAME)),
        Some(_) => Err(format!("writes {LIST:?} as one value, which is not edited")),
    }
}

/// The config with our entry in it.
pub(super) fn connected(text: &str, wanted: &Server) -> Made<String> {
    let document = read(text)?;
    let Some(item) = server(&document)? else {
        let made = appended(text, wanted);
        // Tables that are written as dotted keys cannot always be added to.
        read(&made).map_err(|what| format!("would no longer be read: it {what}"))?;
        return Ok(made);
    };
    let table = item.as_table_like().ok_or_else(|| strange(item.type_name()))?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (name, value) in wanted.fields() {
        match table.get(name) {
            Some(found) if wanted.is(name, found) => {}
            Some(found) => edits.push((found.span().ok_or_else(|| strange("unplaced"))?, value)),
            None => edits.push(added(text, item, name, &value)?),
        }
    }
    edits.sort_by_key(|(span, _)| span.start);
    Ok(spliced(text, &edits))
}

/// One more line below the header of the table.
fn added(text: &str, item: &Item, name: &str, value: &str) -> Made<(Range<usize>, String)> {
    let header = item
        .as_table()
        .filter(|table| !table.is_implicit())
        .and_then(Table::span);
    let header = header.ok_or_else(|| strange("scattered"))?;
    let end = line_end(text, header.end);
    // The header may be the last line and not be ended.
    Ok(match text.get(..end).is_some_and(|text| text.ends_with('\n')) {
        true => (end..end, format!("{name} = {value}{}", newline(text))),
        false => (end..end, format!("{}{name} = {value}", newline(text))),
    })
}

fn strange(what: &str) -> String {
    format!("has an entry {LIST}.{NAME} that is {what}, which is not edited")
}

/// The entry at the end, behind an empty line. Where the last line was not ended, ours is not either: by that it is
/// known when it is taken out again.
fn appended(text: &str, wanted: &Server) -> String {
    let newline = newline(text);
    let fields = wanted.fields().map(|(name, value)| format!("{name} = {value}"));
    let block = format!("[{LIST}.{NAME}]{newline}{}", fields.join(newline));
    let is_empty = text.trim_start_matches('\u{feff}').is_empty();
    match text.ends_with('\n') {
        _ if is_empty => format!("{text}{block}{newline}"),
        true => format!("{text}{newline}{block}{newline}"),
        false => format!("{text}{newline}{newline}{block}"),
    }
}

/// The config without our entry; `None` if nothing is left and there was nothing before we came.
pub(super) fn parted(text: &str, original: Option<&str>) -> Made<Option<String>> {
    let document = read(text)?;
    let Some(item) = server(&document)? else {
        return Ok(Some(text.to_owned()));
    };
    let mut cuts = Vec::new();
    let key = document
        .get(LIST)
        .and_then(Item::as_table)
        .and_then(|list| list.key(NAME));
    collect(text, item, key.and_then(|key| key.span()), &mut cuts);
    cuts.sort_by_key(|cut: &Range<usize>| cut.start);
    let made = spliced(
        text,
        &cuts
            .into_iter()
            .map(|cut| (cut, String::new()))
            .collect::<Vec<_>>(),
    );
    let is_empty = made.trim_start_matches('\u{feff}').trim().is_empty();
    Ok(match original {
        None if is_empty => None,
        _ => Some(made),
    })
}

/// The lines that an item and everything below it take up.
fn collect(text: &str, item: &Item, key: Option<Range<usize>>, cuts: &mut Vec<Range<usize>>) {
    match item {
        Item::Table(table) => collect_table(text, table, table.span().filter(|_| has_header(table)), cuts),
        Item::ArrayOfTables(tables) => {
            for table in tables.iter() {
                collect_table(text, table, table.span(), cuts);
            }
        }
        _ => {
            let ends = item.span().zip(key);
            cuts.extend(ends.map(|(value, key)| line_start(text, key.start)..line_end(text, value.end)));
        }
    }
}

fn has_header(table: &Table) -> bool {
    !table.is_implicit() && !table.is_dotted()
}

fn collect_table(text: &str, table: &Table, header: Option<Range<usize>>, cuts: &mut Vec<Range<usize>>) {
    let mut own = Vec::new();
    let mut below = Vec::new();
    for (name, item) in table.iter() {
        let is_own = match item {
            Item::Table(table) => table.is_dotted(),
            Item::ArrayOfTables(_) => false,
            _ => true,
        };
        let key = table.key(name).and_then(|key| key.span());
        collect(text, item, key, if is_own { &mut own } else { &mut below });
    }
    match header {
        None => cuts.append(&mut own),
        Some(header) => {
            let last = own.iter().map(|cut| cut.end).max();
            let end = last.unwrap_or_else(|| line_end(text, header.end));
            cuts.push(gap_start(text, line_start(text, header.start), end)..end);
        }
    }
    cuts.append(&mut below);
}

/// Where the empty line before a table begins, that goes with it.
fn gap_start(text: &str, start: usize, end: usize) -> usize {
    let mut at = start;
    // A table whose last line is not ended stands behind one that was not either.
    let was_ended = text.get(..end).is_some_and(|text| text.ends_with('\n'));
    for _ in 0..if was_ended { 1 } else { 2 } {
        let before = text.get(..at).unwrap_or_default();
        let shorter = before
            .strip_suffix('\n')
            .map(|text| text.strip_suffix('\r').unwrap_or(text));
        // The line before is empty, or its end is to go as well.
        match shorter {
            Some(shorter) if !was_ended || shorter.is_empty() || shorter.ends_with('\n') => {
                at = shorter.len()
            }
            _ => break,
        }
    }
    at
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let bom = if text.starts_with('\u{feff}') { 3 } else { 0 };
    before.rfind('\n').map_or(bom, |newline| newline + 1)
}

/// Where the line that holds `at` ends, its end included.
fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |newline| at + newline + 1)
}

fn spliced(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut made = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (span, new) in edits {
        made.push_str(text.get(at..span.start).unwrap_or_default());
        made.push_str(new);
        at = span.end.max(at);
    }
    made.push_str(text.get(at..).unwrap_or_default());
    made
}
