//! What lists, facets and timelines cost on a palace that `storage --keep` made, and how much memory they need.

use std::path::Path;

use loci_core::*;
use loci_engine::timeline::{CalendarPeriod, TimelineClock, TimelineRequest, count_timeline};
use loci_engine::view::DrawerScope;
use serde_json::{Map, Value as Json, json};

use crate::measure;
use crate::storage;

/// How many drawers a page of a list shows.
const PAGE: usize = 20;

/// Measures every order of a list, plain and within a wing and a room; facets by source; and timelines.
pub(crate) fn run(folder: &Path, rounds: usize, only: Option<&str>) -> Result<Json> {
    let collection = storage::open(folder)?;
    let mut figures = Map::new();
    let mut measure = |name: String, work: &dyn Fn() -> Result<usize>| -> Result<()> {
        if only.is_some_and(|only| !name.starts_with(only)) {
            return Ok(());
        }
        let found = work()?;
        let cost = measure::repeat(rounds, |_| {
            assert_eq!(work().ok(), Some(found), "{name}");
        });
        let [p50, p95, min] = cost.wall_ms;
        let figure =
            json!({"cpu_ms": cost.cpu_ms, "p50_ms": p50, "p95_ms": p95, "min_ms": min, "found": found});
        figures.insert(name, figure);
        Ok(())
    };
    let wing = Filter::text_equals("wing", "wing-7");
    let room = wing.clone().and(Filter::text_equals("room", "room-3"));
    for (scope, filter) in [("all", Filter::All), ("wing", wing), ("room", room)] {
        for order in [
            DrawerOrder::Id,
            DrawerOrder::NewestFiled,
            DrawerOrder::NewestSaid,
            DrawerOrder::Source,
        ] {
            measure(format!("list_{scope}_{order:?}"), &|| {
                list(&*collection, order, &filter)
            })?;
        }
        for by in [CalendarPeriod::Day, CalendarPeriod::Month, CalendarPeriod::Year] {
            for clock in [TimelineClock::Said, TimelineClock::Filed] {
                measure(format!("timeline_{scope}_{by:?}_{clock:?}"), &|| {
                    timeline(&*collection, by, clock, &filter)
                })?;
            }
        }
        measure(format!("facets_{scope}_source"), &|| {
            facets(&*collection, &filter)
        })?;
    }
    let (now, peak) = measure::memory_mb();
    figures.insert("rss_mb".to_owned(), json!({"now": now, "peak": peak}));
    Ok(Json::Object(figures))
}

fn list(collection: &dyn Collection, order: DrawerOrder, filter: &Filter) -> Result<usize> {
    let page = collection.get(&GetRequest {
        filter: filter.clone(),
        order,
        limit: Some(PAGE + 1),
        ..GetRequest::default()
    });
    Ok(page?.len())
}

fn facets(collection: &dyn Collection, filter: &Filter) -> Result<usize> {
    let counted = collection.facets(&FacetRequest {
        by: vec![FacetKey::Source],
        filter: filter.clone(),
        document: DocumentFilter::All,
    });
    Ok(counted?.len())
}

fn timeline(
    collection: &dyn Collection,
    by: CalendarPeriod,
    clock: TimelineClock,
    filter: &Filter,
) -> Result<usize> {
    let request = TimelineRequest {
        scope: DrawerScope::from(filter.clone()),
        by,
        clock,
        newest: false,
        limit: 100,
        sources: 3,
    };
    Ok(count_timeline(collection, &request, &mut |_| {})?.periods.len())
}
