//! Why a drawer was not found: one test for each reason.

use std::sync::Arc;

use loci_core::{Collection, ErrorKind, Filter, NewDrawer};
use loci_engine::search::{SearchRequest, WhyNotReport, explain_absence, search_collection};

use super::{World, asked, drawer, machine};
use crate::embedders::Machine;
use crate::{NOBODY, id};

fn told(
    collection: &Arc<dyn Collection>,
    machine: &Machine,
    key: &str,
    request: &SearchRequest,
) -> WhyNotReport {
    let told = explain_absence(collection.as_ref(), machine, &id(key), request).unwrap();
    let answer = search_collection(collection.as_ref(), machine, request).unwrap();
    let place = answer.hits.iter().position(|hit| hit.drawer.id == told.id);
    assert_eq!(told.found, place.map(|at| at + 1), "as the search says: {told:?}");
    assert_eq!(told.in_scope, answer.in_scope);
    assert_eq!(
        told.reasons.is_empty(),
        told.found.is_some(),
        "always a reason: {told:?}"
    );
    told
}

fn codes(told: &WhyNotReport) -> Vec<&str> {
    told.reasons.iter().map(|reason| reason.code).collect()
}

fn limited(limit: usize, query: &str) -> SearchRequest {
    SearchRequest {
        limit,
        ..asked(query)
    }
}

/// So many drawers that hold the ship, each with another number.
fn ships(count: usize) -> Vec<NewDrawer> {
    let numbered = (0..count).map(|n| drawer(&format!("ship-{n:03}"), &format!("ship {n}")));
    numbered.collect()
}

#[test]
fn a_drawer_that_is_found_has_its_place_and_no_reason() {
    for world in World::both() {
        let filed = world.file(&machine(), vec![drawer("a", "ship at dawn"), drawer("b", "fox")]);
        let told = told(&filed, &machine(), "a", &asked("ship"));
        assert_eq!((told.found, told.rank), (Some(1), Some(1)));
        assert_eq!(told.words_held, ["ship"]);
        assert_eq!((told.nearest.unwrap().rank, told.lexical.unwrap().rank), (1, 1));
    }
}

#[test]
fn filtered() {
    for world in World::both() {
        let mut a = drawer("a", "ship at dawn");
        a.place.wing = Some("work".into());
        let filed = world.file(&machine(), vec![a, drawer("b", "ship")]);
        let mut request = asked("ship");
        request.scope.filter = Filter::text_equals("wing", "home").and(Filter::text_equals("room", "attic"));
        let told = told(&filed, &machine(), "a", &request);
        assert_eq!(codes(&told), ["filtered", "filtered"]);
        assert!(told.reasons[0].message.contains("home") && told.reasons[1].message.contains("attic"));
        assert!(told.reasons.iter().all(|reason| reason.hint.is_some()));
        assert_eq!(told.words_held, ["ship"], "what it holds is said all the same");
    }
}

#[test]
fn tool_output() {
    for world in World::both() {
        let mut printed = drawer("a", "ship at dawn");
        printed.place.kind = Some("tool_result".into());
        let filed = world.file(&machine(), vec![printed, drawer("b", "ship")]);
        let left_out = told(&filed, &machine(), "a", &asked("ship"));
        assert_eq!(codes(&left_out), ["tool_output"]);
        assert!(left_out.reasons[0].hint.as_deref().unwrap().contains("--tools"));
        let mut request = asked("ship");
        request.tools = true;
        assert!(told(&filed, &machine(), "a", &request).found.is_some());
    }
}

#[test]
fn folded() {
    for world in World::both() {
        let drawers = vec![
            drawer("a", "The ship leaves at dawn."),
            drawer("b", "the SHIP leaves, at dawn"),
        ];
        let filed = world.file(&machine(), drawers);
        let told = told(&filed, &machine(), "b", &asked("ship"));
        assert_eq!(codes(&told), ["folded"]);
        assert!(
            told.reasons[0].message.contains("nearly the same as that of a"),
            "{told:?}"
        );
    }
}

#[test]
fn outranked_and_the_hint_leads_to_it() {
    for world in World::both() {
        let filed = world.file(&machine(), ships(30));
        let away = told(&filed, &machine(), "ship-029", &limited(3, "ship 7"));
        let rank = away.rank.unwrap();
        assert_eq!(codes(&away)[0], "outranked", "{away:?}");
        assert_eq!(away.reasons[0].hint, Some(format!("search with -n {rank}")));
        assert_eq!(
            told(&filed, &machine(), "ship-029", &limited(rank, "ship 7")).found,
            Some(rank)
        );
    }
}

#[test]
fn no_words_and_lacks_words() {
    for world in World::both() {
        let mut drawers = ships(10);
        drawers.push(drawer("fox", "a fox sleeps here"));
        drawers.push(drawer("dawn", "dawn of the day"));
        let filed = world.file(&machine(), drawers);
        let request = limited(2, "ship dawn river");
        let none = told(&filed, &machine(), "fox", &request);
        assert!(codes(&none).contains(&"no_words"), "{none:?}");
        assert_eq!(none.words_missing, ["ship", "dawn", "river"]);
        let lacking = told(&filed, &machine(), "ship-009", &limited(1, "ship dawn river"));
        assert!(codes(&lacking).contains(&"lacks_words"), "{lacking:?}");
        let reason = lacking.reasons.iter().find(|reason| reason.code == "lacks_words");
        assert!(reason.unwrap().message.ends_with("dawn, river"));
    }
}

#[test]
fn no_vector() {
    for world in World::both() {
        world.file(&machine(), ships(3));
        let filed = world.file(&NOBODY, vec![drawer("fox", "a fox sleeps here")]);
        let told = told(&filed, &machine(), "fox", &asked("ship"));
        assert_eq!(codes(&told), ["no_vector", "no_words"]);
        assert!(
            told.reasons[0]
                .hint
                .as_deref()
                .unwrap()
                .contains("embedder switch")
        );
    }
}

#[test]
fn nearest_missing() {
    for world in World::both() {
        let filed = world.file(
            &NOBODY,
            vec![drawer("ship", "ship"), drawer("fox", "a fox sleeps here")],
        );
        assert_eq!(
            codes(&told(&filed, &machine(), "fox", &asked("ship"))),
            ["nearest_missing", "no_words"]
        );
        let filed = world.file(&NOBODY, ships(3));
        let away = told(&filed, &machine(), "ship-002", &limited(1, "ship 1"));
        assert_eq!(codes(&away), ["outranked", "nearest_missing", "lacks_words"]);
    }
}

#[test]
fn far() {
    for world in World::both() {
        let mut drawers = ships(300);
        drawers.push(drawer(
            "fox",
            "a fox sleeps here in the garden among stones and moss",
        ));
        let filed = world.file(&machine(), drawers);
        let told = told(&filed, &machine(), "fox", &asked("ship"));
        assert_eq!(codes(&told), ["far", "no_words"], "{told:?}");
        assert!(told.reasons[0].message.ends_with("of 301"));
        assert_eq!(told.rank, None);
        assert_eq!(told.nearest.unwrap().rank, 301);
    }
}

#[test]
fn a_drawer_that_is_not_there_is_an_error_with_a_hint() {
    for world in World::both() {
        let filed = world.file(&machine(), ships(3));
        let error = explain_absence(filed.as_ref(), &machine(), &id("nobody"), &asked("ship")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("nobody") && error.hint_text().is_some());
        let nothing = explain_absence(filed.as_ref(), &machine(), &id("ship-001"), &asked(" ")).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::Invalid);
    }
}

#[test]
fn a_drawer_away_from_the_hits_always_has_a_reason() {
    for world in World::both() {
        let mut drawers = ships(40);
        drawers
            .extend((0..40).map(|n| drawer(&format!("same-{n:03}"), "the ship leaves at dawn with bread")));
        let filed = world.file(&machine(), drawers.clone());
        for limit in [1, 3, 10] {
            for new in drawers.iter().step_by(7) {
                told(&filed, &machine(), new.id.as_str(), &limited(limit, "ship dawn"));
            }
        }
    }
}
