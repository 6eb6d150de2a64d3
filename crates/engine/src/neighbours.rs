//! Neighbours: the drawers before and after a drawer in the source it was cut from.

use std::collections::{HashMap, HashSet};

use loci_core::{CollectionReader, Drawer, DrawerFields, DrawerId, Error, GetRequest, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::mine::draft::source_filter;
use crate::palace::Palace;
use crate::show::resolve_id;
use crate::view::DrawerView;

/// The number of drawers read in one call.
const PAGE: usize = 256;

/// A drawer, and the number of neighbours wanted on each side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighboursRequest {
    /// Its id, or the beginning of its id.
    pub id: DrawerId,
    /// The most drawers returned before it.
    pub before: usize,
    /// The most drawers returned after it.
    pub after: usize,
}

/// A drawer among its neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NeighboursReport {
    /// The drawers in the order of their source; empty if the drawer does not exist.
    pub drawers: Vec<DrawerView>,
    /// The index of the requested drawer among them.
    pub at: Option<usize>,
}

impl Palace {
    /// Reads a drawer and its neighbours.
    pub fn read_neighbours(&self, request: &NeighboursRequest) -> Result<NeighboursReport> {
        self.read(|session| {
            let id = resolve_id(session.reader(), &request.id)?;
            let found = session.reader().get(&GetRequest::by_ids(id))?.pop();
            let Some(drawer) = found else {
                return Ok(NeighboursReport {
                    drawers: Vec::new(),
                    at: None,
                });
            };
            let around = find_neighbours(session.reader(), &drawer, request.before, request.after)?;
            let at = around.before.len();
            let drawers = around.before.into_iter().chain([drawer]).chain(around.after);
            Ok(NeighboursReport {
                drawers: drawers.map(DrawerView::from).collect(),
                at: Some(at),
            })
        })
    }
}

/// The drawers around one drawer in its source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NeighbourDrawers {
    /// The drawers before it in the order of the source, nearest last.
    pub before: Vec<Drawer>,
    /// The drawers after it in the order of the source, nearest first.
    pub after: Vec<Drawer>,
}

/// Reads at most `before` drawers that precede `drawer` in its source and at most `after` that follow it, with their
/// texts and metadata.
///
/// Refuses a drawer without a source or without a span in it.
pub fn find_neighbours(
    collection: &dyn CollectionReader,
    drawer: &Drawer,
    before: usize,
    after: usize,
) -> Result<NeighbourDrawers> {
    if source_position(drawer).is_none() {
        return Err(refuse_without_position(drawer));
    }
    let mut all = find_neighbours_of_many(collection, &[drawer], before, after)?;
    Ok(all.pop().unwrap_or_default())
}

/// Reads the neighbours of several drawers, in their order. Each source is scanned once, however many of the drawers
/// were cut from it. A drawer without a source or a span gets no neighbours.
pub fn find_neighbours_of_many(
    collection: &dyn CollectionReader,
    drawers: &[&Drawer],
    before: usize,
    after: usize,
) -> Result<Vec<NeighbourDrawers>> {
    // Two passes: positions first, which need no text, then only the texts that are returned. A transcript may have
    // tens of thousands of drawers, of which a caller wants a handful.
    let mut orders: HashMap<&str, Vec<SourcePosition>> = HashMap::new();
    let mut beside = Vec::with_capacity(drawers.len());
    for drawer in drawers {
        let Some((source, own)) = drawer.place.source.as_deref().zip(source_position(drawer)) else {
            beside.push(NeighbourIds::default());
            continue;
        };
        if !orders.contains_key(source) {
            orders.insert(source, read_source_order(collection, source)?);
        }
        let order = orders.get(source).map_or(&[][..], Vec::as_slice);
        beside.push(NeighbourIds::find_within(order, &own, before, after));
    }
    let texts = read_drawers(collection, &beside)?;
    Ok(beside.into_iter().map(|one| one.with_drawers(&texts)).collect())
}

/// The position of a drawer in its source: its first byte, the byte past its last, and its id to break ties.
type SourcePosition = (u64, u64, DrawerId);

fn source_position(drawer: &Drawer) -> Option<SourcePosition> {
    let span = drawer.place.span?;
    drawer.place.source.as_ref()?;
    Some((span.start, span.end, drawer.id.clone()))
}

/// Reads the positions of all drawers of a source in order, without their texts.
fn read_source_order(collection: &dyn CollectionReader, source: &str) -> Result<Vec<SourcePosition>> {
    let drawers = collection.get(&GetRequest {
        filter: source_filter(source),
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    })?;
    let mut order: Vec<SourcePosition> = drawers.iter().filter_map(source_position).collect();
    order.sort_unstable();
    Ok(order)
}

/// The ids of the neighbours of one drawer.
#[derive(Debug, Default)]
struct NeighbourIds {
    before: Vec<DrawerId>,
    after: Vec<DrawerId>,
}

impl NeighbourIds {
    /// Finds neighbours by position rather than by id, so a drawer removed in the meantime still has its neighbours.
    fn find_within(order: &[SourcePosition], own: &SourcePosition, before: usize, after: usize) -> Self {
        let (earlier, rest) = order.split_at(order.partition_point(|one| one < own));
        // `rest` begins with the drawer itself, unless it was removed since the caller read it.
        let later = rest.strip_prefix(std::slice::from_ref(own)).unwrap_or(rest);
        let ids = |standing: &[SourcePosition]| standing.iter().map(|(_, _, id)| id.clone()).collect();
        let (_, earlier) = earlier.split_at(earlier.len().saturating_sub(before));
        let (later, _) = later.split_at(after.min(later.len()));
        Self {
            before: ids(earlier),
            after: ids(later),
        }
    }

    /// Replaces the ids by their drawers; a neighbour removed in the meantime is omitted.
    fn with_drawers(self, texts: &HashMap<DrawerId, Drawer>) -> NeighbourDrawers {
        let drawers = |ids: Vec<DrawerId>| ids.iter().filter_map(|id| texts.get(id).cloned()).collect();
        NeighbourDrawers {
            before: drawers(self.before),
            after: drawers(self.after),
        }
    }
}

/// Reads the drawers with these ids, each once.
fn read_drawers(
    collection: &dyn CollectionReader,
    beside: &[NeighbourIds],
) -> Result<HashMap<DrawerId, Drawer>> {
    let named = beside.iter().flat_map(|one| one.before.iter().chain(&one.after));
    let ids: Vec<&DrawerId> = named.collect::<HashSet<_>>().into_iter().collect();
    let mut texts = HashMap::with_capacity(ids.len());
    for page in ids.chunks(PAGE) {
        let drawers = collection.get(&GetRequest::by_ids(page.iter().map(|id| (*id).clone())))?;
        texts.extend(drawers.into_iter().map(|drawer| (drawer.id.clone(), drawer)));
    }
    Ok(texts)
}

fn refuse_without_position(drawer: &Drawer) -> Error {
    let id = drawer.id.as_str();
    let message = match &drawer.place.source {
        None => format!("the drawer {id:?} was not cut from a source, so it has no neighbours"),
        Some(source) => format!("the drawer {id:?} does not record its position in {source:?}"),
    };
    Error::invalid(message).with_hint("only mined drawers have neighbours; read this one with `loci show`")
}
