//! Timeline: how much was said when, and in which sources, without reading a text.

mod period;
mod tally;

use loci_core::{
    CollectionReader, Comparison, DrawerCondition, ErrorKind, Filter, Finding, Get, Include, Result, Scalar,
    Severity, Timestamp,
};
use serde::Serialize;

use crate::palace::Palace;
use crate::view::DrawerScope;
use crate::walk::Walk;
use tally::Tally;

pub use period::Period;

/// How many drawers are looked at together. A filter is worked out anew for each page, so that pages are large.
const PAGE: usize = 1 << 15;

/// Which time of a drawer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// When it was said.
    Said,
    /// When it was filed.
    Filed,
}

/// What a timeline shows.
#[derive(Debug, Clone)]
pub struct TimelineRequest {
    /// The drawers meant; its times are those of [`TimelineRequest::clock`].
    pub scope: DrawerScope,
    /// How long a period is.
    pub by: Period,
    /// Which time counts.
    pub clock: Clock,
    /// Latest period first, else earliest first.
    pub newest: bool,
    /// How many periods at most.
    pub limit: usize,
    /// How many sources of each period are named at most.
    pub sources: usize,
}

/// How much was said when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// The periods in which something was said.
    pub periods: Vec<PeriodReport>,
    /// The number of drawers of the scope that have no such time.
    pub undated: u64,
    /// Where a timeline that was cut goes on: `since` this moment, or `before` it where the latest comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// Damage that was gone around, and names in the scope that no drawer has.
    pub warnings: Vec<Finding>,
}

/// One period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeriodReport {
    /// Its first moment.
    pub from: Timestamp,
    /// The moment at which the next one begins.
    pub before: Timestamp,
    /// How many drawers.
    pub drawers: u64,
    /// The sources with the most drawers, most first.
    pub sources: Vec<SourceCount>,
    /// How many sources are not named.
    pub more_sources: u64,
}

/// How many drawers come from one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceCount {
    /// The source; `None` for drawers without one.
    pub source: Option<String>,
    /// How many drawers.
    pub drawers: u64,
}

impl Palace {
    /// Counts drawers by the time they were said or filed. `each` hears how many drawers were looked at so far.
    pub fn timeline(&self, request: &TimelineRequest, each: &mut dyn FnMut(u64)) -> Result<Timeline> {
        request.scope.check()?;
        self.read(|session| {
            let mut report = timeline(session.reader(), request, each)?;
            if report.periods.is_empty() {
                report.warnings.extend(session.unknown_names(&request.scope)?);
            }
            Ok(report)
        })
    }
}

/// The same for a collection.
pub fn timeline(
    collection: &dyn CollectionReader,
    request: &TimelineRequest,
    each: &mut dyn FnMut(u64),
) -> Result<Timeline> {
    let unbounded = DrawerScope {
        since: None,
        before: None,
        ..request.scope.clone()
    };
    let unbounded = unbounded.resolve(collection)?;
    let narrowed = request.narrow(&unbounded);
    match count_pages(collection, request, &narrowed, each) {
        Ok(mut tally) => {
            if narrowed != unbounded {
                tally.undated = count_undated(collection, &unbounded)?;
            }
            Ok(tally.report())
        }
        // A store that does not compare by order is asked for everything; damage is gone around drawer by drawer.
        Err(error) if matches!(error.kind(), ErrorKind::UnsupportedFilter | ErrorKind::Corrupt) => {
            count_walked(collection, request, &unbounded, each)
        }
        Err(error) => Err(error),
    }
}

impl TimelineRequest {
    /// The condition with the bounds in it, where stores have the time in their index.
    fn narrow(&self, unbounded: &DrawerCondition) -> DrawerCondition {
        let mut narrowed = unbounded.clone();
        if self.clock == Clock::Filed {
            return narrowed;
        }
        let since = self.scope.since.map(|since| said(Comparison::Gte(micros(since))));
        let before = self
            .scope
            .before
            .map(|before| said(Comparison::Lt(micros(before))));
        let bounds = since.into_iter().chain(before);
        narrowed.filter = bounds.fold(narrowed.filter, Filter::and);
        narrowed
    }
}

fn said(comparison: Comparison) -> Filter {
    Filter::Compare("said_at".into(), comparison)
}

fn micros(time: Timestamp) -> Scalar {
    Scalar::Int(time.as_micros())
}

/// The number of drawers that do not say when they were said, counted without reading them.
fn count_undated(collection: &dyn CollectionReader, condition: &DrawerCondition) -> Result<u64> {
    let mut dated = condition.clone();
    dated.filter = dated.filter.and(said(Comparison::Gte(Scalar::Int(i64::MIN))));
    Ok(collection
        .count(condition)?
        .saturating_sub(collection.count(&dated)?))
}

fn count_pages<'a>(
    collection: &dyn CollectionReader,
    asked: &'a TimelineRequest,
    condition: &DrawerCondition,
    each: &mut dyn FnMut(u64),
) -> Result<Tally<'a>> {
    let mut tally = Tally::new(asked);
    let mut request = Get {
        filter: condition.filter.clone(),
        document: condition.document.clone(),
        limit: Some(PAGE),
        include: Include::NOTHING,
        ..Get::default()
    };
    loop {
        let drawers = collection.get(&request)?;
        drawers.iter().for_each(|drawer| tally.take(drawer));
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
) -> Result<Timeline> {
    let mut tally = Tally::new(request);
    let DrawerCondition { filter, document } = condition.clone();
    let mut walk = Walk::matching(collection, Include::NOTHING, filter, document);
    for drawer in walk.by_ref() {
        tally.take(&drawer?);
        each(tally.seen);
    }
    let left_out = walk.left_out().iter();
    let warnings = left_out.map(|left| Finding::new("left_out", Severity::Error, left.message.clone()));
    Ok(Timeline {
        warnings: warnings.collect(),
        ..tally.report()
    })
}
