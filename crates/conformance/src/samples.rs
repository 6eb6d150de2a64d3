//! Shorthand for building drawers and for reading answers.

use loci_core::{
    Collection, CollectionName, DeleteSelection, Drawer, DrawerFields, DrawerHit, DrawerId, DrawerPlace,
    Filter, GetRequest, NewDrawer, SourceSpan, Timestamp, Write,
};

use crate::CaseOutcome;

pub(crate) fn id(text: &str) -> DrawerId {
    DrawerId::new(text).expect("the cases use ids within the limit")
}

pub(crate) fn collection_name(text: &str) -> CollectionName {
    CollectionName::new(text).expect("the cases use plain collection names")
}

pub(crate) fn parse_time(text: &str) -> Timestamp {
    text.parse().expect("the cases write times as RFC 3339")
}

pub(crate) fn parse_filter(json: &str) -> Filter {
    Filter::parse_str(json).expect("the cases write filters of the dialect")
}

/// A drawer without a vector.
pub(crate) fn text_drawer(called: &str, text: &str) -> NewDrawer {
    NewDrawer::new(id(called), text)
}

/// A drawer with a vector.
pub(crate) fn vector_drawer(called: &str, text: &str, vector: &[f32]) -> NewDrawer {
    NewDrawer {
        embedding: Some(vector.to_vec()),
        ..text_drawer(called, text)
    }
}

/// A drawer filed in a wing.
pub(crate) fn wing_drawer(called: &str, wing: &str) -> NewDrawer {
    NewDrawer {
        place: DrawerPlace {
            wing: Some(wing.into()),
            ..DrawerPlace::default()
        },
        ..text_drawer(called, &format!("text of {called}"))
    }
}

/// A drawer cut from a source at a byte.
pub(crate) fn source_piece(called: &str, text: &str, source: &str, start: u64) -> NewDrawer {
    NewDrawer {
        place: DrawerPlace {
            source: Some(source.into()),
            span: Some(span(start)),
            ..DrawerPlace::default()
        },
        ..text_drawer(called, text)
    }
}

/// A span of ten bytes on one line.
pub(crate) fn span(start: u64) -> SourceSpan {
    SourceSpan {
        start,
        end: start + 10,
        line_start: 1,
        line_end: 1,
    }
}

pub(crate) fn delete_write(called: &str) -> Write {
    Write::Delete(DeleteSelection::Ids(vec![id(called)]))
}

/// The ids of drawers, in their order.
pub(crate) fn drawer_ids(drawers: &[Drawer]) -> Vec<&str> {
    drawers.iter().map(|drawer| drawer.id.as_str()).collect()
}

/// The ids of hits, in their order.
pub(crate) fn hit_ids(hits: &[DrawerHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.drawer.id.as_str()).collect()
}

/// The ids of a receipt's list, in their order.
pub(crate) fn id_texts(ids: &[DrawerId]) -> Vec<&str> {
    ids.iter().map(DrawerId::as_str).collect()
}

/// Every id of a collection, in ascending byte order.
pub(crate) fn all_ids(collection: &dyn Collection) -> CaseOutcome<Vec<String>> {
    let everything = collection.get(&GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    })?;
    Ok(everything.into_iter().map(|drawer| drawer.id.into()).collect())
}

/// One drawer with the given fields; its absence is a failure.
pub(crate) fn read_fields(
    collection: &dyn Collection,
    called: &str,
    include: DrawerFields,
) -> CaseOutcome<Drawer> {
    let found = collection.get(&GetRequest {
        include,
        ..GetRequest::by_ids([id(called)])
    })?;
    // The id is compared too: a backend that answers with another drawer would pass a check for length.
    same!(drawer_ids(&found), vec![called], "the drawer asked for by id");
    Ok(found[0].clone())
}

/// One drawer with its text and metadata; its absence is a failure.
pub(crate) fn read_drawer(collection: &dyn Collection, called: &str) -> CaseOutcome<Drawer> {
    read_fields(collection, called, DrawerFields::default())
}
