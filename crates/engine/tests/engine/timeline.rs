//! Timelines: how much was said when.

use std::sync::Arc;

use loci_core::{Collection, Filter};
use loci_engine::OnConflict;
use loci_engine::timeline::{CalendarPeriod, TimelineClock, TimelineReport, TimelineRequest, count_timeline};
use loci_engine::view::DrawerScope;

use super::*;

const LINES: &str = r#"{"id":"a","text":"","wing":"w","source":"s","said_at":"2026-05-01T10:00:00Z"}
{"id":"b","text":"","wing":"w","source":"t","said_at":"2026-05-01T23:59:59.999999Z"}
{"id":"c","text":"","source":"t","said_at":"2026-05-01"}
{"id":"d","text":"","wing":"w","said_at":"2026-05-02"}
{"id":"e","text":"","source":"s","said_at":"2025-12-31"}
{"id":"f","text":"","wing":"w","source":"s"}
{"id":"g","text":"","filed_at":"2020-02-02"}"#;

fn opened(backend: &Reference) -> Arc<dyn Collection> {
    import(backend, OnConflict::Keep, LINES);
    backend
        .open(&palace(), &name("drawers"), &OpenOptions::default())
        .unwrap()
}

fn asked() -> TimelineRequest {
    TimelineRequest {
        scope: DrawerScope::default(),
        by: CalendarPeriod::Day,
        clock: TimelineClock::Said,
        newest: false,
        limit: 100,
        sources: 3,
    }
}

fn shown(request: &TimelineRequest) -> TimelineReport {
    count_timeline(opened(&reference()).as_ref(), request, &mut |_| {}).unwrap()
}

fn days(timeline: &TimelineReport) -> Vec<(String, u64)> {
    let day = |time: loci_core::Timestamp| time.to_string().chars().take(10).collect();
    timeline
        .periods
        .iter()
        .map(|one| (day(one.from), one.drawers))
        .collect()
}

#[track_caller]
fn check(request: &TimelineRequest, expect: &[(&str, u64)], undated: u64) {
    let timeline = shown(request);
    let expect: Vec<(String, u64)> = expect.iter().map(|(day, n)| ((*day).to_owned(), *n)).collect();
    assert_eq!((days(&timeline), timeline.undated), (expect, undated));
}

#[test]
fn drawers_are_counted_by_period_and_those_without_a_time_apart() {
    check(
        &asked(),
        &[("2025-12-31", 1), ("2026-05-01", 3), ("2026-05-02", 1)],
        2,
    );
    let by_week = TimelineRequest {
        by: CalendarPeriod::Week,
        ..asked()
    };
    check(&by_week, &[("2025-12-29", 1), ("2026-04-27", 4)], 2);
    let by_year = TimelineRequest {
        by: CalendarPeriod::Year,
        newest: true,
        ..asked()
    };
    check(&by_year, &[("2026-01-01", 4), ("2025-01-01", 1)], 2);
    let filter = Filter::text_equals("wing", "w");
    check(
        &TimelineRequest {
            scope: filter.into(),
            ..asked()
        },
        &[("2026-05-01", 2), ("2026-05-02", 1)],
        1,
    );
}

#[test]
fn bounds_are_from_and_up_to_and_undated_drawers_are_still_counted() {
    let since = Some("2026-05-01T10:00:00Z".parse().unwrap());
    let before = Some("2026-05-02".parse().unwrap());
    check(
        &TimelineRequest {
            scope: DrawerScope {
                since,
                ..DrawerScope::default()
            },
            ..asked()
        },
        &[("2026-05-01", 2), ("2026-05-02", 1)],
        2,
    );
    check(
        &TimelineRequest {
            scope: DrawerScope {
                before,
                ..DrawerScope::default()
            },
            ..asked()
        },
        &[("2025-12-31", 1), ("2026-05-01", 3)],
        2,
    );
    let filter = Filter::text_equals("wing", "w");
    let request = TimelineRequest {
        scope: DrawerScope {
            since,
            before,
            ..filter.into()
        },
        ..asked()
    };
    check(&request, &[("2026-05-01", 2)], 1);
}

#[test]
fn a_store_that_does_not_compare_by_order_gives_the_same_timeline() {
    let plain = Reference::with_capabilities(
        Reference::FULL
            .into_iter()
            .filter(|one| !matches!(one, Capability::Local | Capability::RangeFilters)),
    );
    let since = Some("2026-05-01T10:00:00Z".parse().unwrap());
    let request = TimelineRequest {
        scope: DrawerScope {
            since,
            ..DrawerScope::default()
        },
        ..asked()
    };
    let there = count_timeline(opened(&plain).as_ref(), &request, &mut |_| {}).unwrap();
    assert_eq!(there, shown(&request));
    assert_eq!(there.periods.len(), 2);
}

#[test]
fn what_is_filed_goes_by_its_own_clock() {
    let before = Some("2021-01-01".parse().unwrap());
    let request = TimelineRequest {
        clock: TimelineClock::Filed,
        scope: DrawerScope {
            before,
            ..DrawerScope::default()
        },
        ..asked()
    };
    check(&request, &[("2020-02-02", 1)], 0);
    let before = Some("2020-02-02".parse().unwrap());
    let scope = DrawerScope {
        before,
        ..DrawerScope::default()
    };
    check(&TimelineRequest { scope, ..request }, &[], 0);
}

#[test]
fn sources_come_with_the_most_drawers_first_and_the_rest_is_counted() {
    let day = |sources| {
        let by = CalendarPeriod::Year;
        let mut timeline = shown(&TimelineRequest {
            sources,
            by,
            ..asked()
        });
        let last = timeline.periods.pop().unwrap();
        let named: Vec<(Option<String>, u64)> = last
            .sources
            .into_iter()
            .map(|one| (one.source, one.drawers))
            .collect();
        (named, last.more_sources)
    };
    let (t, s) = ((Some("t".to_owned()), 2), (Some("s".to_owned()), 1));
    assert_eq!(day(3), (vec![t.clone(), (None, 1), s], 0));
    assert_eq!(day(1), (vec![t], 2));
    assert_eq!(day(0), (vec![], 3));
}

#[test]
fn a_timeline_that_was_cut_goes_on_where_it_stopped() {
    for newest in [false, true] {
        let whole = days(&shown(&TimelineRequest { newest, ..asked() }));
        let mut request = TimelineRequest {
            newest,
            limit: 1,
            ..asked()
        };
        let mut pages = Vec::new();
        loop {
            let page = shown(&request);
            pages.extend(days(&page));
            match (page.next, newest) {
                (None, _) => break,
                (next, true) => request.scope.before = next,
                (next, false) => request.scope.since = next,
            }
        }
        assert_eq!(pages, whole);
        assert_eq!(whole.len(), 3);
    }
}
