//! Reads the newest drawers of a collection through its indexed orders, without paging through the rest.

use std::collections::{BTreeSet, HashSet};

use loci_core::{
    CollectionReader, Drawer, DrawerCondition, DrawerFields, DrawerId, DrawerOrder, ErrorKind, Filter,
    FilterComparison, GetRequest, MetadataScalar, Result, Timestamp,
};

/// The number of drawers read in each order.
const NEWEST: usize = 300;

/// The most rounds of looking for further conversations.
const ROUNDS: usize = 8;

/// The kinds of drawers that make up a conversation, without tool calls and reasoning.
const SPOKEN: [&str; 2] = ["human", "assistant"];

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

    /// Returns the newest drawers, without texts: conversations by when they were held, however many files were
    /// filed since, and everything else by when it was said or filed.
    pub(super) fn read_recent(&self) -> Result<Vec<Drawer>> {
        let mut found = self.read_newest(&Filter::All)?;
        found.extend(self.read_newest_conversations()?);
        let mut seen = HashSet::new();
        found.retain(|drawer| seen.insert(drawer.id.clone()));
        Ok(found)
    }

    /// Returns the newest messages of the latest conversations. One long conversation does not hide earlier
    /// ones: each round asks for messages of sources that no previous round has returned.
    fn read_newest_conversations(&self) -> Result<Vec<Drawer>> {
        let spoken = SPOKEN.map(|kind| MetadataScalar::Text(kind.to_owned())).to_vec();
        let messages = Filter::Compare("kind".into(), FilterComparison::In(spoken));
        let mut met: Vec<MetadataScalar> = Vec::new();
        let mut found = Vec::new();
        for _ in 0..ROUNDS {
            let mut asked = messages.clone();
            if !met.is_empty() {
                asked = asked.and(Filter::Compare(
                    "source".into(),
                    FilterComparison::Nin(met.clone()),
                ));
            }
            let page = self.read_newest_said(&asked)?;
            // A page that is not full holds the last messages there are.
            let last = page.len() < NEWEST;
            let sources: BTreeSet<&String> = page
                .iter()
                .filter_map(|drawer| drawer.place.source.as_ref())
                .collect();
            met.extend(sources.into_iter().cloned().map(MetadataScalar::Text));
            found.extend(page);
            if last {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the newest drawers that a filter accepts, by said time and by filed time, without texts.
    pub(super) fn read_newest(&self, filter: &Filter) -> Result<Vec<Drawer>> {
        let mut found = self.read_newest_said(filter)?;
        found.extend(self.read_first(filter.clone(), DrawerOrder::NewestFiled)?);
        let mut seen = HashSet::new();
        found.retain(|drawer| seen.insert(drawer.id.clone()));
        Ok(found)
    }

    /// Returns the drawers that a filter accepts and that were said last, without times in the future.
    fn read_newest_said(&self, filter: &Filter) -> Result<Vec<Drawer>> {
        let past = FilterComparison::Lt(MetadataScalar::Int(self.implausible_from()));
        let said = filter.clone().and(Filter::Compare("said_at".into(), past));
        match self.read_first(said, DrawerOrder::NewestSaid) {
            // A backend without range filters cannot exclude wrong clocks; `drawer_time` still ranks them by filed
            // time.
            Err(error) if error.kind() == ErrorKind::UnsupportedFilter => {
                self.read_first(filter.clone(), DrawerOrder::NewestSaid)
            }
            found => found,
        }
    }

    /// Returns the newest drawers of any other kind than these, without texts.
    pub(super) fn read_newest_of_other_kinds(&self, kinds: &[&str]) -> Result<Vec<Drawer>> {
        let kinds = kinds.iter().map(|kind| MetadataScalar::Text((*kind).to_owned()));
        let filter = Filter::Compare("kind".into(), FilterComparison::Nin(kinds.collect()));
        self.read_first(filter, DrawerOrder::NewestFiled)
    }

    /// Returns the first drawers of a source, without texts.
    pub(super) fn read_beginning(&self, source: &str) -> Result<Vec<Drawer>> {
        self.unscoped()
            .read_first(Filter::text_equals("source", source), DrawerOrder::Source)
    }

    /// Returns the first drawers of the scope that a filter accepts, in this order.
    fn read_first(&self, filter: Filter, order: DrawerOrder) -> Result<Vec<Drawer>> {
        self.collection.get(&GetRequest {
            order,
            document: self.scope.document.clone(),
            limit: Some(NEWEST),
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
