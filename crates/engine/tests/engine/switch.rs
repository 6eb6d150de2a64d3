//! A change of model, step by step, with others at work.

use loci_core::{
    Backend, Collection, CollectionExt as _, CreateMode, IdentityState, OpenOptions, QueryRequest,
    SpaceState, SwitchStep,
};
use loci_engine::switch::{SwitchOutcome, SwitchProgress};
use loci_engine::{measure_agreement, switch_model};
use std::sync::Arc;

use crate::embedders::{Bag, Machine};
use crate::{Shared, name, open_palace, palace, reference};

/// A collection of `count` drawers embedded by "old".
fn filled(backend: &impl Shared, count: usize) -> (Machine, Arc<dyn Collection>) {
    let machine = Machine(vec![Bag::new("old", 8), Bag::new("new", 16)]);
    for n in 0..count {
        file(backend, &machine, n);
    }
    let opened = backend.open(&palace(), &name("drawers"), &OpenOptions::for_writing());
    (machine, opened.unwrap())
}

fn file(backend: &impl Shared, machine: &Machine, n: usize) {
    let new = loci_core::NewDrawer::new(crate::id(&format!("d{n:03}")), format!("words of number {n}"));
    let filing = open_palace(backend, machine).open_filing(None).unwrap();
    filing.apply(vec![loci_core::Write::Add(new)]).unwrap();
}

fn reached(collection: &dyn Collection, bag: &Bag) -> usize {
    let request = QueryRequest::nearest_to(bag.of("words"), 1_000);
    collection.query(&request).unwrap()[0].len()
}

#[test]
fn the_old_model_answers_until_the_new_one_reaches_everything() {
    let backend = reference();
    let (machine, collection) = filled(&backend, 40);
    let (old, new) = (&machine.0[0], &machine.0[1]);
    let mut seen: Vec<SwitchProgress> = Vec::new();
    let mut watch = |at: SwitchProgress| {
        assert_eq!(
            reached(collection.as_ref(), old),
            seen.len() + 40,
            "after {} steps",
            seen.len()
        );
        // Somebody goes on filing.
        file(&backend, &machine, 100 + seen.len());
        seen.push(at);
        seen.len() < 1_000
    };
    // Without end to the filing, each pass leaves one more to do; the last is filed in the last step.
    let mut steps = 0;
    let mut bounded = |at: SwitchProgress| {
        steps += 1;
        if steps <= 5 { watch(at) } else { true }
    };
    let report = switch_model(collection.as_ref(), new, &mut bounded).unwrap();
    assert_eq!(report.ended, SwitchOutcome::Switched);
    assert_eq!(report.filled, 45);
    assert_eq!(reached(collection.as_ref(), new), 45);
    assert_eq!(
        collection.info().unwrap().identity,
        IdentityState::Known(new.0.clone())
    );
    assert_eq!(
        report.spaces.iter().map(|space| space.state).collect::<Vec<_>>(),
        [SpaceState::Active, SpaceState::Retired]
    );
    // Drawers filed afterwards are embedded by the new model.
    file(&backend, &machine, 500);
    assert_eq!(reached(collection.as_ref(), new), 46);
}

#[test]
fn a_pause_is_heard_and_a_second_run_goes_on_from_there() {
    let backend = reference();
    let (machine, collection) = filled(&backend, 40);
    let (old, new) = (&machine.0[0], &machine.0[1]);
    let mut pause = |at: SwitchProgress| {
        if at.done >= 4 {
            collection
                .require_spaces()
                .unwrap()
                .take_step(&SwitchStep::Pause)
                .unwrap();
        }
        true
    };
    let paused = switch_model(collection.as_ref(), new, &mut pause).unwrap();
    assert_eq!((paused.ended, paused.filled), (SwitchOutcome::Paused, 4));
    assert_eq!(reached(collection.as_ref(), old), 40);
    let stopped = switch_model(collection.as_ref(), new, &mut |at| at.done < 16).unwrap();
    assert_eq!(stopped.ended, SwitchOutcome::Stopped);
    let ended = switch_model(collection.as_ref(), new, &mut |_| true).unwrap();
    assert_eq!(ended.ended, SwitchOutcome::Switched);
    assert_eq!(
        paused.filled + stopped.filled + ended.filled,
        40,
        "nothing is embedded twice"
    );
}

#[test]
fn the_model_that_answers_fills_what_it_lacks() {
    let backend = reference();
    let (machine, collection) = filled(&backend, 3);
    file(&backend, &Machine::default(), 7);
    let old = &machine.0[0];
    assert_eq!(reached(collection.as_ref(), old), 3);
    let report = switch_model(collection.as_ref(), old, &mut |_| true).unwrap();
    assert_eq!((report.ended, report.filled), (SwitchOutcome::WasActive, 1));
    assert_eq!(reached(collection.as_ref(), old), 4);
}

#[test]
fn agreement_tells_the_model_that_made_the_vectors_from_others() {
    let backend = reference();
    let (machine, collection) = filled(&backend, 20);
    let own = measure_agreement(collection.as_ref(), &machine.0[0])
        .unwrap()
        .unwrap();
    assert!(own > 0.999, "{own}");
    let other = measure_agreement(collection.as_ref(), &Bag::new("other", 8))
        .unwrap()
        .unwrap();
    assert!(other < 0.9, "{other}");
    let empty = backend
        .create(
            &palace(),
            &name("empty"),
            CreateMode::OpenExisting,
            &OpenOptions::default(),
        )
        .unwrap();
    assert_eq!(measure_agreement(empty.as_ref(), &machine.0[0]).unwrap(), None);
}

#[test]
fn an_import_goes_on_when_somebody_switches_the_model_in_its_middle() {
    let backend = reference();
    let (machine, collection) = filled(&backend, 3);
    let palace = open_palace(&backend, &machine);
    let mut importer = palace.import(crate::request(loci_engine::OnConflict::Keep));
    for n in 0..20 {
        if n == 10 {
            switch_model(collection.as_ref(), &machine.0[1], &mut |_| true).unwrap();
        }
        let line = format!("{{\"id\":\"i{n}\",\"text\":\"words of line {n}\"}}");
        importer.push(n + 1, line.as_bytes()).unwrap();
    }
    while importer.finish().unwrap().is_some() {}
    assert_eq!(
        (importer.report().added, importer.report().without_vector),
        (20, 0)
    );
    assert_eq!(reached(collection.as_ref(), &machine.0[1]), 23);
}
