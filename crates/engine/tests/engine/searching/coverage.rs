//! A leg that does not reach everything says so, and the other still finds.

use std::sync::Arc;

use loci_conformance::Reference;
use loci_core::{
    Backend, Capability, Collection, CollectionExt as _, CreateMode, ErrorKind, NewDrawer, OpenOptions, Write,
};
use loci_engine::search::{LegStatus, SearchAnswer};

use super::{World, asked, drawer, find, machine, names};
use crate::embedders::Machine;
use crate::{NOBODY, name, palace};

const SHIP: &str = "the ship leaves at dawn";
const FOX: &str = "a fox sleeps in the garden";

/// A leg that did not reach everything has a reason, and a warning says so.
#[track_caller]
fn nothing_is_silent(answer: &SearchAnswer) {
    for (name, leg) in [
        ("nearest", &answer.legs.nearest),
        ("lexical", &answer.legs.lexical),
    ] {
        let LegStatus {
            ran,
            coverage,
            reason,
            ..
        } = leg;
        assert!((0.0..=1.0).contains(coverage), "{answer:?}");
        let told = answer.warnings.iter().filter(|told| told.code.starts_with(name));
        let whole = *ran && *coverage == 1.0;
        assert_eq!(reason.is_none(), whole, "{answer:?}");
        assert_eq!(told.count(), usize::from(!whole), "{answer:?}");
        assert!(*ran || *coverage == 0.0, "{answer:?}");
    }
}

fn warned(answer: &SearchAnswer) -> Vec<&str> {
    answer.warnings.iter().map(|told| told.code.as_str()).collect()
}

/// Searches for the ship, and sees it found.
fn the_ship(collection: &Arc<dyn Collection>, machine: &Machine) -> SearchAnswer {
    let answer = find(collection, machine, &asked("ship"));
    nothing_is_silent(&answer);
    assert_eq!(names(&answer.hits)[0], "ship", "{answer:?}");
    assert!(answer.hits[0].why.lexical.is_some(), "{answer:?}");
    answer
}

#[test]
fn a_palace_with_every_vector_is_searched_whole_without_a_word() {
    for world in World::both() {
        let filed = world.file(&machine(), vec![drawer("ship", SHIP), drawer("fox", FOX)]);
        let answer = the_ship(&filed, &machine());
        assert_eq!(
            (answer.legs.nearest.coverage, answer.legs.lexical.coverage),
            (1.0, 1.0)
        );
        assert!(answer.warnings.is_empty(), "{answer:?}");
    }
}

#[test]
fn drawers_filed_without_their_model_are_found_by_words_and_counted_as_unreached() {
    for world in World::both() {
        world.file(&machine(), vec![drawer("fox", FOX)]);
        let filed = world.file(&NOBODY, vec![drawer("ship", SHIP)]);
        let answer = the_ship(&filed, &machine());
        assert_eq!(answer.legs.nearest.coverage, 0.5);
        assert_eq!(
            answer.legs.nearest.reason.as_deref(),
            Some("1 of 2 drawers in scope have no vector yet")
        );
        assert_eq!(warned(&answer), ["nearest_incomplete"]);
        assert!(answer.hits[0].why.nearest.is_none());
    }
}

#[test]
fn what_lacks_a_vector_is_counted_in_scope_only_however_large_the_scope() {
    for world in World::both() {
        let wing = |n: usize| if n.is_multiple_of(2) { "even" } else { "odd" };
        let numbered = |n: usize| {
            let mut new = drawer(&format!("d{n:03}"), &format!("ship number {n}"));
            new.place.wing = Some(wing(n).to_owned());
            new
        };
        world.file(&machine(), (0..500).map(numbered).collect());
        // Two more even ones without a vector, and one odd one.
        let filed = world.file(&NOBODY, [500, 502, 503].map(numbered).into());
        for (of, missing, scope) in [("even", 2, 252_u64), ("odd", 1, 251)] {
            let mut request = asked("ship");
            request.scope.filter = loci_core::Filter::text_equals("wing", of);
            let answer = find(&filed, &machine(), &request);
            nothing_is_silent(&answer);
            assert_eq!(answer.in_scope, scope);
            let reason = format!("{missing} of {scope} drawers in scope have no vector yet");
            assert_eq!(answer.legs.nearest.reason, Some(reason));
            let share = (scope - missing) as f64 / scope as f64;
            assert_eq!(answer.legs.nearest.coverage, share);
        }
        let mut request = asked("ship");
        request.scope.filter = loci_core::Filter::text_equals("wing", "none");
        let nothing = find(&filed, &machine(), &request);
        nothing_is_silent(&nothing);
        assert!(
            nothing.hits.is_empty() && nothing.warnings.is_empty(),
            "{nothing:?}"
        );
    }
}

#[test]
fn a_collection_without_a_model_is_searched_by_words_and_says_so() {
    for world in World::both() {
        let filed = world.file(&NOBODY, vec![drawer("ship", SHIP), drawer("fox", FOX)]);
        let answer = the_ship(&filed, &machine());
        assert!(!answer.legs.nearest.ran);
        assert_eq!(names(&answer.hits), ["ship"]);
        assert!(
            answer
                .legs
                .nearest
                .reason
                .as_deref()
                .unwrap()
                .contains("no model")
        );
        assert_eq!(warned(&answer), ["nearest_missing"]);
        assert!(
            answer.warnings[0]
                .hint
                .as_deref()
                .unwrap()
                .contains("embedder switch")
        );
        assert_eq!(
            (answer.plan.weights.nearest, answer.plan.weights.lexical),
            (0.0, 1.0)
        );
    }
}

#[test]
fn a_model_that_is_not_installed_leaves_words_and_is_named() {
    for world in World::both() {
        let filed = world.file(&machine(), vec![drawer("ship", SHIP), drawer("fox", FOX)]);
        let answer = the_ship(&filed, &NOBODY);
        assert!(!answer.legs.nearest.ran && answer.legs.lexical.ran);
        assert_eq!(
            answer.legs.nearest.reason.as_deref(),
            Some("bags is not installed")
        );
        assert_eq!(warned(&answer), ["nearest_missing"]);
    }
}

#[test]
fn vectors_of_nobody_knows_whom_are_left_alone_and_words_still_find() {
    for world in World::both() {
        let opened = world.backend.create(
            &world.palace,
            &name("drawers"),
            CreateMode::OpenExisting,
            &OpenOptions::default(),
        );
        let opened = opened.unwrap();
        let brought = NewDrawer {
            embedding: Some(vec![1.0; 24]),
            ..drawer("ship", SHIP)
        };
        opened.apply_batch(&[Write::Add(brought)]).unwrap();
        let answer = the_ship(&opened, &machine());
        assert!(!answer.legs.nearest.ran);
        assert!(
            answer
                .legs
                .nearest
                .reason
                .as_deref()
                .unwrap()
                .contains("is not recorded")
        );
        assert!(warned(&answer).contains(&"nearest_missing"), "{answer:?}");
    }
}

#[test]
fn a_backend_without_keywords_is_searched_by_meaning_and_says_so() {
    let without = Reference::FULL
        .into_iter()
        .filter(|one| !matches!(one, Capability::Lexical | Capability::Local));
    let world = World {
        backend: Arc::new(Reference::with_capabilities(without)) as Arc<dyn Backend>,
        palace: palace(),
        _folder: None,
    };
    let filed = world.file(&machine(), vec![drawer("ship", SHIP), drawer("fox", FOX)]);
    let answer = find(&filed, &machine(), &asked("ship"));
    nothing_is_silent(&answer);
    assert_eq!(names(&answer.hits)[0], "ship");
    assert!(!answer.legs.lexical.ran && answer.legs.nearest.ran);
    assert_eq!(warned(&answer), ["lexical_missing"]);
    // If nothing can be searched, nothing is claimed, and the error is the one of the word search.
    let neither = loci_engine::search_collection(filed.as_ref(), &NOBODY, &asked("ship")).unwrap_err();
    assert_eq!(neither.kind(), ErrorKind::Unsupported, "{neither:?}");
}
