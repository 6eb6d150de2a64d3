//! Turns a chunk into a drawer: its text verbatim, its place, and every other column as metadata of the same type.
//!
//! memtomem records lines, not bytes. Both pairs of fields in a drawer's span therefore count lines, and its metadata
//! records that (`span_unit`). The order within a source, and the rule that no piece is filed twice, hold as they do
//! for bytes.

use loci_core::{
    DrawerContext, DrawerId, DrawerPlace, Error, ErrorKind, Metadata, NewDrawer, Result, SourceSpan,
    Timestamp,
};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::cell;
use crate::database::MemtomemDatabase;
use crate::rows::is_damage;
use crate::survey::MemtomemChunk;

/// The columns that a drawer holds outside its metadata.
const PLACED_COLUMNS: [&str; 4] = ["id", "content", "source_file", "chunk_type"];

/// The columns that hold a list as JSON.
const LIST_COLUMNS: [&str; 2] = ["heading_hierarchy", "tags"];

/// The names that metadata reserves; a column with such a name gets a prefix.
const RESERVED_NAMES: [&str; 11] = [
    "wing",
    "room",
    "source",
    "speaker",
    "kind",
    "said_at",
    "filed_at",
    "format",
    "chunk_id",
    "span_unit",
    "held",
];

impl MemtomemDatabase {
    /// Reads a whole chunk as a drawer. The drawer has no vector, because another model made those that memtomem
    /// keeps.
    pub fn read_drawer(&self, chunk: &MemtomemChunk) -> Result<NewDrawer> {
        let columns: Vec<String> = self.columns.iter().map(|name| quote_name(name)).collect();
        // NOT INDEXED: an index may disagree with a damaged table, and only the table holds the text.
        let sql = format!(
            "SELECT {} FROM chunks NOT INDEXED WHERE rowid = ?1",
            columns.join(", ")
        );
        let read = self.connection().prepare_cached(&sql).and_then(|mut statement| {
            let known = |row: &Row<'_>| {
                Ok(NamedRow {
                    columns: &self.columns,
                    row,
                }
                .build_drawer(chunk))
            };
            statement.query_row([chunk.row], known)
        });
        let mut drawer = read.map_err(unreadable_chunk)??;
        // memtomem hides such chunks; they are imported all the same, and the reason goes with them.
        if let Some(reason) = self.held.get(&*chunk.source) {
            drawer.metadata.insert("held", reason.as_str());
        }
        Ok(drawer)
    }
}

fn unreadable_chunk(cause: rusqlite::Error) -> Error {
    let kind = if is_damage(&cause) {
        ErrorKind::Corrupt
    } else {
        ErrorKind::Format
    };
    Error::new(kind, "the chunk cannot be read").caused_by(cause)
}

fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A row whose columns are looked up by name.
struct NamedRow<'a> {
    columns: &'a [String],
    row: &'a Row<'a>,
}

impl NamedRow<'_> {
    /// Returns the value of a column, or NULL if this release lacks the column.
    fn column_value(&self, column: &str) -> ValueRef<'_> {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| self.row.get_ref(at).ok())
            .unwrap_or(ValueRef::Null)
    }

    fn column_label(&self, column: &str) -> Option<String> {
        Some(cell::as_label(self.column_value(column))).filter(|label| !label.is_empty())
    }

    fn column_whole(&self, column: &str) -> Option<i64> {
        cell::as_whole(self.column_value(column))
    }

    fn column_time(&self, column: &str) -> Option<Timestamp> {
        self.column_label(column)?.parse().ok()
    }

    fn build_drawer(&self, chunk: &MemtomemChunk) -> Result<NewDrawer> {
        let id = DrawerId::new(chunk.id.as_str())?;
        let document = match self.column_value("content") {
            ValueRef::Null => return Err(Error::invalid("the chunk's content is NULL")),
            value => cell::as_text(value)
                .map_err(|error| Error::invalid(format!("the chunk's content {}", error.message())))?
                .unwrap_or_default(),
        };
        Ok(NewDrawer {
            wordless: false,
            document,
            context: self.build_context(),
            metadata: self.build_metadata(&id),
            place: self.build_place(),
            provenance: None,
            filed_at: self.column_time("created_at"),
            uses: self.count_uses(),
            embedding: None,
            id,
        })
    }

    fn count_uses(&self) -> u64 {
        let count = |column| self.column_whole(column).unwrap_or(0).max(0);
        count("access_count")
            // The first releases have neither column, which reads as 0.
            .saturating_add(count("use_count"))
            .unsigned_abs()
    }

    /// Returns the text that memtomem indexes before the chunk: its description, or else the headings above it.
    fn build_context(&self) -> Option<DrawerContext> {
        let headings = cell::as_list(self.column_value("heading_hierarchy"));
        let headings = headings
            .as_ref()
            .map(cell::list_texts)
            .unwrap_or_default()
            .join(" > ");
        let before = self.column_label("retrieval_context").unwrap_or(headings);
        (!before.is_empty()).then(|| DrawerContext {
            before,
            after: String::new(),
        })
    }

    fn build_place(&self) -> DrawerPlace {
        DrawerPlace {
            wing: self.column_label("namespace"),
            room: self
                .column_label("project_root")
                .as_deref()
                .and_then(last_component),
            source: self.column_label("source_file"),
            span: self.line_span(),
            speaker: None,
            kind: self.column_label("chunk_type"),
            said_at: self.valid_from(),
        }
    }

    fn valid_from(&self) -> Option<Timestamp> {
        // The column is in seconds; one too large to be a time is left in the metadata only.
        let micros = self.column_whole("valid_from_unix")?.checked_mul(1_000_000)?;
        Timestamp::from_micros(micros).ok()
    }

    /// Returns the lines of the chunk, if they can be lines of a file.
    fn line_span(&self) -> Option<SourceSpan> {
        let line = |column| {
            self.column_whole(column)
                .and_then(|line| u64::try_from(line).ok())
        };
        let (line_start, line_end) = (line("start_line")?, line("end_line")?);
        let span = SourceSpan {
            start: line_start,
            // `end` is exclusive while memtomem's last line is inclusive.
            end: line_end.checked_add(1)?,
            line_start,
            line_end,
        };
        // Lines count from 1; 0 is the column's default and means that none was recorded.
        (line_start > 0 && span.check_range().is_ok()).then_some(span)
    }

    fn build_metadata(&self, id: &DrawerId) -> Metadata {
        let mut metadata = Metadata::new().with_entry("chunk_id", id.as_str());
        if self.line_span().is_some() {
            metadata.insert("span_unit", "lines");
        }
        for column in self.columns.iter().map(String::as_str) {
            // A time that could be parsed is `filed_at`; one
            // that could not would be lost without its metadata.
            let is_filed = column == "created_at" && self.column_time(column).is_some();
            if PLACED_COLUMNS.contains(&column) || is_filed || column.is_empty() {
                continue;
            }
            let value = if LIST_COLUMNS.contains(&column) {
                cell::as_list(self.column_value(column))
            } else {
                cell::as_metadata(self.column_value(column))
            };
            let name = if RESERVED_NAMES.contains(&column) {
                format!("memtomem_{column}")
            } else {
                column.to_owned()
            };
            if let Some(value) = value {
                metadata.insert(name, value);
            }
        }
        metadata
    }
}

/// Returns the last component of a path with either kind of separator.
fn last_component(path: &str) -> Option<String> {
    let name = path
        .rsplit(['/', '\\'])
        .map(str::trim)
        .find(|name| !name.is_empty());
    name.map(str::to_owned)
}
