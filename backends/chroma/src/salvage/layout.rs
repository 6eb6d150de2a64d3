//! How the rows of one table lie in the file: its columns in order, and whether a row fits them.

use super::record::Value;
use super::table::{Content, Table};

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// Its declared type, which SQLite needs to tell `1.0` from `1`.
    pub(super) declared: String,
    pub(super) content: Content,
}

/// The columns of a table in the order of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) table: Table,
    pub(super) columns: Vec<Column>,
    /// The statement that files one row: its rowid, then its columns.
    pub(super) insert: String,
}

impl Layout {
    /// A layout, if it has the columns that every release has: a damaged statement may have lost one.
    pub(super) fn new<'a>(table: Table, columns: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let columns: Vec<_> = columns
            .map(|(name, declared)| column(table, name, declared))
            .collect();
        let has = |name: &str| columns.iter().any(|column| column.name == name);
        let complete = table.lasting_columns().all(has) && !has("rowid");
        let insert = insert(table, &columns);
        complete.then_some(Self {
            table,
            columns,
            insert,
        })
    }

    /// The layouts of all releases, for tables whose own words were lost.
    pub(super) fn known() -> Vec<Self> {
        let of = |table: Table| {
            let releases = table.columns().iter();
            releases.filter_map(move |columns| Self::new(table, columns.iter().copied()))
        };
        Table::ALL.into_iter().flat_map(of).collect()
    }

    /// Whether these can be the columns of a row of this table.
    pub(super) fn fits(&self, values: &[Value<'_>]) -> bool {
        self.every(values, Content::allows)
    }

    /// Whether these are the columns of such a row as Chroma writes it into this table.
    pub(super) fn is_usual(&self, values: &[Value<'_>]) -> bool {
        self.every(values, Content::is_usual)
            && self.holds_one_value(values)
            && !self.is_configuration(values)
    }

    fn every(&self, values: &[Value<'_>], test: fn(Content, Value<'_>) -> bool) -> bool {
        let lacking = std::iter::repeat(Value::Null);
        let pairs = self.columns.iter().zip(values.iter().copied().chain(lacking));
        values.len() <= self.columns.len()
            && pairs
                .into_iter()
                .all(|(column, value)| test(column.content, value))
    }

    /// A row of metadata has its value in one column.
    fn holds_one_value(&self, values: &[Value<'_>]) -> bool {
        let is_value = |column: &Column| column.name.ends_with("_value");
        let values = self
            .columns
            .iter()
            .zip(values)
            .filter(|(column, _)| is_value(column));
        values.filter(|(_, value)| **value != Value::Null).count() <= 1
    }

    /// The queue's configuration has the shape of a document.
    fn is_configuration(&self, values: &[Value<'_>]) -> bool {
        let text = values.get(1).and_then(|value| value.text()).unwrap_or_default();
        self.table == Table::Documents
            && text.starts_with('{')
            && text.contains("EmbeddingsQueueConfiguration")
    }

    /// The statement that makes the table, with the keys that let no row in twice.
    pub(super) fn create(&self) -> String {
        let mut parts: Vec<_> = self.columns.iter().map(Column::definition).collect();
        if !self.table.key().is_empty() {
            parts.push(format!("UNIQUE ({})", self.table.key().join(", ")));
        }
        format!("CREATE TABLE {} ({})", self.table.name(), parts.join(", "))
    }
}

impl Column {
    /// The column as a statement defines it.
    pub(super) fn definition(&self) -> String {
        let name = quoted(&self.name);
        match self.content {
            Content::Rowid => format!("{name} INTEGER PRIMARY KEY"),
            _ => format!("{name} {}", self.declared),
        }
    }
}

fn column(table: Table, name: &str, declared: &str) -> Column {
    let plain = declared
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == ' ');
    Column {
        name: name.to_owned(),
        declared: if plain { declared.to_owned() } else { String::new() },
        content: table.content(name),
    }
}

fn insert(table: Table, columns: &[Column]) -> String {
    let kept = columns.iter().filter(|column| column.content != Content::Rowid);
    let names: Vec<_> = std::iter::once("rowid".to_owned())
        .chain(kept.map(|column| quoted(&column.name)))
        .collect();
    let places = vec!["?"; names.len()].join(", ");
    format!(
        "INSERT OR IGNORE INTO {} ({}) VALUES ({places})",
        table.name(),
        names.join(", ")
    )
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
