//! Neighbours: what stands before and after a drawer in the source it was cut from.

use std::collections::{HashMap, HashSet};

use loci_core::{CollectionReader, Drawer, DrawerId, Error, Get, Include, Result};
use serde::Serialize;

use crate::mine::draft::of_source;
use crate::palace::Palace;
use crate::show::resolve_id;
use crate::view::DrawerView;

/// How many texts are read together.
const PAGE: usize = 256;

/// A drawer, and how many of its neighbours are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighboursRequest {
    /// Its id, or the beginning of its id.
    pub id: DrawerId,
    /// At most this many before it.
    pub before: usize,
    /// At most this many after it.
    pub after: usize,
}

/// A drawer among its neighbours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeighboursReport {
    /// The drawers in the order of their source; none if there is no such drawer.
    pub drawers: Vec<DrawerView>,
    /// The position of the drawer itself among them.
    pub at: Option<usize>,
}

impl Palace {
    /// Reads a drawer and its neighbours.
    pub fn neighbours(&self, request: &NeighboursRequest) -> Result<NeighboursReport> {
        self.read(|session| {
            let id = resolve_id(session.reader(), &request.id)?;
            let found = session.reader().get(&Get::ids(id))?.pop();
            let Some(drawer) = found else {
                return Ok(NeighboursReport {
                    drawers: Vec::new(),
                    at: None,
                });
            };
            let around = around(session.reader(), &drawer, request.before, request.after)?;
            let at = around.before.len();
            let drawers = around.before.into_iter().chain([drawer]).chain(around.after);
            Ok(NeighboursReport {
                drawers: drawers.map(DrawerView::from).collect(),
                at: Some(at),
            })
        })
    }
}

/// What stands around a drawer in its source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Around {
    /// What stands before it, in the order of the source, the nearest last.
    pub before: Vec<Drawer>,
    /// What stands after it, in the order of the source, the nearest first.
    pub after: Vec<Drawer>,
}

/// At most `before` drawers that stand before `drawer` in its source and at most `after` that stand after it, with
/// their texts and metadata.
///
/// A drawer that says no source, or not where it stood in it, is refused.
pub fn around(
    collection: &dyn CollectionReader,
    drawer: &Drawer,
    before: usize,
    after: usize,
) -> Result<Around> {
    if standing(drawer).is_none() {
        return Err(nowhere(drawer));
    }
    let mut all = of_many(collection, &[drawer], before, after)?;
    Ok(all.pop().unwrap_or_default())
}

/// The same for each of some drawers, in their order. Each source is looked through once, however many of the
/// drawers were cut from it; nothing stands around a drawer that says no source or no place in it.
pub fn of_many(
    collection: &dyn CollectionReader,
    drawers: &[&Drawer],
    before: usize,
    after: usize,
) -> Result<Vec<Around>> {
    let mut orders: HashMap<&str, Vec<Standing>> = HashMap::new();
    let mut beside = Vec::with_capacity(drawers.len());
    for drawer in drawers {
        let Some((source, own)) = drawer.place.source.as_deref().zip(standing(drawer)) else {
            beside.push(Beside::default());
            continue;
        };
        if !orders.contains_key(source) {
            orders.insert(source, order_of(collection, source)?);
        }
        let order = orders.get(source).map_or(&[][..], Vec::as_slice);
        beside.push(Beside::within(order, &own, before, after));
    }
    let texts = read(collection, &beside)?;
    Ok(beside.into_iter().map(|one| one.filled(&texts)).collect())
}

/// Where a drawer stands in its source: its first byte, the one past its last, and its id to tell equals apart.
type Standing = (u64, u64, DrawerId);

fn standing(drawer: &Drawer) -> Option<Standing> {
    let span = drawer.place.span?;
    drawer.place.source.as_ref()?;
    Some((span.start, span.end, drawer.id.clone()))
}

/// Everything cut from a source in its order, without reading a text.
fn order_of(collection: &dyn CollectionReader, source: &str) -> Result<Vec<Standing>> {
    let drawers = collection.get(&Get {
        filter: of_source(source),
        include: Include::NOTHING,
        ..Get::default()
    })?;
    let mut order: Vec<Standing> = drawers.iter().filter_map(standing).collect();
    order.sort_unstable();
    Ok(order)
}

/// The ids of what stands beside a drawer.
#[derive(Debug, Default)]
struct Beside {
    before: Vec<DrawerId>,
    after: Vec<DrawerId>,
}

impl Beside {
    /// Goes by where the drawer stands, so that one that was removed meanwhile still has its neighbours.
    fn within(order: &[Standing], own: &Standing, before: usize, after: usize) -> Self {
        let (earlier, rest) = order.split_at(order.partition_point(|one| one < own));
        let later = rest.strip_prefix(std::slice::from_ref(own)).unwrap_or(rest);
        let ids = |standing: &[Standing]| standing.iter().map(|(_, _, id)| id.clone()).collect();
        let (_, earlier) = earlier.split_at(earlier.len().saturating_sub(before));
        let (later, _) = later.split_at(after.min(later.len()));
        Self {
            before: ids(earlier),
            after: ids(later),
        }
    }

    /// The same with their texts; what was removed meanwhile is left out.
    fn filled(self, texts: &HashMap<DrawerId, Drawer>) -> Around {
        let drawers = |ids: Vec<DrawerId>| ids.iter().filter_map(|id| texts.get(id).cloned()).collect();
        Around {
            before: drawers(self.before),
            after: drawers(self.after),
        }
    }
}

/// Reads the few drawers that are needed, each once.
fn read(collection: &dyn CollectionReader, beside: &[Beside]) -> Result<HashMap<DrawerId, Drawer>> {
    let named = beside.iter().flat_map(|one| one.before.iter().chain(&one.after));
    let ids: Vec<&DrawerId> = named.collect::<HashSet<_>>().into_iter().collect();
    let mut texts = HashMap::with_capacity(ids.len());
    for page in ids.chunks(PAGE) {
        let drawers = collection.get(&Get::ids(page.iter().map(|id| (*id).clone())))?;
        texts.extend(drawers.into_iter().map(|drawer| (drawer.id.clone(), drawer)));
    }
    Ok(texts)
}

fn nowhere(drawer: &Drawer) -> Error {
    let id = drawer.id.as_str();
    let message = match &drawer.place.source {
        None => format!("the drawer {id:?} was not cut from a source, so nothing stands around it"),
        Some(source) => format!("the drawer {id:?} does not say where in {source:?} it stood"),
    };
    Error::invalid(message).hint("what `loci mine` files has neighbours; read this one with `loci show`")
}
