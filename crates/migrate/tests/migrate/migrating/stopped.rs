//! Interrupted migrations, and several at once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// Runs a migration that stops, as if its process was killed, once more than `after` drawers are copied.
fn stops(moving: &Moving<'_>, after: u64) {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        moving.watched(&mut |step| match step {
            MigrateStep::Copied(done, _) if done > after => std::panic::resume_unwind(Box::new("stopped")),
            _ => {}
        })
    }));
    assert!(ended.is_err(), "it was to be stopped");
}

#[test]
fn what_was_stopped_goes_on_where_it_was() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    made(from, "drawers", Some(model()))
        .apply_batch(&many(5000))
        .unwrap();
    remember(opened(from, "drawers").as_ref(), "book", "as it was");
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let moving = Moving::new(from, to);
    stops(&moving, 1500);
    assert_eq!(
        home.names(),
        [".new.migrating"],
        "no target appears before it is whole"
    );

    let (mut first, mut told) = (None, None);
    let report = moving
        .watched(&mut |step| match step {
            MigrateStep::Copied(done, _) => {
                first.get_or_insert(done);
            }
            MigrateStep::Staged { resumed, .. } => told = Some(resumed),
            _ => {}
        })
        .unwrap();
    assert!(report.resumed && told == Some(true), "{told:?}");
    assert_eq!(first, Some(4096), "the first two thousand are not copied again");
    assert!(report.lossless && report.rows == 5000, "{report:?}");
    assert_eq!(home.names(), ["new"]);
    assert_eq!(hash(to), hash(from));
    assert_eq!(report.record.collections[0].sources, 1);
}

#[test]
fn what_another_request_began_is_kept_aside_and_not_gone_on_with() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    let drawers = made(from, "drawers", Some(model()));
    drawers.apply_batch(&many(1500)).unwrap();
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let moving = Moving::new(from, to);
    stops(&moving, 500);
    drawers
        .apply_batch(&[Write::Add(NewDrawer::new(id("a-first"), "came later"))])
        .unwrap();
    let mut aside = None;
    let report = moving
        .watched(&mut |step| {
            if let MigrateStep::SetAside(path) = step {
                aside = Some(path.to_path_buf());
            }
        })
        .unwrap();
    assert!(!report.resumed && report.lossless, "{report:?}");
    assert_eq!(report.rows, 1501);
    let aside = aside.unwrap();
    assert!(aside.join("palace.db").is_file(), "what was built is not deleted");
    assert_eq!(hash(to), hash(from));
}

#[test]
fn a_target_that_remembers_nothing_is_filled_again_and_holds_nothing_twice() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    made(from, "drawers", Some(model()))
        .apply_batch(&many(2500))
        .unwrap();
    let home = Home::new();
    let others = Reference::FULL.into_iter();
    let goal = Reference::with_capabilities(others.filter(|one| *one != Capability::Sources));
    let place = home.local("new");
    let to = address(&goal, &place);
    let moving = Moving::new(from, to);
    stops(&moving, 1500);
    assert_eq!(home.names(), [".new.migrating"]);
    let report = moving.go().unwrap();
    assert!(
        report.resumed && report.lossless && report.rows == 2500,
        "{report:?}"
    );
    assert_eq!(home.names(), ["new"]);
    assert_eq!(hash(to), hash(from));
}

#[test]
fn a_direct_target_goes_on_where_it_was() {
    let (backend, goal) = (reference(), reference());
    let (here, there) = (palace(), PalaceRef::from_id("there"));
    let (from, to) = (address(&backend, &here), address(&goal, &there));
    made(from, "drawers", Some(model()))
        .apply_batch(&many(2500))
        .unwrap();
    let moving = Moving::new(from, to);
    stops(&moving, 500);
    let report = moving.go().unwrap();
    assert!(report.resumed && report.lossless, "{report:?}");
    assert_eq!(hash(to), hash(from));
}

#[test]
fn the_second_of_two_to_one_target_is_refused() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    made(from, "drawers", Some(model()))
        .apply_batch(&many(1500))
        .unwrap();
    let home = Home::new();
    let place = home.local("new");
    let moving = Moving::new(from, address(&home.embedded, &place));
    let mut refused = Vec::new();
    let report = moving
        .watched(&mut |step| {
            if matches!(step, MigrateStep::Copied(..)) {
                refused.push(moving.go().unwrap_err().kind());
            }
        })
        .unwrap();
    assert!(report.lossless && !refused.is_empty(), "{report:?}");
    assert!(
        refused.iter().all(|kind| *kind == ErrorKind::Locked),
        "{refused:?}"
    );
    assert_eq!(home.names(), ["new"]);
}

#[test]
fn a_source_that_changes_while_it_is_read_is_said() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    let drawers = made(from, "drawers", Some(model()));
    drawers.apply_batch(&many(2500)).unwrap();
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(from, to)
        .watched(&mut |step| {
            if matches!(step, MigrateStep::Copied(2048, _)) {
                let late = ["a", "z"].map(|called| Write::Add(NewDrawer::new(id(called), "late")));
                drawers.apply_batch(&late).unwrap();
            }
        })
        .unwrap();
    assert!(!report.ok && !report.lossless, "{report:?}");
    let warned = report
        .findings
        .iter()
        .find(|one| one.code == "changed_meanwhile")
        .unwrap();
    assert!(warned.hint.as_ref().unwrap().contains("again"), "{warned:?}");
    assert!(report.rows >= 2500);
}
