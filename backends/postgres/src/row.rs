//! A drawer as a row of the server: its columns, and reading it back.

use loci_core::{
    Drawer, DrawerContext, DrawerFields, DrawerId, DrawerPlace, Metadata, Result, SourceSpan, Timestamp,
};
use tokio_postgres::Row;

use crate::failure::corrupt_error;

/// A drawer with the numbers the server knows it by.
#[derive(Debug, Clone)]
pub(crate) struct ServerDrawer {
    /// Its row: the sequence number at which its text and vector were written; never reused.
    pub(crate) row: i64,
    /// The drawer, with its vector if that was asked for.
    pub(crate) drawer: Drawer,
    /// Its provenance as stored; a later release may have written it in a form that this one cannot read.
    pub(crate) provenance: Option<String>,
}

/// Returns the columns of a drawer `d`, with the vector of `v` if it is included. Fields that are not included are
/// null, so that their bytes stay on the server.
pub(crate) fn columns(include: DrawerFields) -> String {
    let or_null = |wanted: bool, column: &'static str, kind: &str| {
        if wanted {
            column.to_owned()
        } else {
            format!("NULL::{kind}")
        }
    };
    format!(
        "d.\"row\", d.id, d.uses, d.filed_at, d.said_at, d.wing, d.room, d.source, d.start, d.stop, d.line_start,
         d.line_end, d.speaker, d.kind, d.provenance, {}, {}, {}, {}, {}",
        or_null(include.metadata, "d.metadata", "text"),
        or_null(include.context, "d.before", "bytea"),
        or_null(include.context, "d.after", "bytea"),
        or_null(include.document, "d.document", "bytea"),
        or_null(include.embedding, "v.value", "bytea"),
    )
}

/// Returns the tables of a drawer `d`, with its vector `v` in the active space if it is included.
pub(crate) fn tables(include: DrawerFields) -> &'static str {
    if include.embedding {
        "loci.drawers d LEFT JOIN loci.vectors v ON v.\"row\" = d.\"row\"
            AND v.space = (SELECT c.space FROM loci.collections c WHERE c.collection = d.collection)"
    } else {
        "loci.drawers d"
    }
}

/// Returns the same tables for a join, whose condition follows.
pub(crate) fn joined_tables(include: DrawerFields) -> String {
    if include.embedding {
        format!("({})", tables(include))
    } else {
        tables(include).to_owned()
    }
}

impl ServerDrawer {
    /// Reads the columns that [`columns`] names.
    pub(crate) fn read(row: &Row) -> Result<Self> {
        let number: i64 = row.get(0);
        let id = DrawerId::new(stored_text(row.get(1))?)?;
        let mut damage = Vec::new();
        let provenance: Option<String> = row.get(14);
        let metadata = row
            .get::<_, Option<&str>>(15)
            .map(serde_json::from_str::<Metadata>);
        let metadata = metadata.and_then(|parsed| {
            parsed
                .map_err(|_| damage.push("its metadata cannot be read".to_owned()))
                .ok()
        });
        let (before, after): (Option<Vec<u8>>, Option<Vec<u8>>) = (row.get(16), row.get(17));
        let context = match (before, after) {
            (Some(before), Some(after)) => Some(DrawerContext {
                before: stored_text(before)?,
                after: stored_text(after)?,
            }),
            _ => None,
        };
        let embedding = row.get::<_, Option<&[u8]>>(19).map(read_vector);
        let drawer = Drawer {
            document: row.get::<_, Option<Vec<u8>>>(18).map(stored_text).transpose()?,
            metadata,
            place: read_place(row)?,
            filed_at: Some(Timestamp::from_micros(row.get(3))?),
            provenance: provenance
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok()),
            uses: crate::shelf::count(row.get(2)),
            context,
            embedding,
            damage,
            ..Drawer::with_id_only(id)
        };
        Ok(Self {
            row: number,
            drawer,
            provenance,
        })
    }
}

fn read_place(row: &Row) -> Result<DrawerPlace> {
    let text = |column: usize| row.get::<_, Option<Vec<u8>>>(column).map(stored_text).transpose();
    let number = |column: usize| row.get::<_, Option<i64>>(column).map(crate::shelf::count);
    let said_at: Option<i64> = row.get(4);
    let span = match (number(8), number(9), number(10), number(11)) {
        (Some(start), Some(end), Some(line_start), Some(line_end)) => Some(SourceSpan {
            start,
            end,
            line_start,
            line_end,
        }),
        _ => None,
    };
    Ok(DrawerPlace {
        wing: text(5)?,
        room: text(6)?,
        source: text(7)?,
        span,
        speaker: text(12)?,
        kind: text(13)?,
        said_at: said_at.map(Timestamp::from_micros).transpose()?,
    })
}

/// Returns a stored text; every text was valid when it was stored.
pub(crate) fn stored_text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| corrupt_error("a stored text is not UTF-8"))
}

/// Returns a stored vector, bit for bit.
pub(crate) fn read_vector(bytes: &[u8]) -> Vec<f32> {
    let values = bytes.chunks_exact(4);
    values
        .map(|value| f32::from_le_bytes(value.try_into().expect("chunks of four bytes")))
        .collect()
}

/// Returns the bytes of a vector.
pub(crate) fn vector_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns the hash under which two drawers are the same piece of the same source; `None` if a drawer is no such piece.
pub(crate) fn piece_hash(drawer: &Drawer) -> Option<Vec<u8>> {
    let source = drawer.place.source.as_deref()?;
    let start = drawer.place.span?.start;
    let document = drawer.document.as_deref()?;
    let mut hasher = blake3::Hasher::new_derive_key("loci piece of a source");
    // The length in front keeps source and document apart.
    hasher.update(&(source.len() as u64).to_le_bytes());
    hasher.update(source.as_bytes());
    hasher.update(&start.to_le_bytes());
    hasher.update(document.as_bytes());
    Some(hasher.finalize().as_bytes().to_vec())
}
