//! Pieces: the drawers MemPalace cut from one text, found under the id that text had there.

use loci_core::{CollectionReader, DrawerId, Filter, GetRequest, MetadataScalar, MetadataValue, Result};

use crate::palace::Palace;
use crate::view::DrawerView;

/// The metadata keys under which MemPalace records the drawer or diary entry that a piece belongs to.
const PARENT_KEYS: [&str; 2] = ["parent_drawer_id", "parent_entry_id"];

/// The drawer with an id, or else the pieces, in order, of the text that had this id in MemPalace.
#[derive(Debug, Clone, PartialEq)]
pub struct PieceGroup {
    /// The requested id.
    pub id: DrawerId,
    /// The drawers; empty if neither exists.
    pub pieces: Vec<DrawerView>,
}

impl Palace {
    /// Finds the drawer or the pieces of each id. Ids are never completed from a prefix: the id of a text may
    /// be a prefix of the ids of its pieces.
    pub fn find_pieces(&self, ids: &[DrawerId]) -> Result<Vec<PieceGroup>> {
        self.read(|session| {
            let reader = session.reader();
            let mut found = reader.get(&GetRequest::by_ids(ids.iter().cloned()))?;
            let mut groups = Vec::with_capacity(ids.len());
            for id in ids {
                // A drawer with the id itself wins: only texts that MemPalace split have no drawer of their own.
                let own = found.iter().position(|drawer| drawer.id == *id);
                let pieces = match own {
                    Some(at) => vec![found.swap_remove(at).into()],
                    None => read_pieces(reader, id)?,
                };
                groups.push(PieceGroup {
                    id: id.clone(),
                    pieces,
                });
            }
            Ok(groups)
        })
    }
}

fn read_pieces(reader: &dyn CollectionReader, parent: &DrawerId) -> Result<Vec<DrawerView>> {
    let belongs = PARENT_KEYS.map(|key| Filter::text_equals(key, parent.as_str()));
    let found = reader.get(&GetRequest::by_filter(Filter::Or(belongs.into())))?;
    let mut pieces: Vec<DrawerView> = found.into_iter().map(DrawerView::from).collect();
    pieces.sort_by_key(piece_number);
    Ok(pieces)
}

/// Returns the id MemPalace knows a drawer by: the id of the text it is a piece of, else its own.
pub fn parent_id(drawer: &DrawerView) -> &str {
    let noted = |key: &&str| drawer.metadata.as_ref()?.get(key)?.as_text();
    PARENT_KEYS.iter().find_map(noted).unwrap_or(drawer.id.as_str())
}

/// Returns the index of a piece within its text; 0 for a drawer that is not a piece.
pub fn piece_number(drawer: &DrawerView) -> i64 {
    match drawer
        .metadata
        .as_ref()
        .and_then(|known| known.get("chunk_index"))
    {
        Some(MetadataValue::One(MetadataScalar::Int(number))) => *number,
        _ => 0,
    }
}
