//! Counts drawers by period and source.

use std::collections::{BTreeMap, HashMap};

use loci_core::{Drawer, Timestamp};

use super::{PeriodReport, SourceCount, TimelineClock, TimelineReport, TimelineRequest};

/// The counts so far.
#[derive(Debug)]
pub(super) struct PeriodTally<'a> {
    request: &'a TimelineRequest,
    /// The number of drawers examined.
    pub(super) seen: u64,
    /// The number of drawers without a time.
    pub(super) undated: u64,
    /// A number for each source, so that periods need not repeat the names.
    names: HashMap<Option<String>, usize>,
    /// The drawers of each source, by the first moment and the end of a period.
    periods: BTreeMap<(Timestamp, Timestamp), HashMap<usize, u64>>,
    /// The period of the last drawer; the next drawer is often in the same one.
    last: Option<(Timestamp, Timestamp)>,
}

impl<'a> PeriodTally<'a> {
    /// Creates an empty tally.
    pub(super) fn new(request: &'a TimelineRequest) -> Self {
        Self {
            request,
            seen: 0,
            undated: 0,
            names: HashMap::new(),
            periods: BTreeMap::new(),
            last: None,
        }
    }

    /// Counts a drawer.
    pub(super) fn count_drawer(&mut self, drawer: &Drawer) {
        self.seen += 1;
        let time = match self.request.clock {
            TimelineClock::Said => drawer.place.said_at,
            TimelineClock::Filed => drawer.filed_at,
        };
        match time {
            Some(time) if self.is_within_bounds(time) => {
                let period = self.find_period(time);
                let number = self.number_source(&drawer.place.source);
                *self.periods.entry(period).or_default().entry(number).or_default() += 1;
            }
            Some(_) => {}
            None => self.undated += 1,
        }
    }

    fn is_within_bounds(&self, time: Timestamp) -> bool {
        self.request.scope.since.is_none_or(|since| since <= time)
            && self.request.scope.before.is_none_or(|before| time < before)
    }

    fn find_period(&mut self, time: Timestamp) -> (Timestamp, Timestamp) {
        let same = self.last.filter(|(from, before)| *from <= time && time < *before);
        *self
            .last
            .insert(same.unwrap_or_else(|| self.request.by.bounds_around(time)))
    }

    fn number_source(&mut self, source: &Option<String>) -> usize {
        if let Some(number) = self.names.get(source) {
            return *number;
        }
        let number = self.names.len();
        self.names.insert(source.clone(), number);
        number
    }

    /// Returns the counts in the requested order, up to the requested limit.
    pub(super) fn into_report(self) -> TimelineReport {
        let mut names: Vec<(Option<String>, usize)> = self.names.into_iter().collect();
        names.sort_unstable_by_key(|(_, number)| *number);
        let names: Vec<Option<String>> = names.into_iter().map(|(name, _)| name).collect();
        let mut all: Vec<_> = self.periods.into_iter().collect();
        if self.request.newest {
            all.reverse();
        }
        // Bounds are half-open: the end of the first omitted period is the `before` that includes it.
        let next = all
            .get(self.request.limit)
            .map(|((from, before), _)| if self.request.newest { *before } else { *from });
        all.truncate(self.request.limit);
        let period =
            |((from, before), counts)| report_period(from, before, counts, &names, self.request.sources);
        TimelineReport {
            periods: all.into_iter().map(period).collect(),
            undated: self.undated,
            next,
            warnings: Vec::new(),
        }
    }
}

fn report_period(
    from: Timestamp,
    before: Timestamp,
    counts: HashMap<usize, u64>,
    names: &[Option<String>],
    shown: usize,
) -> PeriodReport {
    let drawers = counts.values().sum();
    let mut sources: Vec<(u64, Option<&String>)> = counts
        .into_iter()
        .map(|(number, drawers)| (drawers, names.get(number).and_then(Option::as_ref)))
        .collect();
    // Names break ties: hash maps have no order, and the same request must give the same report.
    sources.sort_unstable_by(|(one, name), (other, called)| other.cmp(one).then(name.cmp(called)));
    let more_sources = sources.len().saturating_sub(shown) as u64;
    sources.truncate(shown);
    let named = sources.into_iter().map(|(drawers, source)| SourceCount {
        source: source.cloned(),
        drawers,
    });
    PeriodReport {
        from,
        before,
        drawers,
        sources: named.collect(),
        more_sources,
    }
}
