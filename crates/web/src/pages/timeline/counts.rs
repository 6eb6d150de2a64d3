//! The number of drawers of every day of a scope.

use std::collections::BTreeMap;

use jiff::civil::Date;
use loci_core::{
    ErrorKind, FacetKey, Filter, FilterComparison, MetadataScalar, PalaceFinding, Result, Timestamp,
};
use loci_engine::facets::FacetsRequest;
use loci_engine::timeline::{CalendarPeriod, TimelineClock, TimelineRequest};
use loci_engine::view::DrawerScope;

use crate::context::{PageContext, read_scope};

/// The drawers of every day that has some.
#[derive(Debug, Clone, Default)]
pub(super) struct DayCounts {
    days: BTreeMap<Date, u64>,
    /// The drawers without a time.
    pub(super) undated: u64,
    /// Damage, and names in the scope that no drawer has.
    pub(super) warnings: Vec<PalaceFinding>,
}

impl DayCounts {
    /// Counts the drawers of the scope in the address.
    pub(super) fn read(context: PageContext<'_>, clock: TimelineClock) -> Result<Self> {
        let scope = read_scope(context.query(), context.now())?;
        let key = match clock {
            TimelineClock::Said => FacetKey::SaidDay,
            TimelineClock::Filed => FacetKey::FiledDay,
        };
        let request = FacetsRequest {
            by: vec![key],
            scope: bounded_by(scope.clone(), clock),
        };
        match context.palace().count_facets(&request) {
            // The timeline itself also counts where days cannot be, by walking over the drawers.
            Err(error) if matches!(error.kind(), ErrorKind::UnsupportedFilter | ErrorKind::Corrupt) => {
                Self::read_slowly(context, clock, scope)
            }
            report => {
                let report = report?;
                let mut counts = Self {
                    warnings: report.warnings,
                    ..Self::default()
                };
                for row in &report.facets {
                    let drawers = row
                        .get("drawers")
                        .and_then(serde_json::Value::as_u64)
                        .unwrap_or(0);
                    let day = row.get(key.name()).and_then(serde_json::Value::as_str);
                    counts.add(day, drawers);
                }
                Ok(counts)
            }
        }
    }

    fn read_slowly(context: PageContext<'_>, clock: TimelineClock, scope: DrawerScope) -> Result<Self> {
        let request = TimelineRequest {
            scope,
            by: CalendarPeriod::Day,
            clock,
            newest: false,
            limit: usize::MAX,
            sources: 0,
        };
        let report = context.palace().count_timeline(&request, &mut |_| {})?;
        let mut counts = Self {
            undated: report.undated,
            warnings: report.warnings,
            ..Self::default()
        };
        for period in &report.periods {
            counts.add(Some(&period.from.day_text()), period.drawers);
        }
        Ok(counts)
    }

    fn add(&mut self, day: Option<&str>, drawers: u64) {
        match day.and_then(|day| day.parse::<Date>().ok()) {
            Some(day) => *self.days.entry(day).or_default() += drawers,
            None => self.undated += drawers,
        }
    }

    /// Returns the drawers of a day.
    pub(super) fn of_day(&self, day: Date) -> u64 {
        self.days.get(&day).copied().unwrap_or(0)
    }

    /// Returns the drawers of a year.
    pub(super) fn of_year(&self, year: i16) -> u64 {
        self.in_year(year).map(|(_, drawers)| drawers).sum()
    }

    /// Returns the drawers of the busiest day of a year.
    pub(super) fn busiest_of_year(&self, year: i16) -> u64 {
        self.in_year(year).map(|(_, drawers)| drawers).max().unwrap_or(0)
    }

    fn in_year(&self, year: i16) -> impl Iterator<Item = (Date, u64)> {
        let days = self.days.iter().filter(move |(day, _)| day.year() == year);
        days.map(|(day, drawers)| (*day, *drawers))
    }

    /// Returns the last year that has drawers.
    pub(super) fn last_year(&self) -> Option<i16> {
        self.days.keys().next_back().map(|day| day.year())
    }

    /// Returns the last year before `year` that has drawers.
    pub(super) fn year_before(&self, year: i16) -> Option<i16> {
        let mut years = self.days.keys().rev().map(|day| day.year());
        years.find(|other| *other < year)
    }

    /// Returns the first year after `year` that has drawers.
    pub(super) fn year_after(&self, year: i16) -> Option<i16> {
        self.days.keys().map(|day| day.year()).find(|other| *other > year)
    }
}

/// Returns a scope whose bounds in time mean the time that counts.
pub(super) fn bounded_by(scope: DrawerScope, clock: TimelineClock) -> DrawerScope {
    if clock == TimelineClock::Said {
        return scope;
    }
    let micros = |time: Timestamp| MetadataScalar::Int(time.as_micros());
    let since = scope.since.map(|since| FilterComparison::Gte(micros(since)));
    let before = scope.before.map(|before| FilterComparison::Lt(micros(before)));
    let bounds = since.into_iter().chain(before);
    DrawerScope {
        since: None,
        before: None,
        filter: bounds.fold(scope.filter, |filter, bound| {
            filter.and(Filter::Compare("filed_at".into(), bound))
        }),
        ..scope
    }
}
