//! Reads the newest drawers of a collection through its indexed orders, without paging through the rest.

use std::collections::{BTreeSet, HashSet};

use loci_core::{
    CollectionReader, Drawer, DrawerCondition, DrawerFields, DrawerId, DrawerOrder, DrawerPosition,
    ErrorKind, Filter, FilterComparison, GetRequest, MetadataScalar, Result, Timestamp,
};

use super::ownership::{fileless_filter, may_be_own_words, spoken_filter, unmined_filter};

/// The number of drawers read in each order. The embedded store answers pages up to this length without resolving the
/// filter, if enough of the newest drawers pass it.
const NEWEST: usize = 256;

/// The most rounds of looking for further conversations, and the most pages read for other drawers.
const ROUNDS: usize = 8;

/// The number of drawers read in further rounds, whose filters have to be resolved anyway.
const FURTHER: usize = 1024;

/// The number of drawers that suffices when pages are read for some of them.
const ENOUGH: usize = 100;

/// One day in microseconds.
const DAY: i64 = 24 * 3_600 * 1_000_000;

/// Reads the newest drawers of one collection.
#[derive(Debug, Clone)]
pub(super) struct NewestReader<'a> {
    pub(super) collection: &'a dyn CollectionReader,
    pub(super) now: Timestamp,
    /// The drawers in scope.
    pub(super) scope: DrawerCondition,
}

impl NewestReader<'_> {
    /// Returns the time a drawer was said, else the time it was filed. A time in the future comes from a wrong
    /// clock and is ignored.
    pub(super) fn drawer_time(&self, drawer: &Drawer) -> Option<Timestamp> {
        let said = drawer
            .place
            .said_at
            .filter(|said| said.as_micros() < self.implausible_from());
        said.or(drawer.filed_at)
    }

    /// Returns the first moment that counts as the future, in microseconds: one day from now.
    fn implausible_from(&self) -> i64 {
        self.now.as_micros().saturating_add(DAY)
    }

    /// Returns a reader of every drawer.
    pub(super) fn unscoped(&self) -> Self {
        Self {
            scope: DrawerCondition::default(),
            ..self.clone()
        }
    }

    /// Returns the newest messages of at least `wanted` conversations, without texts, whatever else was filed since. One
    /// long conversation does not hide earlier ones: each round asks for messages of sources that no previous round
    /// has returned.
    pub(super) fn read_conversations(&self, wanted: usize) -> Result<Vec<Drawer>> {
        let mut met: BTreeSet<String> = BTreeSet::new();
        let mut found = Vec::new();
        // Many formats record no times, so their messages are known only by when they were filed.
        for (order, rounds) in [(DrawerOrder::NewestSaid, ROUNDS), (DrawerOrder::NewestFiled, 2)] {
            let known = met.len();
            for round in 0..rounds {
                let mut asked = spoken_filter();
                if !met.is_empty() {
                    let met = met.iter().cloned().map(MetadataScalar::Text).collect();
                    asked = asked.and(Filter::Compare("source".into(), FilterComparison::Nin(met)));
                }
                let limit = if round == 0 { NEWEST } else { FURTHER };
                let page = self.read_latest(&asked, order, limit)?;
                // A page that is not full holds the last messages there are.
                let last = page.len() < limit;
                let before = met.len();
                met.extend(page.iter().filter_map(|drawer| drawer.place.source.clone()));
                found.extend(page);
                // Messages without a source would be returned again by every further round.
                if last || met.len() == before || met.len() >= known + wanted {
                    break;
                }
            }
        }
        Ok(keep_first(found))
    }

    /// Returns the newest pieces of files, without texts.
    pub(super) fn read_files(&self) -> Result<Vec<Drawer>> {
        self.read_newest(&Filter::text_equals("kind", "file"))
    }

    /// Returns the newest drawers that may hold a person's or an agent's own words, without texts.
    pub(super) fn read_own_words(&self) -> Result<Vec<Drawer>> {
        let mut found = self.read_pages(&unmined_filter(), may_be_own_words)?;
        found.extend(self.read_pages(&fileless_filter(), may_be_own_words)?);
        Ok(keep_first(found))
    }

    /// Returns the newest drawers that a filter accepts, by said time and by filed time, without texts.
    pub(super) fn read_newest(&self, filter: &Filter) -> Result<Vec<Drawer>> {
        let mut found = self.read_latest(filter, DrawerOrder::NewestSaid, NEWEST)?;
        found.extend(self.read_latest(filter, DrawerOrder::NewestFiled, NEWEST)?);
        Ok(keep_first(found))
    }

    /// Returns every drawer that a filter accepts, if they are few; `None` if they are more than a page.
    pub(super) fn read_few(&self, filter: &Filter) -> Result<Option<Vec<Drawer>>> {
        let found = self.read_latest(filter, DrawerOrder::NewestFiled, NEWEST)?;
        Ok((found.len() < NEWEST).then_some(found))
    }

    /// Returns the drawers filed last that a filter accepts and that are `wanted`, without texts: a few pages of
    /// them, until they are enough.
    pub(super) fn read_pages(&self, filter: &Filter, wanted: fn(&Drawer) -> bool) -> Result<Vec<Drawer>> {
        let mut found = Vec::new();
        let mut after = None;
        for _ in 0..ROUNDS {
            let page = self.read_page(filter.clone(), DrawerOrder::NewestFiled, after, NEWEST)?;
            let last = page.len() < NEWEST;
            after = page
                .last()
                .map(|drawer| DrawerPosition::NewestFiled(drawer.filed_at, drawer.id.clone()));
            found.extend(page.into_iter().filter(wanted));
            if last || found.len() >= ENOUGH {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the first drawers that a filter accepts in an order by time, without times in the future.
    fn read_latest(&self, filter: &Filter, order: DrawerOrder, limit: usize) -> Result<Vec<Drawer>> {
        let found = self.read_page(filter.clone(), order, None, limit)?;
        let is_wrong = |drawer: &Drawer| {
            let said = drawer.place.said_at.map(|said| said.as_micros());
            said.is_some_and(|said| said >= self.implausible_from())
        };
        // The range is asked for only if a wrong clock shows: to resolve it, every dated drawer would be listed.
        if order != DrawerOrder::NewestSaid || !found.iter().any(is_wrong) {
            return Ok(found);
        }
        let past = FilterComparison::Lt(MetadataScalar::Int(self.implausible_from()));
        let said = filter.clone().and(Filter::Compare("said_at".into(), past));
        match self.read_page(said, order, None, limit) {
            // A backend without range filters cannot exclude wrong clocks; `drawer_time` still ranks them by filed
            // time.
            Err(error) if error.kind() == ErrorKind::UnsupportedFilter => Ok(found),
            found => found,
        }
    }

    /// Returns the first drawers of a source, without texts.
    pub(super) fn read_beginning(&self, source: &str) -> Result<Vec<Drawer>> {
        let filter = Filter::text_equals("source", source);
        self.unscoped()
            .read_page(filter, DrawerOrder::Source, None, NEWEST)
    }

    /// Returns a page of the drawers of the scope that a filter accepts, without texts.
    fn read_page(
        &self,
        filter: Filter,
        order: DrawerOrder,
        after: Option<DrawerPosition>,
        limit: usize,
    ) -> Result<Vec<Drawer>> {
        self.collection.get(&GetRequest {
            order,
            after,
            document: self.scope.document.clone(),
            limit: Some(limit),
            include: DrawerFields::NOTHING,
            ..GetRequest::by_filter(self.scope.filter.clone().and(filter))
        })
    }

    /// Reads one drawer with its text and metadata.
    pub(super) fn read_whole(&self, id: &DrawerId) -> Result<Option<Drawer>> {
        Ok(self.collection.get(&GetRequest::by_ids([id.clone()]))?.pop())
    }

    /// Reads drawers with their metadata, without their texts.
    pub(super) fn read_described(&self, ids: Vec<DrawerId>) -> Result<Vec<Drawer>> {
        self.collection.get(&GetRequest {
            include: DrawerFields {
                metadata: true,
                ..DrawerFields::NOTHING
            },
            ..GetRequest::by_ids(ids)
        })
    }
}

/// Keeps the first of each drawer.
pub(super) fn keep_first(mut drawers: Vec<Drawer>) -> Vec<Drawer> {
    let mut seen = HashSet::new();
    drawers.retain(|drawer| seen.insert(drawer.id.clone()));
    drawers
}
