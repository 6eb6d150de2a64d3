//! A chunk as a drawer: its text verbatim, its place, and everything else as metadata in its own type.
//!
//! memtomem counts lines and no bytes. The span of a drawer therefore counts lines in both pairs of fields, and its
//! metadata says so (`span_unit`): the order within a source and the rule that no piece is filed twice hold as they do
//! for bytes.

use loci_core::{Context, DrawerId, Error, ErrorKind, Metadata, NewDrawer, Place, Result, Span, Timestamp};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::cell;
use crate::database::Database;
use crate::rows::is_damage;
use crate::survey::Chunk;

/// Columns that a drawer holds elsewhere than in its metadata.
const ELSEWHERE: [&str; 4] = ["id", "content", "source_file", "chunk_type"];

/// Columns that hold a list as JSON.
const LISTS: [&str; 2] = ["heading_hierarchy", "tags"];

/// Names that mean something of their own in metadata; a column called like this is told apart by a prefix.
const TAKEN: [&str; 11] = [
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

impl Database {
    /// Reads a chunk whole, as the drawer it becomes. It has no vector: those memtomem keeps were made by another
    /// model.
    pub fn drawer(&self, chunk: &Chunk) -> Result<NewDrawer> {
        let columns: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        let sql = format!(
            "SELECT {} FROM chunks NOT INDEXED WHERE rowid = ?1",
            columns.join(", ")
        );
        let read = self.connection().prepare_cached(&sql).and_then(|mut statement| {
            let known = |row: &Row<'_>| {
                Ok(Known {
                    columns: &self.columns,
                    row,
                }
                .drawer(chunk))
            };
            statement.query_row([chunk.row], known)
        });
        let mut drawer = read.map_err(lost)??;
        if let Some(reason) = self.held.get(&*chunk.source) {
            drawer.metadata.insert("held", reason.as_str());
        }
        Ok(drawer)
    }
}

fn lost(cause: rusqlite::Error) -> Error {
    let kind = match is_damage(&cause) {
        true => ErrorKind::Corrupt,
        false => ErrorKind::Format,
    };
    Error::new(kind, "the chunk cannot be read").caused_by(cause)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A row whose columns are known by name.
struct Known<'a> {
    columns: &'a [String],
    row: &'a Row<'a>,
}

impl Known<'_> {
    /// The value of a column; one that this release did not have is NULL.
    fn value(&self, column: &str) -> ValueRef<'_> {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| self.row.get_ref(at).ok())
            .unwrap_or(ValueRef::Null)
    }

    fn label(&self, column: &str) -> Option<String> {
        Some(cell::label(self.value(column))).filter(|label| !label.is_empty())
    }

    fn whole(&self, column: &str) -> Option<i64> {
        cell::whole(self.value(column))
    }

    fn time(&self, column: &str) -> Option<Timestamp> {
        self.label(column)?.parse().ok()
    }

    fn drawer(&self, chunk: &Chunk) -> Result<NewDrawer> {
        let id = DrawerId::new(chunk.id.as_str())?;
        let document = match self.value("content") {
            ValueRef::Null => return Err(Error::invalid("the chunk's content is NULL")),
            value => cell::text(value)
                .map_err(|error| Error::invalid(format!("the chunk's content {}", error.message())))?
                .unwrap_or_default(),
        };
        Ok(NewDrawer {
            wordless: false,
            document,
            context: self.context(),
            metadata: self.metadata(&id),
            place: self.place(),
            provenance: None,
            filed_at: self.time("created_at"),
            uses: self.uses(),
            embedding: None,
            id,
        })
    }

    fn uses(&self) -> u64 {
        let count = |column| self.whole(column).unwrap_or(0).max(0);
        count("access_count")
            .saturating_add(count("use_count"))
            .unsigned_abs()
    }

    /// What memtomem itself indexes before the text: its description of the chunk, or else the headings above it.
    fn context(&self) -> Option<Context> {
        let headings = cell::list(self.value("heading_hierarchy"));
        let headings = headings.as_ref().map(cell::texts).unwrap_or_default().join(" > ");
        let before = self.label("retrieval_context").unwrap_or(headings);
        (!before.is_empty()).then(|| Context {
            before,
            after: String::new(),
        })
    }

    fn place(&self) -> Place {
        Place {
            wing: self.label("namespace"),
            room: self.label("project_root").as_deref().and_then(last_name),
            source: self.label("source_file"),
            span: self.span(),
            speaker: None,
            kind: self.label("chunk_type"),
            said_at: self.valid_from(),
        }
    }

    fn valid_from(&self) -> Option<Timestamp> {
        let micros = self.whole("valid_from_unix")?.checked_mul(1_000_000)?;
        Timestamp::from_micros(micros).ok()
    }

    /// Its lines, where they are lines of a file.
    fn span(&self) -> Option<Span> {
        let line = |column| self.whole(column).and_then(|line| u64::try_from(line).ok());
        let (line_start, line_end) = (line("start_line")?, line("end_line")?);
        let span = Span {
            start: line_start,
            end: line_end.checked_add(1)?,
            line_start,
            line_end,
        };
        (line_start > 0 && span.check().is_ok()).then_some(span)
    }

    fn metadata(&self, id: &DrawerId) -> Metadata {
        let mut metadata = Metadata::new().with("chunk_id", id.as_str());
        if self.span().is_some() {
            metadata.insert("span_unit", "lines");
        }
        for column in self.columns.iter().map(String::as_str) {
            let is_filed = column == "created_at" && self.time(column).is_some();
            if ELSEWHERE.contains(&column) || is_filed || column.is_empty() {
                continue;
            }
            let value = match LISTS.contains(&column) {
                true => cell::list(self.value(column)),
                false => cell::metadata(self.value(column)),
            };
            let name = match TAKEN.contains(&column) {
                true => format!("memtomem_{column}"),
                false => column.to_owned(),
            };
            if let Some(value) = value {
                metadata.insert(name, value);
            }
        }
        metadata
    }
}

/// The name of the folder a path means, whichever way it is written.
fn last_name(path: &str) -> Option<String> {
    let name = path
        .rsplit(['/', '\\'])
        .map(str::trim)
        .find(|name| !name.is_empty());
    name.map(str::to_owned)
}
