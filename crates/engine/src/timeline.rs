//! Timeline: how much was said when, and in which sources, without reading a text.

mod period;
mod tally;

use loci_core::{
    CollectionReader, Comparison, DocumentFilter, ErrorKind, Filter, Get, Include, Result, Scalar, Timestamp,
};
use serde::Serialize;

use crate::walk::{LeftOut, Walk};
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
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only from this moment on.
    pub since: Option<Timestamp>,
    /// Only before this moment.
    pub before: Option<Timestamp>,
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
    /// How many of the drawers the filter accepts have no such time.
    pub undated: u64,
    /// Where a timeline that was cut goes on: `since` this moment, or `before` it where the latest comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// What could not be read.
    #[serde(skip)]
    pub left_out: Vec<LeftOut>,
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

/// Says how much was said when. `each` hears how many drawers were looked at so far.
pub fn timeline(
    collection: &dyn CollectionReader,
    request: &TimelineRequest,
    each: &mut dyn FnMut(u64),
) -> Result<Timeline> {
    let narrowed = request.narrowed();
    match paged(collection, request, &narrowed, each) {
        Ok(mut tally) => {
            if narrowed != request.filter {
                tally.undated = undated(collection, &request.filter)?;
            }
            Ok(tally.report())
        }
        // A store that does not compare by order is asked for everything; damage is gone around drawer by drawer.
        Err(error) if matches!(error.kind(), ErrorKind::UnsupportedFilter | ErrorKind::Corrupt) => {
            walked(collection, request, each)
        }
        Err(error) => Err(error),
    }
}

impl TimelineRequest {
    /// The filter with the bounds in it, where stores have the time in their index.
    fn narrowed(&self) -> Filter {
        if self.clock == Clock::Filed {
            return self.filter.clone();
        }
        let since = self.since.map(|since| said(Comparison::Gte(micros(since))));
        let before = self.before.map(|before| said(Comparison::Lt(micros(before))));
        let bounds = since.into_iter().chain(before);
        bounds.fold(self.filter.clone(), Filter::and)
    }
}

fn said(comparison: Comparison) -> Filter {
    Filter::Compare("said_at".into(), comparison)
}

fn micros(time: Timestamp) -> Scalar {
    Scalar::Int(time.as_micros())
}

/// How many drawers have no time when they were said, counted without looking at them.
fn undated(collection: &dyn CollectionReader, filter: &Filter) -> Result<u64> {
    let dated = filter.clone().and(said(Comparison::Gte(Scalar::Int(i64::MIN))));
    Ok(collection
        .count(&filter.clone().into())?
        .saturating_sub(collection.count(&dated.into())?))
}

fn paged<'a>(
    collection: &dyn CollectionReader,
    asked: &'a TimelineRequest,
    filter: &Filter,
    each: &mut dyn FnMut(u64),
) -> Result<Tally<'a>> {
    let mut tally = Tally::new(asked);
    let mut request = Get {
        filter: filter.clone(),
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

fn walked(
    collection: &dyn CollectionReader,
    request: &TimelineRequest,
    each: &mut dyn FnMut(u64),
) -> Result<Timeline> {
    let mut tally = Tally::new(request);
    let filter = request.filter.clone();
    let mut walk = Walk::matching(collection, Include::NOTHING, filter, DocumentFilter::All);
    for drawer in walk.by_ref() {
        tally.take(&drawer?);
        each(tally.seen);
    }
    Ok(Timeline {
        left_out: walk.left_out().to_vec(),
        ..tally.report()
    })
}
