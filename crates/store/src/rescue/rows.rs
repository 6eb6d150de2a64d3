//! Rows recognised by their shape: whatever table a page belonged to, a row of a palace shows what it is.

use loci_core::{
    Drawer, DrawerContext, DrawerFields, DrawerId, DrawerPlace, Metadata, Metric, Provenance, SourceSpan,
    Timestamp,
};

use super::record::RecordValue;
use crate::{row, vectors};

/// The columns of a drawer without its provenance, and with it.
const COLUMNS: [usize; 2] = [21, 22];
/// The smallest time of a note: the tables of notes and of removed drawers have the same shape, but collections have
/// small numbers and times have large ones.
const FIRST_TIME: i64 = 1_000_000_000_000;

/// The columns at the beginning of a drawer, which are on the page of its cell unless its id is very long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DrawerHead {
    pub(super) collection: i64,
    pub(super) id: String,
    pub(super) seq: i64,
    pub(super) place: (Option<String>, Option<String>, Option<String>),
}

/// A row of one of the small tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SmallRow {
    /// A table or index of the schema, and its root.
    Schema { name: String, root: u32 },
    /// A collection.
    Collection(CollectionRow),
    /// An embedding space.
    Space(SpaceRow),
    /// A drawer that was removed.
    Tombstone { seq: i64, collection: i64, id: String },
}

/// A row of the table of collections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CollectionRow {
    pub(super) collection: i64,
    pub(super) name: String,
    pub(super) metric: Metric,
    pub(super) space: i64,
    pub(super) drawers: i64,
}

/// A row of the table of spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpaceRow {
    pub(super) space: i64,
    pub(super) collection: i64,
    pub(super) dimension: Option<usize>,
    pub(super) model: Option<String>,
    pub(super) revision: Option<String>,
    /// The number of drawers that have a vector in it.
    pub(super) vectors: i64,
    /// Whether no state is recorded, as of the space that answers queries.
    pub(super) stateless: bool,
}

/// Recognises a drawer by the columns at its beginning.
pub(super) fn read_head(values: &[RecordValue<'_>]) -> Option<DrawerHead> {
    if !COLUMNS.contains(&values.len()) {
        return None;
    }
    let [
        key,
        collection,
        id,
        seq,
        hash,
        uses,
        filed_at,
        said_at,
        wing,
        room,
        source,
        ..,
    ] = values
    else {
        return None;
    };
    let shaped = key.is_null()
        && hash.as_blob().is_some_and(|hash| hash.len() == 32)
        && uses.as_int().is_some()
        && filed_at.as_int().is_some()
        && (said_at.is_null() || said_at.as_int().is_some());
    let text = |value: &RecordValue<'_>| value.as_text().map(str::to_owned);
    shaped.then_some(DrawerHead {
        collection: collection.as_int()?,
        id: text(id)?,
        seq: seq.as_int()?,
        place: (text(wing), text(room), text(source)),
    })
}

/// Recognises a row of one of the small tables.
pub(super) fn read_small_row(row: i64, values: &[RecordValue<'_>]) -> Option<SmallRow> {
    let text = |value: &RecordValue<'_>| value.as_text().map(str::to_owned);
    match values {
        [key, collection, id] if key.is_null() => {
            let collection = collection.as_int().filter(|number| *number < FIRST_TIME)?;
            Some(SmallRow::Tombstone {
                seq: row,
                collection,
                id: text(id)?,
            })
        }
        [kind, name, _, root, sql] if matches!(kind.as_text(), Some("table" | "index")) => {
            sql.as_text().or_else(|| sql.is_null().then_some(""))?;
            Some(SmallRow::Schema {
                name: text(name)?,
                root: u32::try_from(root.as_int()?).ok()?,
            })
        }
        [key, name, metric, space, projection, drawers, created] if key.is_null() => {
            projection.as_int()?;
            created.as_int()?;
            Some(SmallRow::Collection(CollectionRow {
                collection: row,
                name: text(name)?,
                metric: Metric::parse(metric.as_text()?).ok()?,
                space: space.as_int()?,
                drawers: drawers.as_int()?,
            }))
        }
        // Format 1 has neither state nor turn.
        [
            key,
            collection,
            dimension,
            model,
            revision,
            vectors,
            tail,
            sealed,
            rest @ ..,
        ] if key.is_null() && matches!(rest.len(), 0 | 2) => {
            tail.as_int().and(sealed.as_int())?;
            Some(SmallRow::Space(SpaceRow {
                space: row,
                collection: collection.as_int()?,
                dimension: dimension.as_int().and_then(|n| usize::try_from(n).ok()),
                model: text(model),
                revision: text(revision),
                vectors: vectors.as_int()?,
                stateless: rest.first().is_none_or(|state| state.is_null()),
            }))
        }
        _ => None,
    }
}

/// Recognises a vector, which carries its own checksum; returns its dimension.
pub(super) fn read_vector(row: i64, values: &[RecordValue<'_>], into: &mut Vec<f32>) -> Option<usize> {
    let [key, data] = values else { return None };
    let bytes = data.as_blob().filter(|_| key.is_null())?;
    let dimension = bytes.len().checked_sub(8)? / 4;
    vectors::decode_vector(row, bytes, dimension, into).ok()?;
    (dimension > 0).then_some(dimension)
}

/// Reads a whole drawer; `None` if its text is not the one that was stored.
pub(super) fn read_drawer(values: &[RecordValue<'_>], include: DrawerFields) -> Option<Drawer> {
    let head = read_head(values)?;
    let hash = values.get(4)?.as_blob()?;
    let (document, metadata, provenance) = find_document(values, &head.id, hash)?;
    let text = |at: usize| {
        values
            .get(at)
            .and_then(|value| value.as_text())
            .map(str::to_owned)
    };
    let int = |at: usize| values.get(at).and_then(|value| value.as_int());
    let mut damage = Vec::new();
    let metadata_text = text(metadata).unwrap_or_default();
    let parsed = serde_json::from_str::<Metadata>(&metadata_text).unwrap_or_else(|_| {
        damage.push("the metadata is damaged".to_owned());
        Metadata::new()
    });
    let context = text(metadata + 1).map(|before| DrawerContext {
        before,
        after: text(metadata + 2).unwrap_or_default(),
    });
    let provenance = provenance.and_then(text);
    Some(Drawer {
        document: document.filter(|_| include.document).map(str::to_owned),
        metadata: include.metadata.then_some(parsed),
        context: context.filter(|_| include.context),
        place: read_place(values),
        filed_at: int(6).and_then(|micros| Timestamp::from_micros(micros).ok()),
        uses: int(5).and_then(|uses| u64::try_from(uses).ok()).unwrap_or(0),
        provenance: provenance.and_then(|json| serde_json::from_str::<Provenance>(&json).ok()),
        damage,
        ..Drawer::with_id_only(DrawerId::new(head.id).ok()?)
    })
}

/// A document, the column of the metadata, and that of the provenance.
type DocumentColumns<'a> = (Option<&'a str>, usize, Option<usize>);

/// Finds the document by its hash: files of earlier formats have the provenance after it, if at all.
fn find_document<'a>(values: &[RecordValue<'a>], id: &str, hash: &[u8]) -> Option<DocumentColumns<'a>> {
    let layouts = match values.len() {
        22 => &[(21, 18, Some(17)), (20, 17, Some(21))][..],
        _ => &[(20, 17, None)][..],
    };
    layouts.iter().find_map(|(document, metadata, provenance)| {
        let text = values.get(*document)?.as_text()?;
        if text.is_empty() && hash == row::hash_without_text(id) {
            return Some((None, *metadata, *provenance));
        }
        (hash == row::content_hash(text)).then_some((Some(text), *metadata, *provenance))
    })
}

fn read_place(values: &[RecordValue<'_>]) -> DrawerPlace {
    let text = |at: usize| {
        values
            .get(at)
            .and_then(|value| value.as_text())
            .map(str::to_owned)
    };
    let int = |at: usize| values.get(at).and_then(|value| value.as_int());
    let count = |at: usize| int(at).and_then(|n| u64::try_from(n).ok());
    let span = || {
        Some(SourceSpan {
            start: count(11)?,
            end: count(12)?,
            line_start: count(13)?,
            line_end: count(14)?,
        })
    };
    DrawerPlace {
        wing: text(8),
        room: text(9),
        source: text(10),
        span: span(),
        speaker: text(15),
        kind: text(16),
        said_at: int(7).and_then(|micros| Timestamp::from_micros(micros).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shaped_like_one_of_the_schema_names_a_root_only_if_it_is_a_table_or_an_index() {
        let read = |kind: &'static str| {
            let text = |text: &'static str| RecordValue::Text(text.as_bytes());
            let (root, sql) = (RecordValue::Int(7), text("CREATE ..."));
            read_small_row(1, &[text(kind), text("drawers"), text("drawers"), root, sql])
        };
        let named = SmallRow::Schema {
            name: "drawers".to_owned(),
            root: 7,
        };
        for kind in ["table", "index"] {
            assert_eq!(read(kind), Some(named.clone()), "{kind}");
        }
        for kind in ["view", "trigger", "a memo", ""] {
            assert_eq!(read(kind), None, "{kind}");
        }
    }
}
