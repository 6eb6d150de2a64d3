//! A drawer as MemPalace shows it, and the long ones that it cut into pieces under one id.

use std::path::Path;

use loci_core::{
    Collection, Drawer, DrawerId, Error, ErrorKind, Filter, Get, Metadata, Result, Scalar, Value,
};
use serde_json::{Map, Value as Json};

/// The name of drawers' wings and rooms that have none.
pub(super) const NOWHERE: &str = "unknown";
/// The keys under which MemPalace notes of which drawer or diary entry a piece is.
const PARENTS: [&str; 2] = ["parent_drawer_id", "parent_entry_id"];
/// How many drawers one call may name.
const MOST: usize = 500;

/// What MemPalace calls one drawer: that of an id, or the pieces that carry it as their parent's, in their order.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) id: DrawerId,
    pub(super) pieces: Vec<Drawer>,
}

impl Whole {
    /// Its text: MemPalace cuts without overlap.
    pub(super) fn text(&self) -> String {
        self.pieces
            .iter()
            .filter_map(|piece| piece.document.as_deref())
            .collect()
    }

    /// The ids of its pieces.
    pub(super) fn ids(&self) -> Vec<DrawerId> {
        self.pieces.iter().map(|piece| piece.id.clone()).collect()
    }

    /// The ids of its pieces, where it has more than itself.
    pub(super) fn chunk_ids(&self) -> Option<Vec<String>> {
        let is_one = matches!(self.pieces.as_slice(), [one] if one.id == self.id);
        (!is_one).then(|| self.pieces.iter().map(|piece| piece.id.to_string()).collect())
    }

    /// What is known of it, which is what is known of its first piece.
    pub(super) fn first(&self) -> Option<&Drawer> {
        self.pieces.first()
    }
}

/// The drawers of some ids, each with `None` where there is none.
pub(super) fn find(collection: &dyn Collection, ids: &[DrawerId]) -> Result<Vec<(DrawerId, Option<Whole>)>> {
    let found = collection.get(&Get::ids(ids.iter().cloned()))?;
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let own = found.iter().find(|drawer| drawer.id == *id);
        let pieces = match own {
            Some(drawer) => vec![drawer.clone()],
            None => pieces(collection, id)?,
        };
        let whole = (!pieces.is_empty()).then(|| Whole {
            id: id.clone(),
            pieces,
        });
        all.push((id.clone(), whole));
    }
    Ok(all)
}

/// The drawer of an id.
pub(super) fn find_one(collection: &dyn Collection, id: &str) -> Result<Whole> {
    let id = DrawerId::new(id)?;
    let found = find(collection, std::slice::from_ref(&id))?.pop();
    found.and_then(|(_, whole)| whole).ok_or_else(|| missing(&id))
}

fn pieces(collection: &dyn Collection, parent: &DrawerId) -> Result<Vec<Drawer>> {
    let of = |key: &&str| Filter::text(*key, parent.as_str());
    let mut pieces = collection.get(&Get {
        filter: Filter::Or(PARENTS.iter().map(of).collect()),
        ..Get::default()
    })?;
    pieces.sort_by_key(index);
    Ok(pieces)
}

/// The id that a drawer goes by: its parent's, if it is a piece.
pub(super) fn parent(drawer: &Drawer) -> &str {
    let metadata = drawer.metadata.as_ref();
    let noted = |key: &&str| metadata?.get(key)?.as_text();
    PARENTS.iter().find_map(noted).unwrap_or(drawer.id.as_str())
}

/// Which piece of its parent a drawer is.
pub(super) fn index(drawer: &Drawer) -> i64 {
    let noted = |metadata: &Metadata| match metadata.get("chunk_index") {
        Some(Value::One(Scalar::Int(index))) => Some(*index),
        _ => None,
    };
    drawer.metadata.as_ref().and_then(noted).unwrap_or(0)
}

/// What is said of an id that no drawer has.
pub(super) fn missing(id: &DrawerId) -> Error {
    Error::new(ErrorKind::NotFound, format!("Drawer not found: {id}"))
        .with("id", id)
        .hint("nothing was changed; ids come from mempalace_search and mempalace_list_drawers")
}

/// Ids as they are stored, each once.
pub(super) fn ids(given: &[String]) -> Result<Vec<DrawerId>> {
    if given.is_empty() || given.len() > MOST {
        let message = format!("`drawer_ids` must name 1 to {MOST} drawers, not {}", given.len());
        return Err(Error::invalid(message).hint("nothing was done"));
    }
    let mut ids: Vec<DrawerId> = Vec::with_capacity(given.len());
    for one in given {
        let id = DrawerId::new(one.as_str())?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// What is known of a drawer under MemPalace's keys: as it was stored, completed from where and when it is filed.
pub(super) fn metadata(drawer: &Drawer) -> Map<String, Json> {
    let stored = drawer
        .metadata
        .as_ref()
        .and_then(|stored| serde_json::to_value(stored).ok());
    let mut all = match stored {
        Some(Json::Object(stored)) => stored,
        _ => Map::new(),
    };
    let place = &drawer.place;
    let lines = place.span.map(|span| (span.line_start, span.line_end));
    let known: [(&str, Option<Json>); 9] = [
        ("wing", place.wing.clone().map(Json::from)),
        ("room", place.room.clone().map(Json::from)),
        ("source_file", place.source.clone().map(Json::from)),
        ("speaker", place.speaker.clone().map(Json::from)),
        ("kind", place.kind.clone().map(Json::from)),
        ("authored_at", place.said_at.map(|time| time.to_string().into())),
        ("filed_at", drawer.filed_at.map(|time| time.to_string().into())),
        ("line_start", lines.map(|(start, _)| start.into())),
        ("line_end", lines.map(|(_, end)| end.into())),
    ];
    for (key, value) in known {
        if let Some(value) = value {
            all.entry(key).or_insert(value);
        }
    }
    all
}

/// The last name of a path.
pub(super) fn basename(source: &str) -> &str {
    let last = Path::new(source).file_name();
    last.and_then(|name| name.to_str()).unwrap_or(source)
}

/// The name of a wing or room, or a word for none.
pub(super) fn named(name: Option<&str>) -> String {
    name.unwrap_or(NOWHERE).to_owned()
}
