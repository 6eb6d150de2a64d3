//! The times that a query mentions, and the drawers of each.
//!
//! A drawer belongs to the time at which it was said. A note that was filed without one, neither read from a source nor of
//! a kind that mining writes, was said when it was filed.

use loci_core::{
    CollectionReader, Drawer, DrawerCondition, DrawerFields, DrawerOrder, FacetKey, FacetRequest, Filter,
    FilterComparison, GetRequest, MetadataScalar, Result, Timestamp,
};
use loci_mine::conversation::MessageKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::literals::{AddedCandidate, HeldLiterals};
use super::plan::SearchPlan;
use super::weights;
use crate::mine::draft::file::FILE_KIND;

/// A time that words of the query mention.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MentionedTime {
    /// The words.
    pub words: String,
    /// Its first moment.
    pub from: Timestamp,
    /// The first moment after it.
    pub before: Timestamp,
    /// Whether the words name it exactly, rather than vaguely.
    pub named: bool,
    /// The number of drawers in scope that were said in it, or are notes filed in it; those are boosted.
    pub drawers: u64,
    /// Whether the words leave the year or the week open, and this is the last one that has drawers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Whether the query asks for little else, so that only drawers of the times it mentions were searched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// Returns the time at which a drawer was said; for a note without one, the time at which it was filed.
pub(super) fn time_of_saying(drawer: &Drawer) -> Option<Timestamp> {
    let place = &drawer.place;
    let is_mined = place.source.is_some() || place.kind.as_deref().is_some_and(is_mined_kind);
    place.said_at.or(drawer.filed_at.filter(|_| !is_mined))
}

fn is_mined_kind(kind: &str) -> bool {
    mined_kinds().any(|mined| mined == kind)
}

/// Returns the kinds of drawers that mining writes.
fn mined_kinds() -> impl Iterator<Item = &'static str> {
    let said = MessageKind::ALL.iter().map(|kind| kind.name());
    said.chain([FILE_KIND])
}

impl MentionedTime {
    /// Returns a filter for the drawers said in this time, and for those filed in it that may be notes. Filters cannot
    /// ask for a missing value, so it also accepts some that [`MentionedTime::holds`] refuses.
    pub(super) fn time_filter(&self) -> Filter {
        Filter::Or(vec![self.said_filter(), self.note_filter()])
    }

    fn said_filter(&self) -> Filter {
        self.range_filter("said_at")
    }

    fn note_filter(&self) -> Filter {
        let mined = mined_kinds().map(|kind| MetadataScalar::Text(kind.into()));
        let kinds = Filter::Compare("kind".into(), FilterComparison::Nin(mined.collect()));
        self.range_filter("filed_at").and(kinds)
    }

    fn range_filter(&self, key: &str) -> Filter {
        let at = |time: Timestamp| MetadataScalar::Int(time.as_micros());
        Filter::Compare(key.into(), FilterComparison::Gte(at(self.from)))
            .and(Filter::Compare(key.into(), FilterComparison::Lt(at(self.before))))
    }

    /// Returns whether a drawer was said in this time.
    fn holds(&self, drawer: &Drawer) -> bool {
        time_of_saying(drawer).is_some_and(|time| (self.from..self.before).contains(&time))
    }

    /// Returns the boost of a drawer said at `time`, if it falls into this time or shortly after.
    pub(super) fn score_gain(&self, time: Timestamp) -> Option<f32> {
        // People report things later than they happen; see `TOLD_LATER`.
        let told = self.before.as_micros().saturating_add(weights::TOLD_LATER);
        let within = (self.from.as_micros()..told).contains(&time.as_micros());
        within.then_some(if self.named {
            weights::NAMED_TIME
        } else {
            weights::ABOUT_TIME
        })
    }
}

impl SearchPlan<'_> {
    /// Returns whether a drawer is searched: it is in scope and, if the query asks for times alone, of one of them.
    pub(super) fn accepts(&self, drawer: &Drawer) -> bool {
        let of_time = || self.dates.iter().any(|dated| dated.holds(drawer));
        self.scope.accepts(drawer) && (!self.asks_for_time || of_time())
    }

    /// Returns the condition of the drawers searched that may be of a time.
    pub(super) fn condition_within(&self, dated: &MentionedTime) -> DrawerCondition {
        self.condition_and(dated.time_filter())
    }

    fn condition_and(&self, filter: Filter) -> DrawerCondition {
        DrawerCondition {
            filter: self.scope.filter.clone().and(filter),
            document: self.scope.document.clone(),
        }
    }

    /// Counts the drawers of a time.
    pub(super) fn count_within(
        &self,
        collection: &dyn CollectionReader,
        dated: &MentionedTime,
    ) -> Result<u64> {
        let said = collection.count(&self.condition_and(dated.said_filter()))?;
        Ok(said + self.count_notes(collection, dated.note_filter())?)
    }

    /// Counts the drawers of all times that the query mentions, each once.
    pub(super) fn count_in_times(&self, collection: &dyn CollectionReader) -> Result<u64> {
        let any = |filter: fn(&MentionedTime) -> Filter| Filter::Or(self.dates.iter().map(filter).collect());
        let said = collection.count(&self.condition_and(any(MentionedTime::said_filter)))?;
        Ok(said + self.count_notes(collection, any(MentionedTime::note_filter))?)
    }

    /// Counts those of the drawers that a note filter accepts that have neither a time of saying nor a source.
    fn count_notes(&self, collection: &dyn CollectionReader, filter: Filter) -> Result<u64> {
        let DrawerCondition { filter, document } = self.condition_and(filter);
        let counts = collection.facets(&FacetRequest {
            by: vec![FacetKey::SaidDay, FacetKey::Source],
            filter,
            document,
        })?;
        let notes = counts
            .iter()
            .filter(|count| count.values.iter().all(Option::is_none));
        Ok(notes.map(|count| count.drawers).sum())
    }

    /// Lists the drawers of the times that the query asks for: each is an answer, whether a leg ranks it or not.
    pub(super) fn list_said(&self, collection: &dyn CollectionReader) -> Result<Vec<AddedCandidate>> {
        let mut candidates = Vec::new();
        // Notes come last in the order of saying, so a page in the order of filing is read for them.
        for order in [DrawerOrder::NewestSaid, DrawerOrder::NewestFiled] {
            let drawers = collection.get(&GetRequest {
                filter: self.scope.filter.clone(),
                document: self.scope.document.clone(),
                order,
                limit: Some(weights::DEEPEST),
                include: DrawerFields::NOTHING,
                ..GetRequest::default()
            })?;
            candidates.extend(
                drawers
                    .into_iter()
                    .filter(|drawer| self.dates.iter().any(|dated| dated.holds(drawer)))
                    .map(|drawer| AddedCandidate {
                        drawer,
                        held: HeldLiterals::default(),
                    }),
            );
        }
        Ok(candidates)
    }
}
