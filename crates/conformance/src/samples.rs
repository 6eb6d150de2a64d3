//! Short ways to write drawers and to read what came back.

use loci_core::{
    Collection, CollectionName, Drawer, DrawerId, Filter, Get, Hit, Include, NewDrawer, Place, Selection,
    Span, Timestamp, Write,
};

use crate::Outcome;

pub(crate) fn id(text: &str) -> DrawerId {
    DrawerId::new(text).expect("the cases use ids within the limit")
}

pub(crate) fn name(text: &str) -> CollectionName {
    CollectionName::new(text).expect("the cases use plain collection names")
}

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().expect("the cases write times as RFC 3339")
}

pub(crate) fn filter(json: &str) -> Filter {
    Filter::parse_str(json).expect("the cases write filters of the dialect")
}

/// A drawer without a vector.
pub(crate) fn plain(called: &str, text: &str) -> NewDrawer {
    NewDrawer::new(id(called), text)
}

/// A drawer with a vector.
pub(crate) fn vectored(called: &str, text: &str, vector: &[f32]) -> NewDrawer {
    NewDrawer {
        embedding: Some(vector.to_vec()),
        ..plain(called, text)
    }
}

/// A drawer filed in a wing.
pub(crate) fn winged(called: &str, wing: &str) -> NewDrawer {
    NewDrawer {
        place: Place {
            wing: Some(wing.into()),
            ..Place::default()
        },
        ..plain(called, &format!("text of {called}"))
    }
}

/// A drawer cut from a source at a byte.
pub(crate) fn cut(called: &str, text: &str, source: &str, start: u64) -> NewDrawer {
    NewDrawer {
        place: Place {
            source: Some(source.into()),
            span: Some(span(start)),
            ..Place::default()
        },
        ..plain(called, text)
    }
}

/// Ten bytes of a source, on one line.
pub(crate) fn span(start: u64) -> Span {
    Span {
        start,
        end: start + 10,
        line_start: 1,
        line_end: 1,
    }
}

pub(crate) fn delete(called: &str) -> Write {
    Write::Delete(Selection::Ids(vec![id(called)]))
}

/// The ids of drawers, in their order.
pub(crate) fn ids(drawers: &[Drawer]) -> Vec<&str> {
    drawers.iter().map(|drawer| drawer.id.as_str()).collect()
}

/// The ids of hits, in their order.
pub(crate) fn hit_ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.drawer.id.as_str()).collect()
}

/// The ids of a receipt's list, in their order.
pub(crate) fn texts(ids: &[DrawerId]) -> Vec<&str> {
    ids.iter().map(DrawerId::as_str).collect()
}

/// Every id of a collection, in ascending byte order.
pub(crate) fn all_ids(collection: &dyn Collection) -> Outcome<Vec<String>> {
    let everything = collection.get(&Get {
        include: Include::NOTHING,
        ..Get::default()
    })?;
    Ok(everything.into_iter().map(|drawer| drawer.id.into()).collect())
}

/// One drawer with the given fields; its absence is a failure.
pub(crate) fn one(collection: &dyn Collection, called: &str, include: Include) -> Outcome<Drawer> {
    let found = collection.get(&Get {
        include,
        ..Get::ids([id(called)])
    })?;
    same!(ids(&found), vec![called], "the drawer asked for by id");
    Ok(found[0].clone())
}

/// One drawer with its text and metadata; its absence is a failure.
pub(crate) fn read(collection: &dyn Collection, called: &str) -> Outcome<Drawer> {
    one(collection, called, Include::default())
}
