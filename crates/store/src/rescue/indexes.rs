//! The second pass: the indexes, which know drawers whose rows are damaged, and the records of sources.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::image::PageImage;
use super::node::TreeNode;
use super::payload::read_payload;
use super::pointers::{FileStructure, PageUse};
use super::record::{RecordValue, decode_record};
use super::survey::{CellSpot, PageSurvey};

/// The drawer of an entry, as far as one index knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IndexedDrawer {
    pub(super) collection: Option<i64>,
    pub(super) id: Option<String>,
    pub(super) wing: Option<String>,
    pub(super) room: Option<String>,
    pub(super) source: Option<String>,
    /// Whether a page that is certainly in use has the entry.
    pub(super) sure: bool,
}

/// The record of a source that can be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundRecord {
    pub(super) revision: i64,
    pub(super) spot: CellSpot,
}

/// Everything that the indexes know.
#[derive(Debug, Default)]
pub(super) struct IndexSurvey {
    /// The rows that some index in use has.
    pub(super) rows: HashSet<i64>,
    /// The newest sequence number that the index of changes lists for each row.
    pub(super) seqs: HashMap<i64, i64>,
    /// The number of entries in the index of ids, by collection.
    pub(super) ids: HashMap<i64, u64>,
    /// Entries for rows that no readable page holds.
    pub(super) missing: BTreeMap<i64, IndexedDrawer>,
    /// The records of sources, by collection and name.
    pub(super) records: BTreeMap<(i64, String), FoundRecord>,
    /// The names of collections.
    pub(super) names: BTreeMap<i64, String>,
}

/// The tables whose pages are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexKind {
    Ids,
    Seqs,
    Places,
    Pieces,
    /// The index of pieces of earlier formats.
    OldPieces,
    Sources,
    CollectionNames,
    /// The schema does not tell.
    Unnamed,
    Other,
}

impl IndexKind {
    fn from_name(name: Option<&str>) -> Self {
        match name {
            Some("drawers_id") => Self::Ids,
            Some("drawers_seq") => Self::Seqs,
            Some("drawers_place") => Self::Places,
            Some("drawers_source") => Self::Pieces,
            Some("drawers_content") => Self::OldPieces,
            Some("sources") => Self::Sources,
            Some("sqlite_autoindex_collections_1") => Self::CollectionNames,
            Some(_) => Self::Other,
            None => Self::Unnamed,
        }
    }
}

/// The rows and ids of the drawers that can be read.
struct KnownDrawers<'a> {
    by_row: HashMap<i64, &'a str>,
}

impl IndexSurvey {
    /// Reads every page of an index that is in use, or may be.
    pub(super) fn take(image: &PageImage, structure: &FileStructure, survey: &PageSurvey) -> Self {
        let known = KnownDrawers {
            by_row: survey
                .drawers
                .iter()
                .map(|drawer| (drawer.row, &*drawer.id))
                .collect(),
        };
        let mut indexes = Self::default();
        let mut page = Vec::new();
        for number in &survey.index_pages {
            let used = structure.page_use(image, *number);
            if matches!(used, PageUse::Overflow | PageUse::Unused) {
                continue;
            }
            let root = structure.root_of(image, *number);
            let name = root.and_then(|root| survey.names.get(&root));
            let kind = IndexKind::from_name(name.map(String::as_str));
            let sure = used == PageUse::Tree && !image.is_outdated(*number);
            for version in image.versions(*number) {
                if kind != IndexKind::Other
                    && image.load(*number, *version, &mut page)
                    && let Some(node) = TreeNode::parse(*number, &page)
                {
                    let spot = CellSpot {
                        page: *number,
                        cell: 0,
                        version: *version,
                    };
                    let reading = IndexReading { image, kind, sure };
                    indexes.read_node(&reading, node, spot, &known);
                }
            }
        }
        indexes
    }

    fn read_node(
        &mut self,
        reading: &IndexReading<'_>,
        node: TreeNode<'_>,
        spot: CellSpot,
        known: &KnownDrawers<'_>,
    ) {
        let kind = match reading.kind {
            IndexKind::Unnamed => guess_kind(node, known),
            kind => kind,
        };
        let mut payload = Vec::new();
        for cell in 0..node.cell_count() {
            let Some(found) = node.payload(cell) else { continue };
            if read_payload(reading.image, found, &mut payload).is_err() {
                continue;
            }
            let Some(values) = decode_record(&payload, found.total) else {
                continue;
            };
            let spot = CellSpot {
                cell: u16::try_from(cell).unwrap_or(u16::MAX),
                ..spot
            };
            self.read_entry(kind, &values, spot, reading.sure, known);
        }
    }

    fn read_entry(
        &mut self,
        kind: IndexKind,
        values: &[RecordValue<'_>],
        spot: CellSpot,
        sure: bool,
        known: &KnownDrawers<'_>,
    ) {
        if let Some((collection, source, revision)) = read_record(kind, values) {
            let found = FoundRecord { revision, spot };
            let kept = self.records.entry((collection, source)).or_insert(found);
            if kept.revision < revision {
                *kept = found;
            }
            return;
        }
        if let (IndexKind::CollectionNames, [name, number]) = (kind, values) {
            if let (Some(name), Some(number)) = (name.as_text(), number.as_int()) {
                self.names.insert(number, name.to_owned());
            }
            return;
        }
        let Some((row, entry)) = read_drawer_entry(kind, values) else {
            return;
        };
        if sure {
            self.rows.insert(row);
            if let (IndexKind::Seqs, Some(seq)) = (kind, values.first().and_then(|seq| seq.as_int())) {
                let newest = self.seqs.entry(row).or_insert(seq);
                *newest = seq.max(*newest);
            }
            if let (IndexKind::Ids, Some(collection)) = (kind, entry.collection) {
                *self.ids.entry(collection).or_default() += 1;
            }
        }
        if !known.by_row.contains_key(&row) {
            self.missing.entry(row).or_default().merge(entry, sure);
        }
    }
}

/// The page being read.
struct IndexReading<'a> {
    image: &'a PageImage,
    kind: IndexKind,
    sure: bool,
}

impl IndexedDrawer {
    fn merge(&mut self, other: Self, sure: bool) {
        self.collection = self.collection.or(other.collection);
        self.id = self.id.take().or(other.id);
        self.wing = self.wing.take().or(other.wing);
        self.room = self.room.take().or(other.room);
        self.source = self.source.take().or(other.source);
        self.sure |= sure;
    }
}

/// Guesses the kind of a page that the schema does not name: the index of ids agrees with drawers that can be read, and
/// no other table has the shape of the records of sources.
fn guess_kind(node: TreeNode<'_>, known: &KnownDrawers<'_>) -> IndexKind {
    let mut kind = IndexKind::Other;
    for cell in 0..node.cell_count() {
        let Some(found) = node.payload(cell) else { continue };
        let values = decode_record(found.local, found.total).unwrap_or_default();
        match values.as_slice() {
            [_, id, row] => {
                let named = row.as_int().and_then(|row| known.by_row.get(&row));
                if named.is_some() && id.as_text() == named.copied() {
                    return IndexKind::Ids;
                }
            }
            [collection, source, revision, at, stamp]
                if collection.as_int().is_some()
                    && source.as_text().is_some()
                    && revision.as_int().is_some()
                    && at.as_int().is_some()
                    && matches!(stamp, RecordValue::Text(_) | RecordValue::Cut) =>
            {
                kind = IndexKind::Sources;
            }
            _ => {}
        }
    }
    kind
}

/// Reads the collection, name and revision of a record of a source.
fn read_record(kind: IndexKind, values: &[RecordValue<'_>]) -> Option<(i64, String, i64)> {
    let [collection, source, revision, at, stamp] = values else {
        return None;
    };
    at.as_int().filter(|_| kind == IndexKind::Sources)?;
    stamp.as_text()?;
    Some((
        collection.as_int()?,
        source.as_text()?.to_owned(),
        revision.as_int()?,
    ))
}

/// Reads the row of an entry, and whatever its index knows of the drawer.
fn read_drawer_entry(kind: IndexKind, values: &[RecordValue<'_>]) -> Option<(i64, IndexedDrawer)> {
    let text = |value: &RecordValue<'_>| value.as_text().map(str::to_owned);
    let mut entry = IndexedDrawer::default();
    let row = match (kind, values) {
        (IndexKind::Ids, [collection, id, row]) => {
            (entry.collection, entry.id) = (collection.as_int(), text(id));
            row
        }
        (IndexKind::Seqs, [_, row]) => row,
        (IndexKind::Places, [collection, wing, room, row]) => {
            entry.collection = collection.as_int();
            (entry.wing, entry.room) = (text(wing), text(room));
            row
        }
        (IndexKind::Pieces | IndexKind::OldPieces, [collection, source, _, _, row]) => {
            (entry.collection, entry.source) = (collection.as_int(), text(source));
            row
        }
        _ => return None,
    };
    Some((row.as_int()?, entry))
}
