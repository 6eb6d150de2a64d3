//! The places of a source's drawers: reading on from any of them, and backwards by windows of bytes.
//!
//! The contract lists drawers forwards only. To read backwards, a window of bytes that ends at the place grows or shrinks
//! until it holds a screenful, which takes a few short reads wherever the place is.

use std::cmp::Ordering;
use std::collections::VecDeque;

use loci_core::{
    CollectionReader, Drawer, DrawerFields, DrawerId, DrawerOrder, DrawerPosition, GetRequest, Result,
};

use super::PageBudget;
use crate::mine::draft::source_filter;

/// Up to so many drawers, the places of a source are simply all read.
const FEW: u64 = 1_000;

/// The drawers read by one look at a window.
const LOOK: usize = 256;

/// The drawers whose texts are read first; each further read takes twice as many, until the texts fill a page. So a page of
/// huge drawers reads few of them.
const FIRST_TEXTS: usize = 4;

/// The first window, in bytes.
const WINDOW: u64 = 1 << 16;

/// The smallest id: a position with it stands before every other drawer at the same byte.
const SMALLEST_ID: &str = "\0";

/// The order of one source.
#[derive(Debug)]
pub(super) struct SourcePlaces<'a> {
    reader: &'a dyn CollectionReader,
    source: &'a str,
    /// All drawers in order, without texts, if there are few.
    few: Option<Vec<Drawer>>,
}

impl<'a> SourcePlaces<'a> {
    /// Prepares to read a source of `total` drawers.
    pub(super) fn new(reader: &'a dyn CollectionReader, source: &'a str, total: u64) -> Result<Self> {
        let few = if total <= FEW {
            let all = GetRequest {
                order: DrawerOrder::Source,
                include: DrawerFields::NOTHING,
                ..GetRequest::by_filter(source_filter(source))
            };
            Some(reader.get(&all)?)
        } else {
            None
        };
        Ok(Self { reader, source, few })
    }

    pub(super) fn source(&self) -> &str {
        self.source
    }

    /// Reads the first drawers of the source, until they fill a page.
    pub(super) fn read_first(&self, budget: PageBudget) -> Result<Vec<Drawer>> {
        let start = self.position_at(Some(0))?;
        let mut found = self.read_after(&start, budget)?;
        // A position stands behind the very id it names.
        if let Some(drawer) = self.find_at(&start)? {
            found.insert(0, drawer);
            found.truncate(budget.drawers);
        }
        Ok(found)
    }

    /// Reads the drawers after a position, until they fill a page and one is left over.
    pub(super) fn read_after(&self, after: &DrawerPosition, budget: PageBudget) -> Result<Vec<Drawer>> {
        let mut found: Vec<Drawer> = Vec::new();
        let (mut after, mut step) = (after.clone(), FIRST_TEXTS);
        loop {
            let wanted = step.min(budget.drawers - found.len());
            let read = self.list_after(&after, wanted, DrawerFields::default())?;
            let is_end = read.len() < wanted;
            found.extend(read);
            match found.last() {
                Some(last) if !is_end && !budget.is_overfull(&found) => {
                    after = DrawerOrder::Source.position_of(last);
                }
                _ => return Ok(found),
            }
            step *= 2;
        }
    }

    /// Reads the one drawer after a position.
    pub(super) fn read_next(&self, after: &DrawerPosition) -> Result<Option<Drawer>> {
        Ok(self.list_after(after, 1, DrawerFields::default())?.pop())
    }

    fn list_after(&self, after: &DrawerPosition, limit: usize, include: DrawerFields) -> Result<Vec<Drawer>> {
        self.reader.get(&GetRequest {
            order: DrawerOrder::Source,
            after: Some(after.clone()),
            limit: Some(limit),
            include,
            ..GetRequest::by_filter(source_filter(self.source))
        })
    }

    /// Reads the drawers nearest before a position, or the last ones of the source, in order, until they fill a page and
    /// one is left over.
    pub(super) fn read_before(
        &self,
        before: Option<&DrawerPosition>,
        budget: PageBudget,
    ) -> Result<Vec<Drawer>> {
        let mut places = match &self.few {
            Some(all) => nearest_before(all.iter(), before, budget.drawers),
            None => self.find_before(before, budget.drawers)?,
        };
        let mut found: Vec<Drawer> = Vec::new();
        let mut step = FIRST_TEXTS;
        while !places.is_empty() && !budget.is_overfull(&found) {
            let nearest = places.split_off(places.len().saturating_sub(step));
            let mut read = self.reader.get(&GetRequest::by_ids(nearest))?;
            read.retain(|drawer| drawer.place.source.as_deref() == Some(self.source));
            read.append(&mut found);
            found = read;
            step *= 2;
        }
        Ok(found)
    }

    /// Finds the drawer that a position names, if it is still there.
    pub(super) fn find_at(&self, position: &DrawerPosition) -> Result<Option<Drawer>> {
        let DrawerPosition::Source(_, _, id) = position else {
            return Ok(None);
        };
        let found = self.reader.get(&GetRequest::by_ids([id.clone()]))?.pop();
        let is_there = |drawer: &Drawer| DrawerOrder::Source.position_of(drawer) == *position;
        Ok(found.filter(is_there))
    }

    fn position_at(&self, start: Option<u64>) -> Result<DrawerPosition> {
        let id = DrawerId::new(SMALLEST_ID)?;
        Ok(DrawerPosition::Source(Some(self.source.to_owned()), start, id))
    }

    /// Finds the ids nearest before a position in a source of many drawers.
    fn find_before(&self, before: Option<&DrawerPosition>, limit: usize) -> Result<Vec<DrawerId>> {
        let mut places = match before {
            Some(DrawerPosition::Source(_, Some(_), _)) => return self.search_windows(before, limit),
            _ => self.find_unstarted_before(before, limit)?,
        };
        if places.len() < limit {
            // Those with a start come before all that have none.
            let mut started = self.search_windows(None, limit - places.len())?;
            started.append(&mut places);
            places = started;
        }
        Ok(places)
    }

    /// Finds the ids nearest before a position among the drawers without a start.
    fn find_unstarted_before(&self, before: Option<&DrawerPosition>, limit: usize) -> Result<Vec<DrawerId>> {
        let behind_started = self.position_at(Some(i64::MAX.unsigned_abs()))?;
        let is_unstarted = |drawer: &&Drawer| drawer.place.span.is_none();
        let first = self.list_after(&behind_started, 1, DrawerFields::NOTHING)?;
        if !first.iter().any(|drawer| is_unstarted(&drawer)) {
            return Ok(Vec::new());
        }
        // Ids have no distance, so there are no windows of them; without texts, all are read.
        let all = self.reader.get(&GetRequest {
            order: DrawerOrder::Source,
            after: Some(behind_started),
            include: DrawerFields::NOTHING,
            ..GetRequest::by_filter(source_filter(self.source))
        })?;
        Ok(nearest_before(all.iter().filter(is_unstarted), before, limit))
    }

    /// Finds the ids nearest before a position, or the last ones, among the drawers with a start.
    fn search_windows(&self, before: Option<&DrawerPosition>, limit: usize) -> Result<Vec<DrawerId>> {
        let end = match before {
            Some(DrawerPosition::Source(_, Some(start), _)) => Some(*start),
            _ => None,
        };
        let wanted = limit.min(LOOK - 1);
        let mut search = WindowSearch::new(end);
        while let Some(from) = search.next_start() {
            let window = self.look(from, before)?;
            match window {
                None => search.too_many(from),
                Some(held) if held.len() < wanted && from > 0 => search.too_few(from),
                Some(held) => return Ok(nearest_before(held.iter(), None, limit)),
            }
        }
        // Very many drawers at one byte: only walking past them finds the last ones.
        self.walk_before(search.known_start(), before, limit)
    }

    /// Reads the places from a byte up to a position; `None` if they do not fit into one look.
    fn look(&self, from: u64, before: Option<&DrawerPosition>) -> Result<Option<Vec<Drawer>>> {
        let start = self.position_at(Some(from))?;
        let mut found = Vec::new();
        if from == 0 {
            found.extend(self.find_at(&start)?);
        }
        found.extend(self.list_after(&start, LOOK, DrawerFields::NOTHING)?);
        let is_full = found.len() >= LOOK;
        let ours = found
            .iter()
            .take_while(|drawer| is_started_before(drawer, before))
            .count();
        let reaches = ours < found.len() || !is_full;
        found.truncate(ours);
        Ok(reaches.then_some(found))
    }

    fn walk_before(&self, from: u64, before: Option<&DrawerPosition>, limit: usize) -> Result<Vec<DrawerId>> {
        let mut last = VecDeque::with_capacity(limit + 1);
        let mut after = self.position_at(Some(from))?;
        last.extend(self.find_at(&after)?.map(|drawer| drawer.id));
        loop {
            let found = self.list_after(&after, LOOK, DrawerFields::NOTHING)?;
            for drawer in &found {
                if !is_started_before(drawer, before) {
                    return Ok(last.into());
                }
                if last.len() == limit {
                    last.pop_front();
                }
                last.push_back(drawer.id.clone());
            }
            match found.last() {
                Some(end) if found.len() == LOOK => after = DrawerOrder::Source.position_of(end),
                _ => return Ok(last.into()),
            }
        }
    }
}

/// Returns whether a drawer has a start and stands before a position, if there is one.
fn is_started_before(drawer: &Drawer, before: Option<&DrawerPosition>) -> bool {
    drawer.place.span.is_some() && before.is_none_or(|before| is_before(drawer, before))
}

fn is_before(drawer: &Drawer, position: &DrawerPosition) -> bool {
    DrawerOrder::Source.position_of(drawer).compare(position) == Some(Ordering::Less)
}

/// Returns the ids of the last drawers before a position, in order.
fn nearest_before<'d>(
    drawers: impl Iterator<Item = &'d Drawer>,
    before: Option<&DrawerPosition>,
    limit: usize,
) -> Vec<DrawerId> {
    let earlier: Vec<&Drawer> = drawers
        .filter(|drawer| before.is_none_or(|before| is_before(drawer, before)))
        .collect();
    let skipped = earlier.len().saturating_sub(limit);
    earlier
        .into_iter()
        .skip(skipped)
        .map(|drawer| drawer.id.clone())
        .collect()
}

/// The search for the start of a window that holds enough drawers and not too many.
#[derive(Debug)]
struct WindowSearch {
    /// A start from which there are too many.
    many: Option<u64>,
    /// A start from which there are too few.
    few: Option<u64>,
    width: u64,
}

impl WindowSearch {
    /// Searches before a byte, or before the unknown end of the source.
    fn new(end: Option<u64>) -> Self {
        // From the byte itself, other drawers at the same byte may come first.
        Self {
            many: None,
            few: end.map(|end| end.saturating_add(1)),
            width: WINDOW,
        }
    }

    /// Returns the next start to try; `None` if no start is left between the bounds.
    fn next_start(&mut self) -> Option<u64> {
        let width = self.width;
        self.width = width.saturating_mul(8);
        match (self.many, self.few) {
            (None, None) => Some(width),
            (Some(many), None) if many < i64::MAX.unsigned_abs() => {
                Some(many.saturating_add(width).min(i64::MAX.unsigned_abs()))
            }
            (Some(_), None) => None,
            (None, Some(few)) => Some(few.saturating_sub(width)),
            (Some(many), Some(few)) if few - many > 1 => Some(many + (few - many) / 2),
            (Some(_), Some(_)) => None,
        }
    }

    fn too_many(&mut self, start: u64) {
        self.many = Some(start);
    }

    fn too_few(&mut self, start: u64) {
        self.few = Some(start);
    }

    /// Returns a start from which nothing that is wanted is missed.
    fn known_start(&self) -> u64 {
        self.many.unwrap_or(0)
    }
}
