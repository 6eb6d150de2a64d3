//! Answers from the records of another program by a full scan: exact, and independent of that program's indexes.

mod backend;
mod collection;
mod deadline;
mod folders;
mod memory;
mod opened;
mod search;

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use loci_core::{
    CollectionInfo, CollectionName, DocumentFilter, Drawer, DrawerCondition, DrawerFields, DrawerId,
    DrawerOrder, DrawerPosition, Error, FacetCount, FacetRequest, Filter, GetRequest, Metric, Result,
    Visibility,
};

pub use backend::{ForeignPalace, ScannedBackend};
pub use collection::ScannedCollection;
pub use deadline::ScanDeadline;
pub use memory::ScanMemory;
pub use opened::OpenedPalace;

/// A palace of another program, whose collections are scanned.
pub trait ScannedPalace: fmt::Debug + Send + Sync + 'static {
    /// Runs `act` on the current records of a collection; again if what was read turns out to be damaged or outdated.
    fn with_records(
        &self,
        name: &CollectionName,
        act: &dyn Fn(&dyn ScannedRecords) -> Result<()>,
    ) -> Result<()>;

    /// Describes a collection.
    fn describe_collection(&self, name: &CollectionName) -> Result<CollectionInfo>;

    /// Creates the error for every write.
    fn refuse_write(&self) -> Error;
}

/// The records of one collection at one moment, numbered in the byte order of their ids.
pub trait ScannedRecords {
    /// Returns the number of records.
    fn count(&self) -> usize;

    /// Returns the numbers of all records in the order that is fastest to read.
    fn in_row_order(&self) -> Box<dyn Iterator<Item = usize> + '_>;

    /// Returns the number of the record `id`, or the number it would have.
    fn search_id(&self, id: &DrawerId) -> std::result::Result<usize, usize>;

    /// Reads a record as a drawer; its place and times are always read.
    fn read_drawer(&self, at: usize, include: DrawerFields) -> Result<Drawer>;

    /// Reads the text of a record.
    fn read_text(&self, at: usize) -> Result<Option<String>>;

    /// Passes the text of each record that has one to `each`, once, in the order that is fastest to read.
    fn for_each_text(&self, each: &mut dyn FnMut(usize, &str) -> Result<()>) -> Result<()> {
        for at in self.in_row_order() {
            if let Some(text) = self.read_text(at)? {
                each(at, &text)?;
            }
        }
        Ok(())
    }

    /// Passes each record to `each` as a drawer, in the order that is fastest to read.
    ///
    /// A record may be passed twice; the second time counts.
    fn for_each_drawer(
        &self,
        include: DrawerFields,
        each: &mut dyn FnMut(usize, Drawer) -> Result<()>,
    ) -> Result<()> {
        for at in self.in_row_order() {
            each(at, self.read_drawer(at, include)?)?;
        }
        Ok(())
    }

    /// Returns what scans of these records found so far, if that is kept.
    fn memory(&self) -> Option<&RefCell<ScanMemory>>;

    /// Reads the vector of a record.
    fn read_vector(&self, at: usize) -> Result<Option<Vec<f32>>>;

    /// Returns the number of values in a vector.
    fn dimension(&self) -> Option<usize>;

    /// Returns the metric of the vectors.
    fn metric(&self) -> Metric;
}

/// The drawers that a request selects among those visible to the handle.
pub(crate) struct ReadScope<'a> {
    filter: Filter,
    document: &'a DocumentFilter,
}

impl<'a> ReadScope<'a> {
    fn narrow(visible: &Visibility, filter: &Filter, document: &'a DocumentFilter) -> Self {
        Self {
            filter: visible.narrow_filter(filter),
            document,
        }
    }

    /// Returns whether every drawer is in scope.
    pub(crate) fn is_all(&self) -> bool {
        self.filter.is_all() && self.document.is_all()
    }

    /// Returns a name that only scopes with the same drawers share.
    pub(crate) fn name(&self) -> String {
        format!("{:?} {:?}", self.filter, self.document)
    }

    /// Returns the fields to read: `also`, and those that decide whether a drawer is in scope.
    pub(crate) fn required_fields(&self, also: DrawerFields) -> DrawerFields {
        DrawerFields {
            metadata: also.metadata || !self.filter.is_all(),
            document: also.document || !self.document.is_all(),
            ..also
        }
    }

    /// Returns whether a drawer is in scope.
    pub(crate) fn accepts(&self, drawer: &Drawer) -> bool {
        self.filter.accepts(drawer)
            && self
                .document
                .accepts(drawer.document.as_deref().unwrap_or_default())
    }
}

/// Creates an id for a record whose own is empty or too long for a drawer: its beginning and a hash.
pub fn substitute_id(own_id: &str) -> Result<DrawerId> {
    let mut end = own_id.len().min(900);
    while !own_id.is_char_boundary(end) {
        end -= 1;
    }
    let beginning = own_id.get(..end).unwrap_or_default();
    // FNV-1a: the same id must get the same hash in every release, or a second migration would file it twice.
    let mark = own_id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    DrawerId::new(format!("{beginning}…{mark:016x}"))
}

/// Removes the fields that were read only to decide whether a drawer is in scope.
pub fn strip_fields(mut drawer: Drawer, include: DrawerFields) -> Drawer {
    if !include.document {
        drawer.document = None;
    }
    if !include.metadata {
        drawer.metadata = None;
    }
    drawer
}

/// Returns the drawers that a request asks for.
fn get_drawers(
    records: &dyn ScannedRecords,
    request: &GetRequest,
    visible: &Visibility,
    deadline: ScanDeadline,
) -> Result<Vec<Drawer>> {
    let scope = ReadScope::narrow(visible, &request.filter, &request.document);
    match (&request.ids, request.order, &request.after) {
        (Some(ids), ..) => get_by_id(records, request, &scope, ids, deadline),
        (None, DrawerOrder::Id, Some(DrawerPosition::Id(after))) => {
            page_by_id(records, request, &scope, Some(after), deadline)
        }
        (None, DrawerOrder::Id, _) => page_by_id(records, request, &scope, None, deadline),
        _ => page_by_sorted_keys(records, request, &scope, deadline),
    }
}

fn get_by_id(
    records: &dyn ScannedRecords,
    request: &GetRequest,
    scope: &ReadScope<'_>,
    ids: &[DrawerId],
    deadline: ScanDeadline,
) -> Result<Vec<Drawer>> {
    // An id that is asked for twice is answered once, as the contract demands.
    let mut asked = BTreeSet::new();
    let mut found = Vec::new();
    for id in ids.iter().filter(|id| asked.insert(*id)) {
        deadline.check()?;
        if let Ok(at) = records.search_id(id) {
            let drawer = records.read_drawer(at, scope.required_fields(request.include))?;
            if scope.accepts(&drawer) {
                found.push(strip_fields(drawer, request.include));
            }
        }
    }
    let wanted = found.into_iter().skip(request.offset);
    Ok(wanted.take(request.limit.unwrap_or(usize::MAX)).collect())
}

/// Returns a page in the order of ids, which is the order of the records in memory.
fn page_by_id(
    records: &dyn ScannedRecords,
    request: &GetRequest,
    scope: &ReadScope<'_>,
    after: Option<&DrawerId>,
    deadline: ScanDeadline,
) -> Result<Vec<Drawer>> {
    // The drawer that a cursor names may be gone by now.
    let first = after.map_or(0, |after| match records.search_id(after) {
        Ok(at) => at + 1,
        Err(at) => at,
    });
    let limit = request.limit.unwrap_or(usize::MAX);
    // Without a filter, the drawers before the offset need not be read.
    let (first, mut left_out) = if scope.is_all() {
        (first.saturating_add(request.offset), 0)
    } else {
        (first, request.offset)
    };
    let mut found = Vec::new();
    for at in first..records.count() {
        if found.len() >= limit {
            break;
        }
        deadline.check()?;
        let drawer = records.read_drawer(at, scope.required_fields(request.include))?;
        if !scope.accepts(&drawer) {
            continue;
        }
        match left_out {
            0 => found.push(strip_fields(drawer, request.include)),
            _ => left_out -= 1,
        }
    }
    Ok(found)
}

/// Returns a page in another order: the keys of all drawers are sorted, and only the page is read in full.
fn page_by_sorted_keys(
    records: &dyn ScannedRecords,
    request: &GetRequest,
    scope: &ReadScope<'_>,
    deadline: ScanDeadline,
) -> Result<Vec<Drawer>> {
    let mut keys: Vec<(DrawerPosition, usize)> = Vec::new();
    for at in records.in_row_order() {
        deadline.check()?;
        // Places and times come with every drawer, so the
        // sort keys need no field beyond those of the scope.
        let drawer = records.read_drawer(at, scope.required_fields(DrawerFields::NOTHING))?;
        let position = request.order.position_of(&drawer);
        // Keys are compared, not positions in a list: the drawer a cursor names may be gone by now.
        let behind = request
            .after
            .as_ref()
            .is_none_or(|after| position.compare(after) == Some(Ordering::Greater));
        if behind && scope.accepts(&drawer) {
            keys.push((position, at));
        }
    }
    keys.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    let page = keys.into_iter().skip(request.offset);
    let page = page.take(request.limit.unwrap_or(usize::MAX));
    page.map(|(_, at)| {
        deadline.check()?;
        records.read_drawer(at, request.include)
    })
    .collect()
}

/// Passes each drawer in scope to `act`, with its number and the fields the scope needed.
fn for_each_in_scope(
    records: &dyn ScannedRecords,
    scope: &ReadScope<'_>,
    mut act: impl FnMut(usize, Drawer) -> Result<()>,
) -> Result<()> {
    for at in records.in_row_order() {
        let drawer = records.read_drawer(at, scope.required_fields(DrawerFields::NOTHING))?;
        if scope.accepts(&drawer) {
            act(at, drawer)?;
        }
    }
    Ok(())
}

/// Counts the visible drawers that meet the condition.
fn count_drawers(
    records: &dyn ScannedRecords,
    condition: &DrawerCondition,
    visible: &Visibility,
) -> Result<u64> {
    let scope = ReadScope::narrow(visible, &condition.filter, &condition.document);
    // Without a filter the count needs no row at all.
    if scope.is_all() {
        return Ok(records.count() as u64);
    }
    let deadline = ScanDeadline::begin(None)?;
    let members = search::with_memory(records, |memory| memory.find_members(records, &scope, deadline))?;
    Ok(members.iter().filter(|member| **member).count() as u64)
}

/// Counts the visible drawers by keys.
fn count_facets(
    records: &dyn ScannedRecords,
    request: &FacetRequest,
    visible: &Visibility,
) -> Result<Vec<FacetCount>> {
    let scope = ReadScope::narrow(visible, &request.filter, &request.document);
    let mut counted: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
    for_each_in_scope(records, &scope, |_, drawer| {
        let values = request.by.iter().map(|key| key.value_of(&drawer));
        *counted.entry(values.collect()).or_default() += 1;
        Ok(())
    })?;
    let facets = counted.into_iter();
    Ok(facets
        .map(|(values, drawers)| FacetCount { values, drawers })
        .collect())
}

/// Counts the visible drawers, and those of them that have a vector.
fn count_visible(records: &dyn ScannedRecords, visible: &Visibility) -> Result<(u64, u64)> {
    let scope = ReadScope::narrow(visible, &Filter::All, &DocumentFilter::All);
    let (mut drawers, mut vectors) = (0, 0);
    for_each_in_scope(records, &scope, |at, _| {
        drawers += 1;
        vectors += u64::from(records.read_vector(at)?.is_some());
        Ok(())
    })?;
    Ok((drawers, vectors))
}
