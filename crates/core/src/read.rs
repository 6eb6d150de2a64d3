//! Requests that read: get, query by vector, lexical match, facets, and the hits they return.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::write::{check_vector, dimension_mismatch};
use crate::{DocumentFilter, Drawer, DrawerId, DrawerOrder, DrawerPosition, Error, Filter, Result};

/// Which fields of a drawer to return beside its id, place and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Include {
    /// The text.
    pub document: bool,
    /// The metadata.
    pub metadata: bool,
    /// The context indexed around the text.
    pub context: bool,
    /// The exact vector.
    pub embedding: bool,
}

impl Include {
    /// Ids, places and times only.
    pub const NOTHING: Self = Self {
        document: false,
        metadata: false,
        context: false,
        embedding: false,
    };
    /// Every field.
    pub const EVERYTHING: Self = Self {
        document: true,
        metadata: true,
        context: true,
        embedding: true,
    };
}

impl Default for Include {
    /// Text and metadata.
    fn default() -> Self {
        Self {
            document: true,
            metadata: true,
            ..Self::NOTHING
        }
    }
}

/// Asks for drawers by id or filter.
///
/// With `ids`, drawers come in the order asked, each once; without, in the `order` asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Get {
    /// Only these, in this order; ids that are not there are left out.
    pub ids: Option<Vec<DrawerId>>,
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
    /// The order; not together with `ids`.
    pub order: DrawerOrder,
    /// Only drawers behind this position of the same order; for paging. Not together with `ids`.
    pub after: Option<DrawerPosition>,
    /// At most this many.
    pub limit: Option<usize>,
    /// Leave out this many first.
    pub offset: usize,
    /// What to return of each.
    pub include: Include,
    /// How long this may take; when it is used up the call fails with `TimedOut`.
    pub budget: Option<Duration>,
}

impl Get {
    /// These drawers with their text and metadata.
    pub fn ids(ids: impl IntoIterator<Item = DrawerId>) -> Self {
        Self {
            ids: Some(ids.into_iter().collect()),
            ..Self::default()
        }
    }

    /// Every drawer that `filter` accepts, in the order of ids.
    pub fn matching(filter: Filter) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// The request for the page behind `last`, the last drawer of the page before.
    #[must_use]
    pub fn continued_after(mut self, last: &Drawer) -> Self {
        self.after = Some(self.order.position_of(last));
        self
    }

    /// Refuses requests that contradict themselves.
    pub fn check(&self) -> Result<()> {
        let ordered = self.after.is_some() || self.order != DrawerOrder::Id;
        if self.ids.is_some() && ordered {
            return Err(Error::invalid(
                "a get takes ids, or an order to page through, not both",
            ));
        }
        if self
            .after
            .as_ref()
            .is_some_and(|after| after.order() != self.order)
        {
            return Err(
                Error::invalid("the position to continue from belongs to another order")
                    .hint("continue with the order the first page was asked in"),
            );
        }
        Ok(())
    }
}

/// Asks for the drawers nearest to each of some vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The vectors; at least one.
    pub vectors: Vec<Vec<f32>>,
    /// How many hits to return for each; at least one.
    pub k: usize,
    /// Only drawers that this accepts; the answer is the nearest of those, never fewer because others were nearer.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
    /// What to return of each.
    pub include: Include,
    /// How long this may take; when it is used up the call fails with `TimedOut`.
    pub budget: Option<Duration>,
}

impl Query {
    /// The `k` drawers nearest to one vector.
    pub fn nearest(vector: Vec<f32>, k: usize) -> Self {
        Self {
            vectors: vec![vector],
            k,
            filter: Filter::All,
            document: DocumentFilter::All,
            include: Include::default(),
            budget: None,
        }
    }

    /// Refuses queries without vectors or hits, and vectors no backend may accept.
    pub fn check(&self, dimension: Option<usize>) -> Result<()> {
        if self.vectors.is_empty() {
            return Err(Error::invalid("a query needs at least one vector"));
        }
        if self.k == 0 {
            return Err(Error::invalid("a query must ask for at least one hit"));
        }
        for vector in &self.vectors {
            check_vector(vector)?;
            match dimension {
                Some(expected) if expected != vector.len() => {
                    return Err(dimension_mismatch(expected, vector.len()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Asks for the drawers that best match some words, by BM25; a drawer matches if it holds any of them.
///
/// How rare a word is and how long a drawer is are judged among the drawers that both filters accept, and no others:
/// a filtered match equals, hit for hit and score for score, the match in a collection that holds only those drawers.
#[derive(Debug, Clone, PartialEq)]
pub struct Lexical {
    /// The words; text without any word matches nothing, empty text is refused.
    pub words: String,
    /// How many hits to return; at least one.
    pub k: usize,
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
    /// What to return of each.
    pub include: Include,
    /// How long this may take; when it is used up the call fails with `TimedOut`.
    pub budget: Option<Duration>,
}

impl Lexical {
    /// The `k` drawers that best match `words`.
    pub fn words(words: impl Into<String>, k: usize) -> Self {
        Self {
            words: words.into(),
            k,
            filter: Filter::All,
            document: DocumentFilter::All,
            include: Include::default(),
            budget: None,
        }
    }

    /// Refuses empty text and requests for no hits.
    pub fn check(&self) -> Result<()> {
        if self.words.trim().is_empty() {
            return Err(Error::invalid("there are no words to look for"));
        }
        if self.k == 0 {
            return Err(Error::invalid("a match must ask for at least one hit"));
        }
        Ok(())
    }
}

/// A drawer that was found, and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The drawer, with the fields the request included.
    pub drawer: Drawer,
    /// From `query`: the distance, smaller is nearer. From `lexical`: the BM25 score, larger is better.
    pub score: f32,
}

/// What drawers can be counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FacetKey {
    /// By wing.
    Wing,
    /// By room.
    Room,
    /// By source.
    Source,
    /// By speaker.
    Speaker,
    /// By kind.
    Kind,
}

impl FacetKey {
    /// Every key.
    pub const ALL: [Self; 5] = [Self::Wing, Self::Room, Self::Source, Self::Speaker, Self::Kind];

    /// The field of [`crate::Place`] it counts by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wing => "wing",
            Self::Room => "room",
            Self::Source => "source",
            Self::Speaker => "speaker",
            Self::Kind => "kind",
        }
    }

    /// The key of this name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|key| key.name() == name)
            .ok_or_else(|| {
                Error::invalid(format!("drawers cannot be counted by {name:?}"))
                    .hint("count by wing, room, source, speaker or kind")
            })
    }
}

/// Asks how many drawers there are for each combination of some keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Facets {
    /// The keys; at least one, none twice.
    pub by: Vec<FacetKey>,
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
}

impl Facets {
    /// Every drawer, by wing and room.
    pub fn by_room() -> Self {
        Self {
            by: vec![FacetKey::Wing, FacetKey::Room],
            filter: Filter::All,
            document: DocumentFilter::All,
        }
    }

    /// Refuses requests without keys or with one key twice.
    pub fn check(&self) -> Result<()> {
        let mut keys = self.by.clone();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() || keys.len() != self.by.len() {
            return Err(Error::invalid("facets need at least one key, and none twice"));
        }
        Ok(())
    }
}

/// How many drawers share these values. Facets come in ascending order of their values, unset ones first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facet {
    /// One value for each key asked for; `None` where the drawers have none.
    pub values: Vec<Option<String>>,
    /// How many drawers.
    pub drawers: u64,
}
