//! Visiting: every drawer once, of one moment, and going around what cannot be read.

use loci_core::{Backend, Error, Result};
use loci_engine::ExportReport;
use loci_engine::view::DrawerScope;
use loci_engine::visit::VisitStep;

use super::damaged::{Damaged, Harm};
use super::*;

fn palace_on(backend: impl Backend + 'static) -> Palace {
    let address = PalaceAddress {
        backend: Arc::new(backend),
        reference: palace(),
    };
    Palace::new(address, Arc::new(NOBODY.clone()), || {
        "2026-05-01T09:30:00Z".parse().unwrap()
    })
}

/// Visits everything and calls `meanwhile` before the first drawer.
fn visit(palace: &Palace, meanwhile: impl Fn()) -> (Option<u64>, Vec<String>, ExportReport) {
    let (mut total, mut ids) = (None, Vec::new());
    let report = palace.visit_drawers(&DrawerScope::default(), &mut |step| {
        match step {
            VisitStep::Begin(count) => {
                total = count;
                meanwhile();
            }
            VisitStep::Drawer(drawer) => ids.push(drawer.id.to_string()),
        }
        Ok::<(), Error>(())
    });
    (total, ids, report.unwrap())
}

#[test]
fn a_visit_sees_one_moment_whatever_is_written_meanwhile() {
    let backend = reference();
    filled(&backend, 1500);
    let palace = open_palace(&backend, &NOBODY);
    let collection = backend.reopened();
    let collection = collection
        .open(&super::palace(), &name("drawers"), &OpenOptions::for_writing())
        .unwrap();
    let (total, ids, report) = visit(&palace, || {
        for gone in ["d000", "d1400"] {
            collection.delete_drawer(id(gone)).unwrap();
        }
    });
    assert_eq!((total, ids.len(), report.drawers), (Some(1500), 1500, 1500));
    assert!(ids.is_sorted() && report.damaged.is_empty(), "{report:?}");
    let (total, ids, _) = visit(&palace, || {});
    assert_eq!((total, ids.len()), (Some(1498), 1498));
}

#[test]
fn damage_ends_the_moment_and_not_the_visit() {
    for has_moments in [true, false] {
        let backend = reference();
        filled(&backend, 200);
        let harms = [
            ("d010", Harm::Shown),
            ("d077", Harm::Text),
            ("d120", Harm::Whole),
            ("d199", Harm::Whole),
        ];
        let damaged = Damaged {
            has_moments,
            ..Damaged::new(backend, harms)
        };
        let (_, ids, report) = visit(&palace_on(damaged), || {});
        assert_eq!((ids.len(), report.drawers), (197, 197), "{report:?}");
        assert!(ids.is_sorted_by(|a, b| a < b), "none comes twice: {ids:?}");
        let told: Vec<(Option<&str>, bool)> = report
            .damaged
            .iter()
            .map(|one| (one.id.as_ref().map(DrawerId::as_str), one.written))
            .collect();
        for expected in [(Some("d010"), true), (Some("d077"), false), (None, false)] {
            assert!(told.contains(&expected), "{told:?}");
        }
    }
}

#[test]
fn a_drawer_that_no_page_lists_is_missed_and_told() {
    for has_moments in [true, false] {
        let backend = reference();
        filled(&backend, 20);
        let damaged = Damaged {
            has_moments,
            ..Damaged::new(backend, [("d007", Harm::Unlisted)])
        };
        let (total, ids, report) = visit(&palace_on(damaged), || {});
        assert_eq!(
            (total, ids.len(), report.damaged.len()),
            (Some(20), 19, 1),
            "{report:?}"
        );
    }
}

#[test]
fn the_sink_ends_a_visit_with_its_own_error() {
    let backend = reference();
    filled(&backend, 20);
    let mut seen = 0;
    let stopped: Result<ExportReport> =
        open_palace(&backend, &NOBODY).visit_drawers(&DrawerScope::default(), &mut |step| {
            if let VisitStep::Drawer(_) = step {
                seen += 1;
            }
            if seen == 3 {
                Err(Error::invalid("enough"))
            } else {
                Ok(())
            }
        });
    assert_eq!((stopped.unwrap_err().message(), seen), ("enough", 3));
}
