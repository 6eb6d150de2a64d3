//! Tables of a TOML file, read key by key. Every mistake is kept with its line, so that all can be told at once.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;

use serde_json::Value as Json;
use toml_edit::{Item, TableLike, Value};

/// The mistakes found in a file so far.
#[derive(Debug)]
pub(super) struct ConfigMistakes<'t> {
    text: &'t str,
    found: RefCell<Vec<(usize, String)>>,
}

impl<'t> ConfigMistakes<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            found: RefCell::default(),
        }
    }

    /// The line of a place in the file, counted from 1.
    pub(super) fn find_line(&self, span: Option<Range<usize>>) -> usize {
        let end = span.map_or(0, |span| span.start);
        let before = self.text.as_bytes().get(..end).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Keeps a mistake.
    pub(super) fn add(&self, line: usize, what: impl Display) {
        self.found.borrow_mut().push((line, what.to_string()));
    }

    /// All mistakes in one sentence, in the order of their lines; `None` if there are none.
    pub(super) fn describe(&self) -> Option<String> {
        let mut found = self.found.borrow_mut();
        found.sort();
        let told = found.iter().map(|(line, what)| format!("line {line}: {what}"));
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// A table that is read key by key.
pub(super) struct ConfigTable<'t> {
    /// The name of the table with a point at its end; empty for the file itself.
    prefix: String,
    /// The line at which it begins.
    pub(super) line: usize,
    table: &'t dyn TableLike,
    /// The keys that were asked for; any other is a mistake.
    asked: RefCell<Vec<&'static str>>,
    pub(super) mistakes: &'t ConfigMistakes<'t>,
}

/// A value and the line of its key.
struct FoundValue<'t> {
    line: usize,
    item: &'t Item,
}

impl<'t> ConfigTable<'t> {
    pub(super) fn new(
        name: &str,
        line: usize,
        table: &'t dyn TableLike,
        mistakes: &'t ConfigMistakes<'t>,
    ) -> Self {
        Self {
            prefix: if name.is_empty() {
                String::new()
            } else {
                format!("{name}.")
            },
            line,
            table,
            asked: RefCell::default(),
            mistakes,
        }
    }

    /// The text of a key, with its line.
    pub(super) fn text(&self, key: &'static str) -> Option<(usize, String)> {
        let found = self.find(key)?;
        let text = found.item.as_str().map(|text| (found.line, text.to_owned()));
        self.expect(text, &found, key, "a text")
    }

    /// The texts in the list of a key, each with its line.
    pub(super) fn texts(&self, key: &'static str) -> Vec<(usize, String)> {
        let Some(found) = self.find(key) else {
            return Vec::new();
        };
        let listed = found.item.as_array().and_then(|list| {
            let texts = list.iter().map(|value| {
                let line = value
                    .span()
                    .map_or(found.line, |span| self.mistakes.find_line(Some(span)));
                Some((line, value.as_str()?.to_owned()))
            });
            texts.collect::<Option<Vec<_>>>()
        });
        self.expect(listed, &found, key, "a list of texts")
            .unwrap_or_default()
    }

    /// The whole number of a key, at least 1.
    pub(super) fn count(&self, key: &'static str) -> Option<u64> {
        let found = self.find(key)?;
        let number = found
            .item
            .as_integer()
            .and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| *number > 0);
        self.expect(number, &found, key, "a whole number above 0")
    }

    /// The number of a key, above 0.
    pub(super) fn number(&self, key: &'static str) -> Option<f64> {
        let found = self.find(key)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate of 2⁵³ requests limits nothing")]
        let whole = found.item.as_integer().map(|number| number as f64);
        let number = found.item.as_float().or(whole);
        let number = number.filter(|number| number.is_finite() && *number > 0.0);
        self.expect(number, &found, key, "a number above 0")
    }

    /// The table of a key.
    pub(super) fn table(&self, key: &'static str) -> Option<Self> {
        let found = self.find(key)?;
        let table = found
            .item
            .as_table_like()
            .map(|table| self.open(key, found.line, table));
        self.expect(table, &found, key, "a table")
    }

    /// The tables in the list of a key, written as `[[key]]` or in one line.
    pub(super) fn tables(&self, key: &'static str) -> Vec<Self> {
        let Some(found) = self.find(key) else {
            return Vec::new();
        };
        let tables: Option<Vec<&'t dyn TableLike>> = match found.item {
            Item::ArrayOfTables(tables) => Some(tables.iter().map(|table| table as &dyn TableLike).collect()),
            Item::Value(Value::Array(list)) => list
                .iter()
                .map(|value| Some(value.as_inline_table()? as &dyn TableLike))
                .collect(),
            _ => None,
        };
        let tables = self
            .expect(tables, &found, key, "a list of tables")
            .unwrap_or_default();
        let spans = find_spans(found.item);
        let lines = spans.into_iter().map(|span| self.mistakes.find_line(span));
        tables
            .into_iter()
            .zip(lines)
            .map(|(table, line)| self.open(key, line, table))
            .collect()
    }

    /// Every key of the table with its line and text, for tables whose keys are names.
    pub(super) fn named_texts(&self) -> Vec<(usize, String, String)> {
        let mut named = Vec::new();
        for (name, item) in self.table.iter() {
            let key = self.table.get_key_value(name).and_then(|(key, _)| key.span());
            let line = self.mistakes.find_line(key);
            match item.as_str() {
                Some(text) => named.push((line, name.to_owned(), text.to_owned())),
                None => self
                    .mistakes
                    .add(line, format!("{}{name} is not a text", self.prefix)),
            }
        }
        named
    }

    /// The values of these keys as JSON.
    pub(super) fn to_json(&self, keys: &[&'static str]) -> serde_json::Map<String, Json> {
        let found = keys.iter().filter_map(|key| {
            let found = self.find(key)?;
            Some(((*key).to_owned(), item_to_json(found.item)))
        });
        found.collect()
    }

    /// Ends reading: every key that was not asked for is a mistake.
    pub(super) fn finish(self) {
        let asked = self.asked.borrow();
        for (name, _) in self.table.iter() {
            if !asked.contains(&name) {
                let key = self.table.get_key_value(name).and_then(|(key, _)| key.span());
                let known = asked.join(", ");
                let what = format!("unknown key {}{name} (known: {known})", self.prefix);
                self.mistakes.add(self.mistakes.find_line(key), what);
            }
        }
    }

    fn find(&self, key: &'static str) -> Option<FoundValue<'t>> {
        self.asked.borrow_mut().push(key);
        let (name, item) = self.table.get_key_value(key)?;
        let line = self.mistakes.find_line(name.span());
        Some(FoundValue { line, item })
    }

    fn open(&self, key: &str, line: usize, table: &'t dyn TableLike) -> Self {
        Self::new(&format!("{}{key}", self.prefix), line, table, self.mistakes)
    }

    fn expect<T>(&self, value: Option<T>, found: &FoundValue<'_>, key: &str, kind: &str) -> Option<T> {
        if value.is_none() {
            self.mistakes
                .add(found.line, format!("{}{key} is not {kind}", self.prefix));
        }
        value
    }
}

/// The places of the tables in a list.
fn find_spans(list: &Item) -> Vec<Option<Range<usize>>> {
    match list {
        Item::ArrayOfTables(tables) => tables.iter().map(toml_edit::Table::span).collect(),
        Item::Value(Value::Array(list)) => list.iter().map(Value::span).collect(),
        _ => Vec::new(),
    }
}

fn item_to_json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => value_to_json(value),
        Item::Table(table) => table_to_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_to_json(table)).collect(),
    }
}

fn table_to_json(table: &dyn TableLike) -> Json {
    let entries = table.iter();
    Json::Object(
        entries
            .map(|(key, item)| (key.to_owned(), item_to_json(item)))
            .collect(),
    )
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(truth) => Json::from(*truth.value()),
        Value::Datetime(time) => Json::from(time.value().to_string()),
        Value::Array(list) => list.iter().map(value_to_json).collect(),
        Value::InlineTable(table) => table_to_json(table),
    }
}
