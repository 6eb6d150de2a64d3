//! The layout of a table's rows: its columns in order, and whether a row fits them.

use super::record::ColumnValue;
use super::table::{ChromaTable, ColumnContent};

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableColumn {
    pub(super) name: String,
    /// Its declared type, by which SQLite distinguishes `1.0` from `1`.
    pub(super) declared: String,
    pub(super) content: ColumnContent,
}

/// The columns of a table in their order within a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowLayout {
    pub(super) table: ChromaTable,
    pub(super) columns: Vec<TableColumn>,
    /// The statement that inserts one row: its rowid, then its columns.
    pub(super) insert: String,
}

impl RowLayout {
    /// Creates a layout, if it has the columns of every release: a damaged statement may have lost one.
    pub(super) fn new<'a>(
        table: ChromaTable,
        columns: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Option<Self> {
        let columns: Vec<_> = columns
            .map(|(name, declared)| make_column(table, name, declared))
            .collect();
        let has = |name: &str| columns.iter().any(|column| column.name == name);
        // A column named `rowid` would capture the rowid that the insert below sets.
        let complete = table.lasting_columns().all(has) && !has("rowid");
        let insert = insert_statement(table, &columns);
        complete.then_some(Self {
            table,
            columns,
            insert,
        })
    }

    /// Returns the layouts of all releases, for tables whose statement was lost.
    pub(super) fn known_layouts() -> Vec<Self> {
        let of = |table: ChromaTable| {
            let releases = table.release_columns().iter();
            releases.filter_map(move |columns| Self::new(table, columns.iter().copied()))
        };
        ChromaTable::ALL.into_iter().flat_map(of).collect()
    }

    /// Returns whether the values can be a row of this table.
    pub(super) fn fits(&self, values: &[ColumnValue<'_>]) -> bool {
        self.all_columns(values, ColumnContent::allows)
    }

    /// Returns whether the values are a row as Chroma writes it into this table.
    pub(super) fn is_usual(&self, values: &[ColumnValue<'_>]) -> bool {
        self.all_columns(values, ColumnContent::is_usual)
            && self.holds_one_value(values)
            && !self.is_configuration(values)
    }

    fn all_columns(
        &self,
        values: &[ColumnValue<'_>],
        test: fn(ColumnContent, ColumnValue<'_>) -> bool,
    ) -> bool {
        // A row that was written before a column was added is
        // shorter; SQLite reads the missing values as NULL.
        let lacking = std::iter::repeat(ColumnValue::Null);
        let pairs = self.columns.iter().zip(values.iter().copied().chain(lacking));
        values.len() <= self.columns.len()
            && pairs
                .into_iter()
                .all(|(column, value)| test(column.content, value))
    }

    /// Returns whether at most one value column is set, as in every row of metadata.
    fn holds_one_value(&self, values: &[ColumnValue<'_>]) -> bool {
        let is_value = |column: &TableColumn| column.name.ends_with("_value");
        let values = self
            .columns
            .iter()
            .zip(values)
            .filter(|(column, _)| is_value(column));
        values.filter(|(_, value)| **value != ColumnValue::Null).count() <= 1
    }

    /// Returns whether a row is the configuration of the queue, which has the shape of a document.
    fn is_configuration(&self, values: &[ColumnValue<'_>]) -> bool {
        let text = values
            .get(1)
            .and_then(|value| value.as_text())
            .unwrap_or_default();
        self.table == ChromaTable::Documents
            && text.starts_with('{')
            && text.contains("EmbeddingsQueueConfiguration")
    }

    /// Returns the statement that creates the table, with the keys that keep duplicates out.
    pub(super) fn create_statement(&self) -> String {
        let mut parts: Vec<_> = self.columns.iter().map(TableColumn::definition).collect();
        if !self.table.key_columns().is_empty() {
            parts.push(format!("UNIQUE ({})", self.table.key_columns().join(", ")));
        }
        format!("CREATE TABLE {} ({})", self.table.name(), parts.join(", "))
    }
}

impl TableColumn {
    /// Returns the definition of the column for a statement.
    pub(super) fn definition(&self) -> String {
        let name = quote_name(&self.name);
        match self.content {
            ColumnContent::Rowid => format!("{name} INTEGER PRIMARY KEY"),
            _ => format!("{name} {}", self.declared),
        }
    }
}

fn make_column(table: ChromaTable, name: &str, declared: &str) -> TableColumn {
    // The type goes into a statement of ours, so anything but plain words is dropped.
    let plain = declared
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == ' ');
    TableColumn {
        name: name.to_owned(),
        declared: if plain { declared.to_owned() } else { String::new() },
        content: table.column_content(name),
    }
}

fn insert_statement(table: ChromaTable, columns: &[TableColumn]) -> String {
    let kept = columns
        .iter()
        .filter(|column| column.content != ColumnContent::Rowid);
    let names: Vec<_> = std::iter::once("rowid".to_owned())
        .chain(kept.map(|column| quote_name(&column.name)))
        .collect();
    let places = vec!["?"; names.len()].join(", ");
    format!(
        // IGNORE: of two rows with one key, the first is the one from an intact tree.
        "INSERT OR IGNORE INTO {} ({}) VALUES ({places})",
        table.name(),
        names.join(", ")
    )
}

fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
