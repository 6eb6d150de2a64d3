//! Counts drawers by period and source.

use std::collections::{BTreeMap, HashMap};

use loci_core::{Drawer, Timestamp};

use super::{Clock, PeriodReport, SourceCount, Timeline, TimelineRequest};

/// What was counted so far.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    request: &'a TimelineRequest,
    /// How many drawers were looked at.
    pub(super) seen: u64,
    /// How many of them have no time.
    pub(super) undated: u64,
    /// Each source once, by its number.
    names: HashMap<Option<String>, usize>,
    /// By first moment and end: how many drawers by source.
    periods: BTreeMap<(Timestamp, Timestamp), HashMap<usize, u64>>,
    /// The period the last drawer was in: the next is often in the same.
    last: Option<(Timestamp, Timestamp)>,
}

impl<'a> Tally<'a> {
    /// Nothing counted yet.
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
    pub(super) fn take(&mut self, drawer: &Drawer) {
        self.seen += 1;
        let time = match self.request.clock {
            Clock::Said => drawer.place.said_at,
            Clock::Filed => drawer.filed_at,
        };
        match time {
            Some(time) if self.is_meant(time) => {
                let period = self.period_of(time);
                let number = self.number_of(&drawer.place.source);
                *self.periods.entry(period).or_default().entry(number).or_default() += 1;
            }
            Some(_) => {}
            None => self.undated += 1,
        }
    }

    fn is_meant(&self, time: Timestamp) -> bool {
        self.request.scope.since.is_none_or(|since| since <= time)
            && self.request.scope.before.is_none_or(|before| time < before)
    }

    fn period_of(&mut self, time: Timestamp) -> (Timestamp, Timestamp) {
        let same = self.last.filter(|(from, before)| *from <= time && time < *before);
        *self
            .last
            .insert(same.unwrap_or_else(|| self.request.by.around(time)))
    }

    fn number_of(&mut self, source: &Option<String>) -> usize {
        if let Some(number) = self.names.get(source) {
            return *number;
        }
        let number = self.names.len();
        self.names.insert(source.clone(), number);
        number
    }

    /// What was counted, in the order asked for, as much of it as was asked for.
    pub(super) fn report(self) -> Timeline {
        let mut names: Vec<(Option<String>, usize)> = self.names.into_iter().collect();
        names.sort_unstable_by_key(|(_, number)| *number);
        let names: Vec<Option<String>> = names.into_iter().map(|(name, _)| name).collect();
        let mut all: Vec<_> = self.periods.into_iter().collect();
        if self.request.newest {
            all.reverse();
        }
        let next = all
            .get(self.request.limit)
            .map(|((from, before), _)| match self.request.newest {
                true => *before,
                false => *from,
            });
        all.truncate(self.request.limit);
        let period = |((from, before), counts)| period(from, before, counts, &names, self.request.sources);
        Timeline {
            periods: all.into_iter().map(period).collect(),
            undated: self.undated,
            next,
            warnings: Vec::new(),
        }
    }
}

fn period(
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
