//! Timeline: counts drawers by period and source, without reading their texts.

mod period;
mod tally;

use loci_core::{
    CollectionReader, DrawerCondition, DrawerFields, ErrorKind, FacetKey, FacetRequest, Filter,
    FilterComparison, FindingSeverity, MetadataScalar, PalaceFinding, Result, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::view::DrawerScope;
use crate::walk::CollectionWalk;
use tally::PeriodTally;

pub use period::CalendarPeriod;

/// The time of a drawer that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineClock {
    /// When it was said.
    Said,
    /// When it was filed.
    Filed,
}

/// A request for a timeline.
#[derive(Debug, Clone)]
pub struct TimelineRequest {
    /// The drawers to count; its time bounds apply to [`TimelineRequest::clock`].
    pub scope: DrawerScope,
    /// The length of a period.
    pub by: CalendarPeriod,
    /// The time that counts.
    pub clock: TimelineClock,
    /// Whether the latest period comes first.
    pub newest: bool,
    /// The most periods.
    pub limit: usize,
    /// The most sources named for each period.
    pub sources: usize,
}

/// The counts of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TimelineReport {
    /// The periods in which something was said.
    pub periods: Vec<PeriodReport>,
    /// The number of drawers in the scope without such a time.
    pub undated: u64,
    /// The moment at which a truncated timeline continues: pass it as `since`, or as `before` if the latest
    /// comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// Damage that was skipped, and names in the scope that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

/// One period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PeriodReport {
    /// Its first moment.
    pub from: Timestamp,
    /// The moment at which the next one begins.
    pub before: Timestamp,
    /// The number of drawers.
    pub drawers: u64,
    /// The sources with the most drawers, largest first.
    pub sources: Vec<SourceCount>,
    /// The number of sources that are not named.
    pub more_sources: u64,
}

/// The number of drawers from one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceCount {
    /// The source; `None` for drawers without one.
    pub source: Option<String>,
    /// The number of drawers.
    pub drawers: u64,
}

impl Palace {
    /// Counts drawers by the time they were said or filed. `each` is called with the number of drawers counted
    /// so far.
    pub fn count_timeline(
        &self,
        request: &TimelineRequest,
        each: &mut dyn FnMut(u64),
    ) -> Result<TimelineReport> {
        request.scope.check()?;
        self.read(|session| {
            let mut report = count_timeline(session.reader(), request, each)?;
            if report.periods.is_empty() {
                report.warnings.extend(session.unknown_names(&request.scope)?);
            }
            Ok(report)
        })
    }
}

/// Counts the drawers of one collection by time; see [`Palace::count_timeline`].
pub fn count_timeline(
    collection: &dyn CollectionReader,
    request: &TimelineRequest,
    each: &mut dyn FnMut(u64),
) -> Result<TimelineReport> {
    // The scope's own bounds always mean the time said; here they may mean the time filed, so they are applied
    // apart.
    let unbounded = DrawerScope {
        since: None,
        before: None,
        ..request.scope.clone()
    };
    let unbounded = unbounded.resolve(collection)?;
    match count_days(collection, request, &unbounded, each) {
        // A store without range filters must return everything; damage is skipped drawer by drawer.
        Err(error) if matches!(error.kind(), ErrorKind::UnsupportedFilter | ErrorKind::Corrupt) => {
            count_walked(collection, request, &unbounded, each)
        }
        counted => counted,
    }
}

/// Counts by day inside the store: first all drawers, then those of the periods shown by source too. Months and years are
/// so few that all of them are counted by source at once.
fn count_days(
    collection: &dyn CollectionReader,
    request: &TimelineRequest,
    unbounded: &DrawerCondition,
    each: &mut dyn FnMut(u64),
) -> Result<TimelineReport> {
    let TimelineRequest { clock, scope, .. } = request;
    let facets = |by: &[FacetKey], condition: DrawerCondition| {
        collection.facets(&FacetRequest {
            by: by.to_vec(),
            filter: condition.filter,
            document: condition.document,
        })
    };
    let narrowed = clock.narrow_condition(unbounded, scope.since, scope.before);
    let is_bounded = narrowed != *unbounded;
    let mut tally = PeriodTally::new(request);
    let at_once = matches!(request.by, CalendarPeriod::Month | CalendarPeriod::Year);
    if at_once {
        tally.count_days_and_sources(facets(&[clock.day_key(), FacetKey::Source], narrowed.clone())?)?;
    } else {
        tally.count_days(facets(&[clock.day_key()], narrowed.clone())?)?;
    }
    if is_bounded {
        // Bounds exclude undated drawers, so they are counted separately.
        let all = facets(&[clock.day_key()], unbounded.clone())?;
        let undated = all
            .iter()
            .filter(|facet| facet.values.iter().all(Option::is_none));
        tally.undated = undated.map(|facet| facet.drawers).sum();
    }
    each(tally.seen);
    if !at_once {
        let (since, before) = tally.keep_shown();
        let shown = clock.narrow_condition(&narrowed, since, before);
        tally.count_sources(facets(&[clock.day_key(), FacetKey::Source], shown)?)?;
    }
    Ok(tally.into_report())
}

impl TimelineClock {
    fn day_key(self) -> FacetKey {
        match self {
            Self::Said => FacetKey::SaidDay,
            Self::Filed => FacetKey::FiledDay,
        }
    }

    /// Adds time bounds to a condition.
    fn narrow_condition(
        self,
        condition: &DrawerCondition,
        since: Option<Timestamp>,
        before: Option<Timestamp>,
    ) -> DrawerCondition {
        let key = match self {
            Self::Said => "said_at",
            Self::Filed => "filed_at",
        };
        let micros = |time: Timestamp| MetadataScalar::Int(time.as_micros());
        let since = since.map(|since| FilterComparison::Gte(micros(since)));
        let before = before.map(|before| FilterComparison::Lt(micros(before)));
        let mut narrowed = condition.clone();
        narrowed.filter = since
            .into_iter()
            .chain(before)
            .map(|bound| Filter::Compare(key.into(), bound))
            .fold(narrowed.filter, Filter::and);
        narrowed
    }
}

fn count_walked(
    collection: &dyn CollectionReader,
    request: &TimelineRequest,
    condition: &DrawerCondition,
    each: &mut dyn FnMut(u64),
) -> Result<TimelineReport> {
    let mut tally = PeriodTally::new(request);
    let DrawerCondition { filter, document } = condition.clone();
    let mut walk = CollectionWalk::matching(collection, DrawerFields::NOTHING, filter, document);
    for drawer in walk.by_ref() {
        tally.count_drawer(&drawer?);
        each(tally.seen);
    }
    let left_out = walk.left_out().iter();
    let warnings =
        left_out.map(|left| PalaceFinding::new("left_out", FindingSeverity::Error, left.message.clone()));
    Ok(TimelineReport {
        warnings: warnings.collect(),
        ..tally.into_report()
    })
}
