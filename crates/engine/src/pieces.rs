//! Pieces: drawers that MemPalace cut from one text, found under the one id the text had there.

use loci_core::{CollectionReader, DrawerId, Filter, Get, Result, Scalar, Value};

use crate::palace::Palace;
use crate::view::DrawerView;

/// The metadata keys under which MemPalace notes the drawer or diary entry that a piece belongs to.
const PARENT_KEYS: [&str; 2] = ["parent_drawer_id", "parent_entry_id"];

/// The drawer of an id, or the pieces of a text that had this id in MemPalace, in their order; none if there is neither.
#[derive(Debug, Clone, PartialEq)]
pub struct PieceGroup {
    /// The id that was asked for.
    pub id: DrawerId,
    /// The drawers.
    pub pieces: Vec<DrawerView>,
}

impl Palace {
    /// Finds the drawer or the pieces of each id. Ids are taken whole: that of a text may be the beginning of a piece's.
    pub fn find_pieces(&self, ids: &[DrawerId]) -> Result<Vec<PieceGroup>> {
        self.read(|session| {
            let reader = session.reader();
            let mut found = reader.get(&Get::ids(ids.iter().cloned()))?;
            let mut groups = Vec::with_capacity(ids.len());
            for id in ids {
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
    let belongs = PARENT_KEYS.map(|key| Filter::text(key, parent.as_str()));
    let found = reader.get(&Get::matching(Filter::Or(belongs.into())))?;
    let mut pieces: Vec<DrawerView> = found.into_iter().map(DrawerView::from).collect();
    pieces.sort_by_key(piece_number);
    Ok(pieces)
}

/// The id that a drawer goes by: that of the text it is a piece of, else its own.
pub fn parent_id(drawer: &DrawerView) -> &str {
    let noted = |key: &&str| drawer.metadata.as_ref()?.get(key)?.as_text();
    PARENT_KEYS.iter().find_map(noted).unwrap_or(drawer.id.as_str())
}

/// The place of a piece among those of its text.
pub fn piece_number(drawer: &DrawerView) -> i64 {
    match drawer
        .metadata
        .as_ref()
        .and_then(|known| known.get("chunk_index"))
    {
        Some(Value::One(Scalar::Int(number))) => *number,
        _ => 0,
    }
}
