//! Counts drawers by period and source.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use loci_core::{Drawer, FacetCount, Result, Timestamp};

use super::{PeriodReport, SourceCount, TimelineClock, TimelineReport, TimelineRequest};

/// The counts so far.
#[derive(Debug)]
pub(super) struct PeriodTally<'a> {
    request: &'a TimelineRequest,
    /// The number of drawers counted.
    pub(super) seen: u64,
    /// The number of drawers without a time.
    pub(super) undated: u64,
    /// The drawers of sources, by the first moment and the end of a period.
    periods: BTreeMap<(Timestamp, Timestamp), Vec<SourceCount>>,
    /// The period of the last drawer; the next drawer is often in the same one.
    last: Option<(Timestamp, Timestamp)>,
    /// The moment at which the periods continue that are not shown.
    next: Option<Timestamp>,
}

impl<'a> PeriodTally<'a> {
    /// Creates an empty tally.
    pub(super) fn new(request: &'a TimelineRequest) -> Self {
        Self {
            request,
            seen: 0,
            undated: 0,
            periods: BTreeMap::new(),
            last: None,
            next: None,
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
                self.add_drawer(period, &drawer.place.source);
            }
            Some(_) => {}
            None => self.undated += 1,
        }
    }

    /// Adds a drawer to the counts of a period. Neighbours mostly share their source; equal sources that do not follow
    /// each other are added up in the report.
    fn add_drawer(&mut self, period: (Timestamp, Timestamp), source: &Option<String>) {
        let counts = self.periods.entry(period).or_default();
        match counts.last_mut().filter(|last| last.source == *source) {
            Some(last) => last.drawers += 1,
            None => counts.push(SourceCount {
                source: source.clone(),
                drawers: 1,
            }),
        }
    }

    /// Counts drawers by day alone: one value for each count.
    pub(super) fn count_days(&mut self, days: Vec<FacetCount>) -> Result<()> {
        for day in days {
            self.seen += day.drawers;
            match day.values.first().and_then(Option::as_deref) {
                Some(text) => {
                    let period = self.find_period(text.parse()?);
                    self.periods.entry(period).or_default();
                }
                None => self.undated += day.drawers,
            }
        }
        Ok(())
    }

    /// Counts drawers by day and source: two values for each count.
    pub(super) fn count_days_and_sources(&mut self, counts: Vec<FacetCount>) -> Result<()> {
        self.seen += counts.iter().map(|count| count.drawers).sum::<u64>();
        let days = counts
            .iter()
            .map(|count| count.values.first().and_then(Option::as_deref));
        let mut last = None;
        for day in days.flatten() {
            // Counts come in the order of days.
            if last != Some(day) {
                let period = self.find_period(day.parse()?);
                self.periods.entry(period).or_default();
                last = Some(day);
            }
        }
        let undated = counts
            .iter()
            .filter(|count| matches!(count.values.as_slice(), [None, ..]));
        self.undated = undated.map(|count| count.drawers).sum();
        self.count_sources(counts)
    }

    /// Counts the drawers of periods that are shown: a day and a source for each count.
    pub(super) fn count_sources(&mut self, counts: Vec<FacetCount>) -> Result<()> {
        let mut counts = counts.into_iter().peekable();
        while let Some(first) = counts.peek() {
            // Counts come in the order of days, so that the period is looked up once for each.
            let day = first.values.first().cloned().flatten();
            let same_day = |count: &FacetCount| count.values.first().is_some_and(|value| *value == day);
            let period = match &day {
                Some(text) => Some(self.find_period(text.parse()?)),
                None => None,
            };
            let mut sources = period.and_then(|period| self.periods.get_mut(&period));
            while let Some(FacetCount { values, drawers }) = counts.next_if(same_day) {
                if let Some(sources) = &mut sources {
                    let source = values.into_iter().nth(1).flatten();
                    sources.push(SourceCount { source, drawers });
                }
            }
        }
        Ok(())
    }

    /// Drops the periods that are not shown, and returns the bounds of those that are, if some were dropped.
    pub(super) fn keep_shown(&mut self) -> (Option<Timestamp>, Option<Timestamp>) {
        let mut all: Vec<_> = self.periods.keys().copied().collect();
        if self.request.newest {
            all.reverse();
        }
        let Some((from, before)) = all.get(self.request.limit).copied() else {
            return (None, None);
        };
        all.truncate(self.request.limit);
        // Bounds are half-open: the end of the first omitted period is the `before` that includes it.
        self.next = Some(if self.request.newest { before } else { from });
        let bounds = (
            all.iter().map(|(from, _)| *from).min(),
            all.iter().map(|(_, before)| *before).max(),
        );
        let shown: BTreeSet<_> = all.into_iter().collect();
        self.periods.retain(|period, _| shown.contains(period));
        bounds
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

    /// Returns the counts in the requested order, up to the requested limit.
    pub(super) fn into_report(mut self) -> TimelineReport {
        self.keep_shown();
        let mut all: Vec<_> = self.periods.into_iter().collect();
        if self.request.newest {
            all.reverse();
        }
        let shown = self.request.sources;
        let period = |((from, before), counts)| report_period(from, before, counts, shown);
        TimelineReport {
            periods: all.into_iter().map(period).collect(),
            undated: self.undated,
            next: self.next,
            warnings: Vec::new(),
        }
    }
}

fn report_period(from: Timestamp, before: Timestamp, counts: Vec<SourceCount>, shown: usize) -> PeriodReport {
    let drawers = counts.iter().map(|count| count.drawers).sum();
    let mut sources = merge_sources(counts);
    let more_sources = sources.len().saturating_sub(shown) as u64;
    // Names break ties: the same request must give the same report.
    let most_first = |one: &SourceCount, other: &SourceCount| {
        other
            .drawers
            .cmp(&one.drawers)
            .then_with(|| one.source.cmp(&other.source))
    };
    // A period may have a hundred thousand sources, of which three are shown.
    if more_sources > 0 {
        sources.select_nth_unstable_by(shown, most_first);
        sources.truncate(shown);
    }
    sources.sort_unstable_by(most_first);
    PeriodReport {
        from,
        before,
        drawers,
        sources,
        more_sources,
    }
}

/// Adds up the counts of equal sources. Those of one day are sorted, and then each is there once.
fn merge_sources(counts: Vec<SourceCount>) -> Vec<SourceCount> {
    if counts.is_sorted_by(|one, next| one.source < next.source) {
        return counts;
    }
    let mut sums: HashMap<Option<String>, u64> = HashMap::with_capacity(counts.len());
    for SourceCount { source, drawers } in counts {
        *sums.entry(source).or_default() += drawers;
    }
    sums.into_iter()
        .map(|(source, drawers)| SourceCount { source, drawers })
        .collect()
}
