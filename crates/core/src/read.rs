//! Requests that read: get, query by vector, lexical match, facets; and the hits they return.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::vector::{check_vector, dimension_mismatch};
use crate::{
    DocumentFilter, Drawer, DrawerCondition, DrawerId, DrawerOrder, DrawerPosition, Error, Filter, Metric,
    Result, Timestamp,
};

/// The fields of a drawer to return besides its id, place and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawerFields {
    /// The text.
    pub document: bool,
    /// The metadata.
    pub metadata: bool,
    /// The context indexed around the text.
    pub context: bool,
    /// The exact vector.
    pub embedding: bool,
}

impl DrawerFields {
    /// Only ids, places and times.
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

impl Default for DrawerFields {
    /// Includes text and metadata.
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
/// With `ids`, drawers come in the order of the ids, each once; without, in the requested `order`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GetRequest {
    /// Only these drawers, in this order; unknown ids are skipped.
    pub ids: Option<Vec<DrawerId>>,
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
    /// The order; cannot be combined with `ids`.
    pub order: DrawerOrder,
    /// Only drawers after this position of the same order, for paging; cannot be combined with `ids`.
    pub after: Option<DrawerPosition>,
    /// The most drawers to return.
    pub limit: Option<usize>,
    /// The number of drawers to skip first.
    pub offset: usize,
    /// The fields to return of each.
    pub include: DrawerFields,
    /// The time budget; a call that exceeds it fails with `TimedOut`.
    pub budget: Option<Duration>,
}

impl GetRequest {
    /// Requests these drawers with their text and metadata.
    pub fn by_ids(ids: impl IntoIterator<Item = DrawerId>) -> Self {
        Self {
            ids: Some(ids.into_iter().collect()),
            ..Self::default()
        }
    }

    /// Requests every drawer that `filter` accepts, in the order of ids.
    pub fn by_filter(filter: Filter) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// Requests the page after `last`, the last drawer of the previous page.
    #[must_use]
    pub fn continued_after(mut self, last: &Drawer) -> Self {
        self.after = Some(self.order.position_of(last));
        self
    }

    /// Refuses requests that contradict themselves.
    pub fn check_request(&self) -> Result<()> {
        // A list of ids fixes the order by itself; ignoring the other request silently would break
        // paging.
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
                    .with_hint("continue with the order the first page was asked in"),
            );
        }
        Ok(())
    }
}

/// Asks for the drawers nearest to each of several vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryRequest {
    /// The query vectors; at least one.
    pub vectors: Vec<Vec<f32>>,
    /// The number of hits per vector; at least one.
    pub k: usize,
    /// Only drawers that this accepts; the answer is the nearest of those, never fewer because others are nearer.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
    /// The fields to return of each.
    pub include: DrawerFields,
    /// Whether the answer must be exact even where [`crate::QueryPrecision::Approximate`] was chosen. A backend that
    /// advertises [`crate::Capability::ApproximateQuery`] may ignore it.
    pub exact: bool,
    /// The time budget; a call that exceeds it fails with `TimedOut`.
    pub budget: Option<Duration>,
}

impl QueryRequest {
    /// Requests the `k` drawers nearest to one vector.
    pub fn nearest_to(vector: Vec<f32>, k: usize) -> Self {
        Self {
            vectors: vec![vector],
            k,
            filter: Filter::All,
            document: DocumentFilter::All,
            include: DrawerFields::default(),
            exact: false,
            budget: None,
        }
    }

    /// Refuses queries without vectors or hits, and vectors that no backend may accept.
    pub fn check_request(&self, metric: Metric, dimension: Option<usize>) -> Result<()> {
        if self.vectors.is_empty() {
            return Err(Error::invalid("a query needs at least one vector"));
        }
        if self.k == 0 {
            return Err(Error::invalid("a query must ask for at least one hit"));
        }
        for vector in &self.vectors {
            // Without a distance every drawer would tie, or none compare.
            check_vector(vector, metric)?;
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

/// A read that an operation is going to make; see [`Collection::moment_for`](crate::Collection::moment_for).
#[derive(Debug, Clone, PartialEq)]
pub enum ForeseenRead {
    /// A [`count`](crate::CollectionReader::count).
    Count(DrawerCondition),
    /// A [`query`](crate::CollectionReader::query) like this one, for at most as many hits.
    Query(QueryRequest),
    /// A [`lexical`](crate::CollectionReader::lexical) match like this one, for at most as many hits.
    Lexical(LexicalRequest),
}

/// Asks for the drawers that best match some words by BM25; a drawer matches if it contains any of them.
///
/// The rarity of a word and the relative length of a drawer are computed over the drawers that both filters accept,
/// and no others: a filtered match equals, hit for hit and score for score, the match in a collection that holds
/// only those drawers.
#[derive(Debug, Clone, PartialEq)]
pub struct LexicalRequest {
    /// The words; text without any word matches nothing, empty text is refused.
    pub words: String,
    /// The number of hits; at least one.
    pub k: usize,
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
    /// The fields to return of each.
    pub include: DrawerFields,
    /// The time budget; a call that exceeds it fails with `TimedOut`.
    pub budget: Option<Duration>,
}

impl LexicalRequest {
    /// Requests the `k` drawers that best match `words`.
    pub fn for_words(words: impl Into<String>, k: usize) -> Self {
        Self {
            words: words.into(),
            k,
            filter: Filter::All,
            document: DocumentFilter::All,
            include: DrawerFields::default(),
            budget: None,
        }
    }

    /// Refuses empty text and requests for no hits.
    pub fn check_request(&self) -> Result<()> {
        if self.words.trim().is_empty() {
            return Err(Error::invalid("the words to look for are empty"));
        }
        if self.k == 0 {
            return Err(Error::invalid("a match must ask for at least one hit"));
        }
        Ok(())
    }
}

/// A drawer that was found, with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawerHit {
    /// The drawer, with the fields that the request included.
    pub drawer: Drawer,
    /// From `query`: the distance, smaller is nearer. From `lexical`: the BM25 score, larger is better.
    pub score: f32,
}

/// A key by which drawers can be counted.
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
    /// By the day on which it was said, in UTC.
    SaidDay,
    /// By the day on which it was filed, in UTC.
    FiledDay,
}

impl FacetKey {
    /// The keys of a place.
    pub const ALL: [Self; 5] = [Self::Wing, Self::Room, Self::Source, Self::Speaker, Self::Kind];

    /// The keys of a time.
    pub const DAYS: [Self; 2] = [Self::SaidDay, Self::FiledDay];

    /// Returns the name; that of a place's key is the field of [`crate::DrawerPlace`] it counts by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wing => "wing",
            Self::Room => "room",
            Self::Source => "source",
            Self::Speaker => "speaker",
            Self::Kind => "kind",
            Self::SaidDay => "said_day",
            Self::FiledDay => "filed_day",
        }
    }

    /// Returns the value under which a drawer is counted: a day like `2026-05-01` for a time.
    pub fn value_of(self, drawer: &Drawer) -> Option<String> {
        match self {
            Self::SaidDay => drawer.place.said_at.map(Timestamp::day_text),
            Self::FiledDay => drawer.filed_at.map(Timestamp::day_text),
            field => drawer.place.text_field(field.name()).map(str::to_owned),
        }
    }

    /// Returns the key of a place of this name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|key| key.name() == name)
            .ok_or_else(|| {
                Error::invalid(format!("drawers cannot be counted by {name:?}"))
                    .with_hint("count by wing, room, source, speaker or kind")
            })
    }
}

/// Asks for the number of drawers per combination of keys.
#[derive(Debug, Clone, PartialEq)]
pub struct FacetRequest {
    /// The keys; at least one, none twice.
    pub by: Vec<FacetKey>,
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
}

impl FacetRequest {
    /// Counts every drawer by wing and room.
    pub fn by_room() -> Self {
        Self {
            by: vec![FacetKey::Wing, FacetKey::Room],
            filter: Filter::All,
            document: DocumentFilter::All,
        }
    }

    /// Refuses requests without keys or with a repeated key.
    pub fn check_request(&self) -> Result<()> {
        let mut keys = self.by.clone();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() || keys.len() != self.by.len() {
            let names: Vec<&str> = self.by.iter().map(|key| key.name()).collect();
            return Err(Error::invalid(format!(
                "cannot count by {:?}: at least one key is needed, and none twice",
                names.join(",")
            )));
        }
        Ok(())
    }
}

/// The number of drawers that share these values. Facets come in ascending order of their values, unset ones first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FacetCount {
    /// One value per requested key; `None` for drawers without one.
    pub values: Vec<Option<String>>,
    /// The number of drawers.
    pub drawers: u64,
}
