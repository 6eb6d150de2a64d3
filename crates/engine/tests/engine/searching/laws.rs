//! The laws of search, for any drawers, filter and query, over both backends.

use loci_core::{Drawer, DrawerId, Filter, NewDrawer};
use loci_engine::search::{SearchAnswer, SearchRequest};
use loci_index::tokenise::query_tokens;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

use super::random::{Made, drawers, filed, filter, query};
use super::{World, asked, everything, find, machine, time};

fn stored(new: &NewDrawer) -> Drawer {
    new.to_filed_drawer(time("2024-01-01T00:00:00Z")).unwrap()
}

/// The drawers that a search for everything must show: those `scope` accepts and a vector or a word finds.
fn exact(drawers: &[NewDrawer], scope: &Filter, words: &[String]) -> Vec<DrawerId> {
    let holds = |new: &NewDrawer| {
        query_tokens(&new.document)
            .iter()
            .any(|word| words.contains(word))
    };
    let found = drawers
        .iter()
        .filter(|new| scope.accepts(&stored(new)) && (new.embedding.is_some() || holds(new)));
    found.map(|new| new.id.clone()).collect()
}

/// The drawers that a request searches.
fn searched(request: &SearchRequest) -> Filter {
    request
        .searched_condition(&request.scope.filter.clone().into())
        .filter
}

fn the_answer_is_the_exact_one(world: &World, made: &[Made], request: &SearchRequest) -> TestCaseResult {
    let machine = machine();
    let drawers = filed(made, &machine);
    let request = &SearchRequest {
        limit: 1000,
        ..request.clone()
    };
    let answer = find(&world.holding("drawers", &machine, &drawers), &machine, request);
    // A query for a time and little else is answered from that time; `dates.rs` tests it.
    if answer.dates.iter().any(|dated| dated.alone) {
        return Ok(());
    }
    let scope = searched(request);
    prop_assert!(answer.hits.iter().all(|hit| scope.accepts(&hit.drawer)));
    prop_assert_eq!(
        everything(&answer),
        exact(&drawers, &scope, &answer.plan.words),
        "{:?}",
        answer
    );
    Ok(())
}

fn a_filter_is_a_smaller_palace(world: &World, made: &[Made], request: &SearchRequest) -> TestCaseResult {
    let machine = machine();
    let drawers = filed(made, &machine);
    let (scope, whole) = (searched(request), world.holding("drawers", &machine, &drawers));
    let accepted: Vec<NewDrawer> = drawers
        .into_iter()
        .filter(|new| scope.accepts(&stored(new)))
        .collect();
    if accepted.is_empty() {
        // A collection that never held a drawer need not know a model yet.
        prop_assert!(find(&whole, &machine, request).hits.is_empty());
        return Ok(());
    }
    let small = world.holding("accepted", &machine, &accepted);
    let unfiltered = SearchRequest {
        scope: loci_engine::view::DrawerScope::default(),
        cursor: None,
        tools: true,
        ..request.clone()
    };
    let (one, other) = (
        find(&whole, &machine, request),
        find(&small, &machine, &unfiltered),
    );
    // A collection without a vector knows no model, so its leg does not run where the other's finds nothing.
    if accepted.iter().any(|drawer| drawer.embedding.is_some()) {
        same_hits(&one, &other)
    } else {
        prop_assert_eq!(&one.hits, &other.hits);
        Ok(())
    }
}

fn same_hits(one: &SearchAnswer, other: &SearchAnswer) -> TestCaseResult {
    prop_assert_eq!(&one.hits, &other.hits);
    prop_assert_eq!(&one.legs, &other.legs);
    prop_assert_eq!(one.in_scope, other.in_scope);
    prop_assert_eq!(&one.dates, &other.dates);
    prop_assert_eq!(&one.plan, &other.plan);
    Ok(())
}

fn the_order_of_filing_is_no_matter(world: &World, made: &[Made], request: &SearchRequest) -> TestCaseResult {
    let machine = machine();
    let mut drawers = filed(made, &machine);
    let forward = world.holding("forward", &machine, &drawers);
    drawers.reverse();
    let backward = world.holding("backward", &machine, &drawers);
    let first = find(&forward, &machine, request);
    prop_assert_eq!(&first, &find(&forward, &machine, request));
    same_hits(&first, &find(&backward, &machine, request))
}

fn what_is_searched_is_counted(world: &World, made: &[Made], request: &SearchRequest) -> TestCaseResult {
    let machine = machine();
    let drawers = filed(made, &machine);
    let shelf = world.holding("drawers", &machine, &drawers);
    let answer = find(&shelf, &machine, request);
    if answer.dates.iter().any(|dated| dated.alone) {
        return Ok(());
    }
    let accepted = drawers
        .iter()
        .filter(|new| request.scope.filter.accepts(&stored(new)));
    let tools = accepted
        .clone()
        .filter(|new| new.place.kind.as_deref() == Some("tool_result"));
    let left_out = if request.includes_tool_output() {
        0
    } else {
        tools.count() as u64
    };
    prop_assert_eq!(answer.in_scope, shelf.count(&searched(request).into()).unwrap());
    prop_assert_eq!(
        answer.in_scope + left_out,
        shelf.count(&request.scope.filter.clone().into()).unwrap()
    );
    prop_assert_eq!(answer.in_scope + left_out, accepted.count() as u64);
    prop_assert_eq!(answer.tool_output_left_out, left_out);
    Ok(())
}

/// Sees `law` hold for so many random palaces, each in a `world` of its own, and searches.
#[track_caller]
fn holds(world: fn() -> World, cases: u32, law: impl Fn(&World, &[Made], &SearchRequest) -> TestCaseResult) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let search = (query(), filter(), any::<(bool, bool)>(), 1_usize..12);
    let request = search.prop_map(|(query, filter, (tools, recent), limit)| SearchRequest {
        scope: filter.into(),
        limit,
        tools,
        recent,
        ..asked(&query)
    });
    let checked = TestRunner::new(config).run(&(drawers(24), request), |(made, request)| {
        law(&world(), &made, &request)
    });
    checked.unwrap();
}

#[test]
fn a_search_gives_the_exact_answer() {
    holds(World::reference, 250, the_answer_is_the_exact_one);
    holds(World::embedded, 60, the_answer_is_the_exact_one);
}

#[test]
fn the_reference_answers_a_filter_like_a_smaller_palace() {
    holds(World::reference, 250, a_filter_is_a_smaller_palace);
}

#[test]
fn the_store_answers_a_filter_like_a_smaller_palace() {
    holds(World::embedded, 60, a_filter_is_a_smaller_palace);
}

#[test]
fn the_reference_answers_alike_in_whatever_order_drawers_were_filed() {
    holds(World::reference, 250, the_order_of_filing_is_no_matter);
}

#[test]
fn the_store_answers_alike_in_whatever_order_drawers_were_filed() {
    holds(World::embedded, 60, the_order_of_filing_is_no_matter);
}

#[test]
fn what_is_searched_is_what_is_counted() {
    holds(World::reference, 250, what_is_searched_is_counted);
    holds(World::embedded, 60, what_is_searched_is_counted);
}
