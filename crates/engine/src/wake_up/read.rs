//! Reads the newest drawers of a collection from its own orders, without paging through the rest.

use std::collections::{BTreeSet, HashSet};

use loci_core::{
    CollectionReader, Comparison, Drawer, DrawerCondition, DrawerId, DrawerOrder, ErrorKind, Filter, Get,
    Include, Result, Scalar, Timestamp,
};

/// How many of the newest drawers are read in each order.
const NEWEST: usize = 300;

/// How many times further conversations are looked for behind those that were met.
const ROUNDS: usize = 8;

/// The kinds of drawers that make up a conversation as people remember it.
const SPOKEN: [&str; 2] = ["human", "assistant"];

const DAY: i64 = 24 * 3_600 * 1_000_000;

/// Reads one collection as of one moment.
#[derive(Debug, Clone)]
pub(super) struct NewestReader<'a> {
    pub(super) collection: &'a dyn CollectionReader,
    pub(super) now: Timestamp,
    /// The drawers meant.
    pub(super) scope: DrawerCondition,
}

impl NewestReader<'_> {
    /// The time a drawer was said, else when it was filed. A time that is yet to come is a clock that was wrong.
    pub(super) fn time_of(&self, drawer: &Drawer) -> Option<Timestamp> {
        let said = drawer
            .place
            .said_at
            .filter(|said| said.as_micros() < self.tomorrow());
        said.or(drawer.filed_at)
    }

    /// The first moment that is taken for a clock that was wrong.
    fn tomorrow(&self) -> i64 {
        self.now.as_micros().saturating_add(DAY)
    }

    /// The same reader of every drawer.
    pub(super) fn unscoped(&self) -> Self {
        Self {
            scope: DrawerCondition::default(),
            ..self.clone()
        }
    }

    /// The newest drawers, without texts: conversations by when they were held, however many files were filed since, and
    /// everything else by when it was filed.
    pub(super) fn recent(&self) -> Result<Vec<Drawer>> {
        let mut found = self.newest(&Filter::All)?;
        found.extend(self.newest_conversations()?);
        let mut seen = HashSet::new();
        found.retain(|drawer| seen.insert(drawer.id.clone()));
        Ok(found)
    }

    /// The newest messages of the latest conversations. One long conversation does not hide those before it: each round
    /// asks for messages of sources that no earlier round has met.
    fn newest_conversations(&self) -> Result<Vec<Drawer>> {
        let spoken = SPOKEN.map(|kind| Scalar::Text(kind.to_owned())).to_vec();
        let messages = Filter::Compare("kind".into(), Comparison::In(spoken));
        let mut met: Vec<Scalar> = Vec::new();
        let mut found = Vec::new();
        for _ in 0..ROUNDS {
            let mut asked = messages.clone();
            if !met.is_empty() {
                asked = asked.and(Filter::Compare("source".into(), Comparison::Nin(met.clone())));
            }
            let page = self.newest_said(&asked)?;
            let last = page.len() < NEWEST;
            let sources: BTreeSet<&String> = page
                .iter()
                .filter_map(|drawer| drawer.place.source.as_ref())
                .collect();
            met.extend(sources.into_iter().cloned().map(Scalar::Text));
            found.extend(page);
            if last {
                break;
            }
        }
        Ok(found)
    }

    /// The newest drawers a filter accepts, without texts, by when they were said and by when they were filed.
    pub(super) fn newest(&self, filter: &Filter) -> Result<Vec<Drawer>> {
        let mut found = self.newest_said(filter)?;
        found.extend(self.first(filter.clone(), DrawerOrder::NewestFiled)?);
        let mut seen = HashSet::new();
        found.retain(|drawer| seen.insert(drawer.id.clone()));
        Ok(found)
    }

    /// The latest said of the drawers a filter accepts, times that are yet to come left out.
    fn newest_said(&self, filter: &Filter) -> Result<Vec<Drawer>> {
        let past = Comparison::Lt(Scalar::Int(self.tomorrow()));
        let said = filter.clone().and(Filter::Compare("said_at".into(), past));
        match self.first(said, DrawerOrder::NewestSaid) {
            // A backend that compares nothing by order has no way to leave wrong clocks out.
            Err(error) if error.kind() == ErrorKind::UnsupportedFilter => {
                self.first(filter.clone(), DrawerOrder::NewestSaid)
            }
            found => found,
        }
    }

    /// The newest drawers of none of these kinds, without texts.
    pub(super) fn newest_of_no_kind(&self, kinds: &[&str]) -> Result<Vec<Drawer>> {
        let kinds = kinds.iter().map(|kind| Scalar::Text((*kind).to_owned()));
        let filter = Filter::Compare("kind".into(), Comparison::Nin(kinds.collect()));
        self.first(filter, DrawerOrder::NewestFiled)
    }

    /// The pieces a source begins with, without texts.
    pub(super) fn beginning_of(&self, source: &str) -> Result<Vec<Drawer>> {
        self.unscoped()
            .first(Filter::text("source", source), DrawerOrder::Source)
    }

    /// The first drawers of the scope that a filter accepts.
    fn first(&self, filter: Filter, order: DrawerOrder) -> Result<Vec<Drawer>> {
        self.collection.get(&Get {
            order,
            document: self.scope.document.clone(),
            limit: Some(NEWEST),
            include: Include::NOTHING,
            ..Get::matching(self.scope.filter.clone().and(filter))
        })
    }

    /// One drawer with its text and metadata.
    pub(super) fn whole(&self, id: &DrawerId) -> Result<Option<Drawer>> {
        Ok(self.collection.get(&Get::ids([id.clone()]))?.pop())
    }

    /// Some drawers with their metadata, without their texts.
    pub(super) fn described(&self, ids: Vec<DrawerId>) -> Result<Vec<Drawer>> {
        self.collection.get(&Get {
            include: Include {
                metadata: true,
                ..Include::NOTHING
            },
            ..Get::ids(ids)
        })
    }
}
