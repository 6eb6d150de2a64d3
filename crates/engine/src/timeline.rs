//! Timeline: counts drawers by period and source, without reading their texts.

mod period;
mod tally;

use loci_core::{
    CollectionReader, DrawerCondition, DrawerFields, ErrorKind, Filter, FilterComparison, FindingSeverity,
    GetRequest, MetadataScalar, PalaceFinding, Result, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::view::DrawerScope;
use crate::walk::CollectionWalk;
use tally::PeriodTally;

pub use period::CalendarPeriod;

/// The number of drawers read in one call. The filter is evaluated anew for each page, so pages are large.
const PAGE: usize = 1 << 15;

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
    /// Counts drawers by the time they were said or filed. `each` is called with the number of drawers examined
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
    let narrowed = request.narrow_condition(&unbounded);
    match count_pages(collection, request, &narrowed, each) {
        Ok(mut tally) => {
            if narrowed != unbounded {
                // Bounds exclude undated drawers from the pages, so they are counted separately.
                tally.undated = count_undated(collection, &unbounded)?;
            }
            Ok(tally.into_report())
        }
        // A store without range filters must return everything; damage is skipped drawer by drawer.
        Err(error) if matches!(error.kind(), ErrorKind::UnsupportedFilter | ErrorKind::Corrupt) => {
            count_walked(collection, request, &unbounded, each)
        }
        Err(error) => Err(error),
    }
}

impl TimelineRequest {
    /// Adds the time bounds to a condition if stores index that time; only the time said is indexed.
    fn narrow_condition(&self, unbounded: &DrawerCondition) -> DrawerCondition {
        let mut narrowed = unbounded.clone();
        if self.clock == TimelineClock::Filed {
            return narrowed;
        }
        let since = self
            .scope
            .since
            .map(|since| said_filter(FilterComparison::Gte(micros_scalar(since))));
        let before = self
            .scope
            .before
            .map(|before| said_filter(FilterComparison::Lt(micros_scalar(before))));
        let bounds = since.into_iter().chain(before);
        narrowed.filter = bounds.fold(narrowed.filter, Filter::and);
        narrowed
    }
}

fn said_filter(comparison: FilterComparison) -> Filter {
    Filter::Compare("said_at".into(), comparison)
}

fn micros_scalar(time: Timestamp) -> MetadataScalar {
    MetadataScalar::Int(time.as_micros())
}

/// Counts the drawers without a said time, without reading them.
fn count_undated(collection: &dyn CollectionReader, condition: &DrawerCondition) -> Result<u64> {
    let mut dated = condition.clone();
    dated.filter = dated
        .filter
        .and(said_filter(FilterComparison::Gte(MetadataScalar::Int(i64::MIN))));
    Ok(collection
        .count(condition)?
        .saturating_sub(collection.count(&dated)?))
}

fn count_pages<'a>(
    collection: &dyn CollectionReader,
    asked: &'a TimelineRequest,
    condition: &DrawerCondition,
    each: &mut dyn FnMut(u64),
) -> Result<PeriodTally<'a>> {
    let mut tally = PeriodTally::new(asked);
    let mut request = GetRequest {
        filter: condition.filter.clone(),
        document: condition.document.clone(),
        limit: Some(PAGE),
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    loop {
        let drawers = collection.get(&request)?;
        drawers.iter().for_each(|drawer| tally.count_drawer(drawer));
        each(tally.seen);
        if drawers.len() < PAGE {
            return Ok(tally);
        }
        if let Some(last) = drawers.last() {
            request = request.continued_after(last);
        }
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
