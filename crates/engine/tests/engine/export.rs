//! Exporting: order, and going around what cannot be read.

use loci_core::{Backend, DrawerFields, Error, OpenOptions, Result};
use loci_engine::{CollectionWalk, ExportReport, export_drawers};

use super::damaged::{Damaged, Harm};
use super::*;

fn export_of(backend: &dyn Backend) -> (Vec<String>, ExportReport) {
    let opened = backend
        .open(&palace(), &name("drawers"), &OpenOptions::default())
        .unwrap();
    let mut ids = Vec::new();
    let report = export_drawers(opened.as_ref(), &name("drawers"), false, &mut |line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        ids.push(line["id"].as_str().unwrap().to_owned());
        Ok::<(), Error>(())
    });
    (ids, report.unwrap())
}

#[test]
fn every_drawer_is_exported_once_in_the_order_of_ids() {
    let backend = reference();
    filled(&backend, 300);
    let (ids, report) = export_of(&backend);
    assert_eq!(report.drawers, 300);
    assert!(ids.is_sorted());
    assert_eq!(ids.len(), 300);
}

#[test]
fn damage_does_not_stop_an_export_and_is_reported() {
    let backend = reference();
    filled(&backend, 200);
    let harms = [
        ("d000", Harm::Whole),
        ("d010", Harm::Shown),
        ("d077", Harm::Text),
        ("d078", Harm::Text),
        ("d120", Harm::Whole),
        ("d121", Harm::Whole),
        ("d199", Harm::Whole),
    ];
    let (ids, report) = export_of(&Damaged::new(backend, harms));
    assert_eq!(ids.len(), 200 - 6, "{report:?}");
    assert!(ids.is_sorted());
    assert!(ids.contains(&"d010".to_owned()) && ids.contains(&"d122".to_owned()));
    let told: Vec<(Option<&str>, bool)> = report
        .damaged
        .iter()
        .map(|one| (one.id.as_ref().map(|id| id.as_str()), one.written))
        .collect();
    assert_eq!(
        told,
        [
            (Some("d010"), true),
            (None, false),
            (Some("d077"), false),
            (Some("d078"), false),
            (None, false),
            (None, false),
        ],
        "{report:?}"
    );
    assert!(
        report.damaged[4]
            .message
            .starts_with("2 drawer(s) after \"d119\""),
        "{report:?}"
    );
}

#[test]
fn a_torn_index_costs_only_what_it_holds() {
    for torn in [0..1, 0..120, 100..180, 230..400, 0..400] {
        let backend = reference();
        filled(&backend, 400);
        let lost: Vec<&'static str> = torn.clone().map(|n| &*format!("d{n:03}").leak()).collect();
        let harms = lost.iter().map(|id| (*id, Harm::Index));
        let (ids, report) = export_of(&Damaged::new(backend, harms));
        let expect = (0..400).filter(|n| !torn.contains(n));
        let expect: Vec<String> = expect.map(|n| format!("d{n:03}")).collect();
        assert_eq!(ids, expect, "{torn:?}: {report:?}");
        assert_eq!(report.damaged.len(), 1, "{torn:?}: {report:?}");
    }
}

#[test]
fn any_other_error_stops_a_walk() {
    let backend = reference();
    filled(&backend, 3);
    let opened = backend
        .open(&palace(), &name("drawers"), &OpenOptions::default())
        .unwrap();
    let mut walk = CollectionWalk::new(opened.as_ref(), DrawerFields::EVERYTHING);
    backend.close();
    assert!(walk.next().unwrap().is_err());
    assert!(walk.next().is_none());
}

#[test]
fn an_error_of_the_sink_stops_an_export() {
    let backend = reference();
    filled(&backend, 3);
    let opened = backend
        .open(&palace(), &name("drawers"), &OpenOptions::default())
        .unwrap();
    let mut lines = 0;
    let ended: Result<ExportReport> = export_drawers(opened.as_ref(), &name("drawers"), false, &mut |_| {
        lines += 1;
        Err(Error::invalid("enough"))
    });
    assert!(ended.is_err());
    assert_eq!(lines, 1);
}
