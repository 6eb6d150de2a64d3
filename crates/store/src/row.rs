//! A drawer as a row: which columns hold what, and how a damaged one is still read.

use loci_core::{
    Context, Drawer, DrawerId, FilingDoor, Include, Metadata, OriginKind, Place, Provenance, Result, Span,
    Timestamp,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde_json::Value as Json;

use crate::failure::{corrupt, sqlite};

/// A drawer with the numbers the store knows it by.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Its row: the sequence number at which its text and vector were written; never given twice.
    pub(crate) row: i64,
    /// The drawer, without its vector.
    pub(crate) drawer: Drawer,
    /// Its provenance as it is stored, which a later release may have written and this one cannot read.
    provenance: Option<String>,
}

/// Everything but the texts comes first, so that a reader of few columns skips long documents.
const COLUMNS: &str =
    "row, id, hash, uses, filed_at, said_at, wing, room, source, start, stop, line_start, line_end,
    speaker, kind, metadata, before, after, document, provenance";

/// What stands for the hash of a drawer that has no text at all: no text has it, and no two drawers share it.
fn hash_without_text(id: &str) -> [u8; 32] {
    *blake3::Hasher::new_derive_key("loci drawer without a text")
        .update(id.as_bytes())
        .finalize()
        .as_bytes()
}

/// The content hash of a document.
pub(crate) fn content_hash(document: &str) -> [u8; 32] {
    *blake3::hash(document.as_bytes()).as_bytes()
}

/// The drawer in `row`, if that row is there.
pub(crate) fn by_row(connection: &Connection, row: i64, include: Include) -> Result<Option<Stored>> {
    let mut statement = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM drawers WHERE row = ?1"))
        .map_err(sqlite)?;
    statement
        .query_row([row], |row| Ok(read(row, include)))
        .optional()
        .map_err(sqlite)?
        .transpose()
}

/// The row of the drawer called `id`, if there is one.
pub(crate) fn row_of(connection: &Connection, collection: i64, id: &DrawerId) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT row FROM drawers WHERE collection = ?1 AND id = ?2")
        .and_then(|mut statement| {
            statement
                .query_row(params![collection, id.as_str()], |row| row.get(0))
                .optional()
        })
        .map_err(sqlite)
}

/// The drawer filed for the same piece of the same source, if there is one.
pub(crate) fn twin_of(
    connection: &Connection,
    collection: i64,
    drawer: &Drawer,
) -> Result<Option<(i64, DrawerId)>> {
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
        .map_err(sqlite)?;
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
        .map_err(sqlite)
}

/// Writes changed metadata and place into a row whose text and vector stay.
pub(crate) fn update_in_place(
    transaction: &Transaction<'_>,
    row: i64,
    seq: i64,
    drawer: &Drawer,
    provenance: Option<&str>,
) -> Result<()> {
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
        .map_err(sqlite)
}

/// The provenance of a new drawer as it is stored.
pub(crate) fn provenance_text(drawer: &Drawer) -> Option<String> {
    drawer
        .provenance
        .as_ref()
        .map(|provenance| serde_json::to_string(provenance).expect("names and texts are always JSON"))
}

impl Stored {
    /// The provenance to store with a changed state of this drawer: the new one, else what is there, readable or not.
    pub(crate) fn provenance_after(&self, changed: &Drawer) -> Option<String> {
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

/// The columns of one row, and what has been found wrong with them.
struct Cells<'r> {
    row: &'r Row<'r>,
    damage: Vec<String>,
}

impl Cells<'_> {
    fn text(&mut self, at: usize, name: &str) -> Result<Option<String>> {
        Ok(match self.row.get_ref(at).map_err(sqlite)? {
            ValueRef::Null => None,
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

    fn int(&self, at: usize) -> Result<Option<i64>> {
        self.row.get(at).map_err(sqlite)
    }

    fn place(&mut self) -> Result<Place> {
        Ok(Place {
            wing: self.text(6, "the wing")?,
            room: self.text(7, "the room")?,
            source: self.text(8, "the source")?,
            speaker: self.text(13, "the speaker")?,
            kind: self.text(14, "the kind")?,
            span: span(self.int(9)?, self.int(10)?, self.int(11)?, self.int(12)?),
            said_at: self
                .int(5)?
                .and_then(|micros| Timestamp::from_micros(micros).ok()),
        })
    }

    fn metadata(&mut self) -> Result<Option<Metadata>> {
        let json = self.text(15, "the metadata")?;
        Ok(json.map(|json| metadata_from(&json, &mut self.damage)))
    }

    fn context(&mut self) -> Result<Option<Context>> {
        let Some(before) = self.text(16, "the context")? else {
            return Ok(None);
        };
        let after = self.text(17, "the context")?.unwrap_or_default();
        Ok(Some(Context { before, after }))
    }

    /// The provenance, unless a later release wrote it in names that this one does not know.
    fn provenance(&mut self, json: &str) -> Option<Provenance> {
        serde_json::from_str(json)
            .ok()
            .or_else(|| self.odd_provenance(json))
    }

    /// The provenance in a form that this release does not write; where it is not one of a later release, it is damaged.
    fn odd_provenance(&mut self, json: &str) -> Option<Provenance> {
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

    /// The document, compared with the hash that was stored with it.
    fn document(&mut self, id: &str) -> Result<Option<String>> {
        let document = self.text(18, "the document")?;
        let hash: Vec<u8> = self.row.get(2).map_err(sqlite)?;
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

/// Reads a row; what is damaged in it is said in the drawer, and the rest is returned.
fn read(row: &Row<'_>, include: Include) -> Result<Stored> {
    let mut cells = Cells {
        row,
        damage: Vec::new(),
    };
    let id = cells.text(1, "the id")?.unwrap_or_default();
    let place = cells.place()?;
    let metadata = if include.metadata { cells.metadata()? } else { None };
    let context = if include.context { cells.context()? } else { None };
    let document = if include.document {
        cells.document(&id)?
    } else {
        None
    };
    let provenance = cells.text(19, "the provenance")?;
    let drawer = Drawer {
        document,
        provenance: provenance.as_deref().and_then(|json| cells.provenance(json)),
        metadata,
        place,
        filed_at: cells
            .int(4)?
            .and_then(|micros| Timestamp::from_micros(micros).ok()),
        uses: cells
            .int(3)?
            .and_then(|uses| u64::try_from(uses).ok())
            .unwrap_or(0),
        context,
        ..Drawer::bare(DrawerId::new(id).map_err(|_| corrupt("a drawer has a damaged id"))?)
    };
    Ok(Stored {
        row: cells.int(0)?.unwrap_or_default(),
        drawer: Drawer {
            damage: cells.damage,
            ..drawer
        },
        provenance,
    })
}

fn span(
    start: Option<i64>,
    stop: Option<i64>,
    line_start: Option<i64>,
    line_end: Option<i64>,
) -> Option<Span> {
    let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    Some(Span {
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
