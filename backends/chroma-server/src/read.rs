//! Listing and counting drawers.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use loci_core::{
    CollectionInfo, Cursor, DocumentFilter, Drawer, DrawerCondition, DrawerFields, DrawerId, DrawerOrder,
    DrawerPosition, FacetCount, FacetRequest, Filter, FindingSeverity, GetRequest, IdentityState,
    IndexCoverage, PalaceFinding, Result, Visibility,
};

use crate::deadline::ChromaDeadline;
use crate::load::{RecordScope, RecordedDrawers, strip_drawer};
use crate::shelf::ChromaShelf;
use crate::side::ShelfFacts;

/// Returns the drawers that a request asks for.
pub(crate) fn get_drawers(
    shelf: &ChromaShelf,
    visible: &Visibility,
    request: &GetRequest,
    deadline: ChromaDeadline,
) -> Result<Vec<Drawer>> {
    let scope = RecordScope::narrow(visible, &request.filter, &request.document);
    if let Some(ids) = &request.ids {
        // An id that is asked for twice is answered once.
        let mut asked = BTreeSet::new();
        let ids: Vec<&DrawerId> = ids.iter().filter(|id| asked.insert(*id)).collect();
        let found = shelf.load_by_ids(&ids, scope.required_fields(request.include), deadline)?;
        return Ok(pick_drawers(found, &ids, &scope, request));
    }
    let page = match (&request.after, request.order) {
        (after, DrawerOrder::Id) if scope.is_all() => {
            let ids = shelf.list_ids(after.is_some(), deadline)?;
            let behind = |id: &&DrawerId| match after {
                Some(DrawerPosition::Id(after)) => *id > after,
                _ => true,
            };
            let page = ids.keys().filter(behind).skip(request.offset);
            page.take(request.limit.unwrap_or(usize::MAX)).cloned().collect()
        }
        _ => sort_page(shelf, &scope, request, deadline)?,
    };
    let ids: Vec<&DrawerId> = page.iter().collect();
    // The drawers of the page are read again, so what was changed meanwhile is decided again.
    let mut found = shelf.load_by_ids(&ids, scope.required_fields(request.include), deadline)?;
    let drawers = ids.iter().filter_map(|id| found.remove(*id));
    Ok(drawers
        .filter(|stored| scope.accepts(&stored.drawer))
        .map(|stored| strip_drawer(stored.drawer, request.include))
        .collect())
}

fn pick_drawers(
    mut found: RecordedDrawers,
    ids: &[&DrawerId],
    scope: &RecordScope<'_>,
    request: &GetRequest,
) -> Vec<Drawer> {
    let drawers = ids.iter().filter_map(|id| found.remove(*id));
    drawers
        .map(|stored| stored.drawer)
        .filter(|drawer| scope.accepts(drawer))
        .skip(request.offset)
        .take(request.limit.unwrap_or(usize::MAX))
        .map(|drawer| strip_drawer(drawer, request.include))
        .collect()
}

/// Returns the ids of a page: the keys of all drawers in scope are sorted, and only the page is read in full.
fn sort_page(
    shelf: &ChromaShelf,
    scope: &RecordScope<'_>,
    request: &GetRequest,
    deadline: ChromaDeadline,
) -> Result<Vec<DrawerId>> {
    let drawers = shelf.load_scope(scope, DrawerFields::NOTHING, deadline)?;
    let positions = drawers.into_values().map(|stored| {
        let position = request.order.position_of(&stored.drawer);
        (position, stored.drawer.id)
    });
    let behind = |position: &DrawerPosition| {
        request
            .after
            .as_ref()
            .is_none_or(|after| position.compare(after) == Some(Ordering::Greater))
    };
    let mut positions: Vec<_> = positions.filter(|(position, _)| behind(position)).collect();
    positions.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    let page = positions.into_iter().skip(request.offset);
    let page = page.take(request.limit.unwrap_or(usize::MAX));
    Ok(page.map(|(_, id)| id).collect())
}

/// Counts the visible drawers that meet the condition.
pub(crate) fn count_drawers(
    shelf: &ChromaShelf,
    visible: &Visibility,
    condition: &DrawerCondition,
) -> Result<u64> {
    let deadline = ChromaDeadline::default();
    let scope = RecordScope::narrow(visible, &condition.filter, &condition.document);
    if scope.is_all() {
        return Ok(shelf.list_ids(false, deadline)?.len() as u64);
    }
    let found = shelf.load_scope(&scope, DrawerFields::NOTHING, deadline)?;
    Ok(found.len() as u64)
}

/// Counts the visible drawers by keys.
pub(crate) fn count_facets(
    shelf: &ChromaShelf,
    visible: &Visibility,
    request: &FacetRequest,
) -> Result<Vec<FacetCount>> {
    let scope = RecordScope::narrow(visible, &request.filter, &request.document);
    let found = shelf.load_scope(&scope, DrawerFields::NOTHING, ChromaDeadline::default())?;
    let mut counted: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
    for stored in found.values() {
        let values = request.by.iter().map(|key| key.value_of(&stored.drawer));
        *counted.entry(values.collect()).or_default() += 1;
    }
    let facets = counted.into_iter();
    Ok(facets
        .map(|(values, drawers)| FacetCount { values, drawers })
        .collect())
}

/// Describes the collection as a handle sees it.
pub(crate) fn describe_collection(shelf: &ChromaShelf, visible: &Visibility) -> Result<CollectionInfo> {
    let deadline = ChromaDeadline::default();
    let facts = ShelfFacts::read(shelf, deadline)?;
    let identity = facts.identity();
    let (drawers, vectors, seq) = if visible.is_restricted() {
        let seen = load_visible(shelf, visible)?;
        let vectors = seen.values().filter(|stored| !stored.is_bare).count();
        (seen.len() as u64, vectors as u64, newest_of(&seen))
    } else {
        let drawers = shelf.list_ids(false, deadline)?.len() as u64;
        (drawers, facts.vectors, shelf.gate.last_write())
    };
    let mut warnings = Vec::new();
    if identity == IdentityState::Unknown {
        let words = "the model that made the vectors of this collection is not recorded";
        warnings.push(
            PalaceFinding::new("unknown-model", FindingSeverity::Warning, words)
                .with_hint("loci embedder set MODEL"),
        );
    }
    Ok(CollectionInfo {
        name: shelf.name.clone(),
        metric: facts.metric,
        dimension: facts.dimension,
        identity,
        drawers,
        coverage: IndexCoverage {
            nearest: vectors,
            // The server keeps an index of its own, which answers for large collections.
            packed: 0,
            lexical: drawers,
        },
        approximate: true,
        // Chroma numbers no changes: this is the last one of this process.
        seq: Cursor(seq),
        warnings,
    })
}

/// Returns the number of the newest change that a handle may know of.
pub(crate) fn last_change(shelf: &ChromaShelf, visible: &Visibility) -> Result<u64> {
    if visible.is_restricted() {
        // The number of the last write would move with writes out of sight.
        return Ok(newest_of(&load_visible(shelf, visible)?));
    }
    Ok(shelf.gate.last_write())
}

fn load_visible(shelf: &ChromaShelf, visible: &Visibility) -> Result<RecordedDrawers> {
    let scope = RecordScope::narrow(visible, &Filter::All, &DocumentFilter::All);
    shelf.load_scope(&scope, DrawerFields::NOTHING, ChromaDeadline::default())
}

fn newest_of(drawers: &RecordedDrawers) -> u64 {
    drawers
        .values()
        .map(|stored| stored.written)
        .max()
        .unwrap_or_default()
}
