//! A drawer as a row: its columns, and reading as much as possible of a damaged one.

use std::sync::LazyLock;

use loci_core::{
    Drawer, DrawerContext, DrawerFields, DrawerId, DrawerPlace, FilingDoor, Metadata, OriginKind, Provenance,
    Result, SourceSpan, Timestamp,
};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, Transaction, params};
use serde_json::Value as Json;

use crate::failure::{corrupt_error, sqlite_error};

/// A drawer with the numbers the store knows it by.
#[derive(Debug, Clone)]
pub(crate) struct StoredDrawer {
    /// Its row: the sequence number at which its text and vector were written; never reused.
    pub(crate) row: i64,
    /// The sequence number of its last change.
    pub(crate) seq: i64,
    /// The drawer, without its vector.
    pub(crate) drawer: Drawer,
    /// Its provenance as stored; a later release may have written it in a form that this one cannot read.
    provenance: Option<String>,
}

/// The statements that load a row, one for each choice of metadata, context and document. The columns stand in the order
/// of the indexes used below; one that is not wanted is left in its page.
static LOAD_SQL: LazyLock<[String; 8]> = LazyLock::new(|| {
    std::array::from_fn(|wanted| {
        let column = |part: usize, name: &'static str| if wanted & part == 0 { "NULL" } else { name };
        format!(
            "SELECT row, id, {hash}, uses, filed_at, said_at, wing, room, source, start, stop, line_start, line_end,
             speaker, kind, {metadata}, {before}, {after}, {document}, provenance, seq FROM drawers WHERE row = ?1",
            metadata = column(1, "metadata"),
            before = column(2, "before"),
            after = column(2, "after"),
            hash = column(4, "hash"),
            document = column(4, "document"),
        )
    })
});

fn load_sql(include: DrawerFields) -> &'static str {
    let wanted = [(include.metadata, 1), (include.context, 2), (include.document, 4)];
    let wanted: usize = wanted
        .iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, part)| part)
        .sum();
    LOAD_SQL.get(wanted).expect("three parts make eight choices")
}

/// Returns the stand-in for the hash of a drawer without a text: no text has it, and no two drawers share it.
pub(crate) fn hash_without_text(id: &str) -> [u8; 32] {
    *blake3::Hasher::new_derive_key("loci drawer without a text")
        .update(id.as_bytes())
        .finalize()
        .as_bytes()
}

/// Returns the content hash of a document.
pub(crate) fn content_hash(document: &str) -> [u8; 32] {
    *blake3::hash(document.as_bytes()).as_bytes()
}

/// Returns the drawer in `row`, if that row exists.
pub(crate) fn load_by_row(
    connection: &Connection,
    row: i64,
    include: DrawerFields,
) -> Result<Option<StoredDrawer>> {
    RowLoader::new(connection, include)?.load(row)
}

/// Loads drawers by their rows with one statement.
pub(crate) struct RowLoader<'c> {
    statement: CachedStatement<'c>,
    include: DrawerFields,
    provenance: LastProvenance,
}

/// The provenance read last, as it is stored and as it was read: drawers filed together share it.
#[derive(Debug, Default)]
struct LastProvenance {
    stored: String,
    read: Option<Provenance>,
}

impl<'c> RowLoader<'c> {
    pub(crate) fn new(connection: &'c Connection, include: DrawerFields) -> Result<Self> {
        let statement = connection
            .prepare_cached(load_sql(include))
            .map_err(sqlite_error)?;
        Ok(Self {
            statement,
            include,
            provenance: LastProvenance::default(),
        })
    }

    /// Returns the drawer in `row`, if that row exists.
    pub(crate) fn load(&mut self, row: i64) -> Result<Option<StoredDrawer>> {
        let (include, provenance) = (self.include, &mut self.provenance);
        self.statement
            .query_row([row], |row| Ok(read_row(row, include, provenance)))
            .optional()
            .map_err(sqlite_error)?
            .transpose()
    }
}

/// Returns the row of the drawer called `id`, if there is one.
pub(crate) fn row_of(connection: &Connection, collection: i64, id: &DrawerId) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT row FROM drawers WHERE collection = ?1 AND id = ?2")
        .and_then(|mut statement| {
            statement
                .query_row(params![collection, id.as_str()], |row| row.get(0))
                .optional()
        })
        .map_err(sqlite_error)
}

/// Returns the drawer filed for the same piece of the same source, if there is one.
pub(crate) fn find_twin(
    connection: &Connection,
    collection: i64,
    drawer: &Drawer,
) -> Result<Option<(i64, DrawerId)>> {
    // Without all three there is nothing to recognise a piece by, so such a drawer never has a twin.
    let (Some(source), Some(span), Some(document)) =
        (&drawer.place.source, drawer.place.span, &drawer.document)
    else {
        return Ok(None);
    };
    let found: Option<(i64, String)> = connection
        .prepare_cached(
            "SELECT row, id FROM drawers WHERE collection = ?1 AND source = ?2 AND start = ?4 AND hash = ?3",
        )
        .and_then(|mut statement| {
            statement
                .query_row(
                    params![collection, source, content_hash(document), span.start as i64],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .optional()
        })
        .map_err(sqlite_error)?;
    found.map(|(row, id)| Ok((row, DrawerId::new(id)?))).transpose()
}

/// Writes a drawer into a new row, with its provenance as [`provenance_text`] gives it.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    collection: i64,
    row: i64,
    drawer: &Drawer,
    provenance: Option<&str>,
) -> Result<()> {
    let sql = "INSERT INTO drawers(row, seq, collection, id, hash, uses, filed_at, said_at, wing, room, source, start, stop,
        line_start, line_end, speaker, kind, metadata, before, after, document, provenance)
        VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)";
    let (place, span) = (&drawer.place, drawer.place.span.as_ref());
    let document = drawer.document.as_deref().unwrap_or_default();
    // The hash is part of the unique index of pieces, so a drawer without a text needs one that no other has.
    let hash = match &drawer.document {
        Some(document) => content_hash(document),
        None => hash_without_text(drawer.id.as_str()),
    };
    transaction
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.execute(params![
                row,
                collection,
                drawer.id.as_str(),
                hash,
                drawer.uses as i64,
                drawer.filed_at.map_or(0, Timestamp::as_micros),
                place.said_at.map(Timestamp::as_micros),
                place.wing,
                place.room,
                place.source,
                span.map(|span| span.start as i64),
                span.map(|span| span.end as i64),
                span.map(|span| span.line_start as i64),
                span.map(|span| span.line_end as i64),
                place.speaker,
                place.kind,
                metadata_text(drawer),
                drawer.context.as_ref().map(|context| &context.before),
                drawer.context.as_ref().map(|context| &context.after),
                document,
                provenance,
            ])
        })
        .map(drop)
        .map_err(sqlite_error)
}

/// Writes changed metadata and place into a row whose text and vector stay.
pub(crate) fn update_in_place(
    transaction: &Transaction<'_>,
    row: i64,
    seq: i64,
    drawer: &Drawer,
    provenance: Option<&str>,
) -> Result<()> {
    // The row number stays, and with it vectors and words; followers of the change feed see the new `seq`.
    let sql =
        "UPDATE drawers SET seq = ?2, said_at = ?3, wing = ?4, room = ?5, source = ?6, start = ?7, stop = ?8,
        line_start = ?9, line_end = ?10, speaker = ?11, kind = ?12, metadata = ?13, provenance = ?14
        WHERE row = ?1";
    let (place, span) = (&drawer.place, drawer.place.span.as_ref());
    transaction
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.execute(params![
                row,
                seq,
                place.said_at.map(Timestamp::as_micros),
                place.wing,
                place.room,
                place.source,
                span.map(|span| span.start as i64),
                span.map(|span| span.end as i64),
                span.map(|span| span.line_start as i64),
                span.map(|span| span.line_end as i64),
                place.speaker,
                place.kind,
                metadata_text(drawer),
                provenance,
            ])
        })
        .map(drop)
        .map_err(sqlite_error)
}

/// Returns the provenance of a new drawer in its stored form.
pub(crate) fn provenance_text(drawer: &Drawer) -> Option<String> {
    drawer
        .provenance
        .as_ref()
        .map(|provenance| serde_json::to_string(provenance).expect("names and texts are always JSON"))
}

impl StoredDrawer {
    /// Returns the provenance to store with a changed state of this drawer: the new one, or else the stored text,
    /// readable or not.
    pub(crate) fn provenance_after(&self, changed: &Drawer) -> Option<String> {
        // Names written by a later release must survive a change made by this one, so the
        // text is kept as it is.
        if changed.provenance == self.drawer.provenance {
            return self.provenance.clone();
        }
        provenance_text(changed)
    }
}

fn metadata_text(drawer: &Drawer) -> String {
    drawer
        .metadata
        .as_ref()
        .map(|metadata| {
            serde_json::to_string(metadata).expect("text keys and finite numbers are always JSON")
        })
        .unwrap_or_else(|| "{}".to_owned())
}

/// The columns of one row, and the damage found in them.
struct RowCells<'r> {
    row: &'r Row<'r>,
    damage: Vec<String>,
}

impl RowCells<'_> {
    fn read_text(&mut self, at: usize, name: &str) -> Result<Option<String>> {
        Ok(match self.row.get_ref(at).map_err(sqlite_error)? {
            ValueRef::Null => None,
            // Damage to one column is reported with the drawer instead of failing the read: `export` must
            // still save everything that is readable.
            ValueRef::Text(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| {
                self.damage.push(format!("{name} is not valid text"));
                String::from_utf8_lossy(bytes).into_owned()
            })),
            _ => {
                self.damage.push(format!("{name} is not text"));
                None
            }
        })
    }

    fn read_int(&self, at: usize) -> Result<Option<i64>> {
        self.row.get(at).map_err(sqlite_error)
    }

    fn read_place(&mut self) -> Result<DrawerPlace> {
        Ok(DrawerPlace {
            wing: self.read_text(6, "the wing")?,
            room: self.read_text(7, "the room")?,
            source: self.read_text(8, "the source")?,
            speaker: self.read_text(13, "the speaker")?,
            kind: self.read_text(14, "the kind")?,
            span: span_from(
                self.read_int(9)?,
                self.read_int(10)?,
                self.read_int(11)?,
                self.read_int(12)?,
            ),
            said_at: self
                .read_int(5)?
                .and_then(|micros| Timestamp::from_micros(micros).ok()),
        })
    }

    fn read_metadata(&mut self) -> Result<Option<Metadata>> {
        let json = self.read_text(15, "the metadata")?;
        Ok(json.map(|json| metadata_from(&json, &mut self.damage)))
    }

    fn read_context(&mut self) -> Result<Option<DrawerContext>> {
        let Some(before) = self.read_text(16, "the context")? else {
            return Ok(None);
        };
        let after = self.read_text(17, "the context")?.unwrap_or_default();
        Ok(Some(DrawerContext { before, after }))
    }

    /// Reads the provenance, unless a later release wrote it with names that this one does not know.
    fn read_provenance(&mut self, json: &str, last: &mut LastProvenance) -> Option<Provenance> {
        if last.read.is_some() && last.stored == json {
            return last.read.clone();
        }
        match serde_json::from_str(json) {
            Ok(read) => {
                json.clone_into(&mut last.stored);
                last.read = Some(read);
                last.read.clone()
            }
            Err(_) => self.read_odd_provenance(json),
        }
    }

    /// Reads a provenance in a form that this release does not write; if no later release can have written it, it is
    /// damaged.
    fn read_odd_provenance(&mut self, json: &str) -> Option<Provenance> {
        let stored: Json = serde_json::from_str(json).unwrap_or_default();
        let text = |key: &str| stored.get(key).and_then(Json::as_str);
        let by = stored.get("by").is_none_or(|by| by.is_string() || by.is_null());
        let (Some(door), Some(origin), true) = (text("door"), text("origin"), by) else {
            self.damage.push("the provenance is damaged".to_owned());
            return None;
        };
        Some(Provenance {
            door: FilingDoor::parse(door)?,
            origin: OriginKind::parse(origin)?,
            by: text("by").map(str::to_owned),
        })
    }

    /// Reads the document and compares it with the hash that was stored with it.
    fn read_document(&mut self, id: &str) -> Result<Option<String>> {
        let document = self.read_text(18, "the document")?;
        let hash: Vec<u8> = self.row.get(2).map_err(sqlite_error)?;
        // The column is never null, so only the hash tells a drawer without a text from one with an empty text.
        if document.as_deref() == Some("") && hash == hash_without_text(id) {
            return Ok(None);
        }
        if document
            .as_deref()
            .is_some_and(|document| content_hash(document).as_slice() != hash)
        {
            self.damage
                .push("the document is not what was stored: its hash differs".to_owned());
        }
        Ok(document)
    }
}

/// Reads a row; damage in it is listed in the drawer, and the rest is returned.
fn read_row(row: &Row<'_>, include: DrawerFields, last: &mut LastProvenance) -> Result<StoredDrawer> {
    let mut cells = RowCells {
        row,
        damage: Vec::new(),
    };
    let id = cells.read_text(1, "the id")?.unwrap_or_default();
    // The place is always read: filters and orders need it, and it is short.
    let place = cells.read_place()?;
    let metadata = if include.metadata {
        cells.read_metadata()?
    } else {
        None
    };
    let context = if include.context {
        cells.read_context()?
    } else {
        None
    };
    let document = if include.document {
        cells.read_document(&id)?
    } else {
        None
    };
    let provenance = cells.read_text(19, "the provenance")?;
    let drawer = Drawer {
        document,
        provenance: provenance
            .as_deref()
            .and_then(|json| cells.read_provenance(json, last)),
        metadata,
        place,
        filed_at: cells
            .read_int(4)?
            .and_then(|micros| Timestamp::from_micros(micros).ok()),
        uses: cells
            .read_int(3)?
            .and_then(|uses| u64::try_from(uses).ok())
            .unwrap_or(0),
        context,
        ..Drawer::with_id_only(DrawerId::new(id).map_err(|_| corrupt_error("a drawer has a damaged id"))?)
    };
    Ok(StoredDrawer {
        row: cells.read_int(0)?.unwrap_or_default(),
        seq: cells.read_int(20)?.unwrap_or_default(),
        drawer: Drawer {
            damage: cells.damage,
            ..drawer
        },
        provenance,
    })
}

fn span_from(
    start: Option<i64>,
    stop: Option<i64>,
    line_start: Option<i64>,
    line_end: Option<i64>,
) -> Option<SourceSpan> {
    // The four numbers are written together, so a span that lacks one is not used at all.
    let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    Some(SourceSpan {
        start: number(start)?,
        end: number(stop)?,
        line_start: number(line_start)?,
        line_end: number(line_end)?,
    })
}

fn metadata_from(json: &str, damage: &mut Vec<String>) -> Metadata {
    serde_json::from_str(json).unwrap_or_else(|_| {
        damage.push("the metadata is damaged".to_owned());
        Metadata::new()
    })
}
