//! The operations, seen through the in-memory reference backend.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "this whole crate is a test: a panic is a red line"
)]

mod damaged;
mod embedders;
mod export;
mod filing;
mod import;
mod migrating;
mod mining;
mod neighbours;
mod searching;
mod status;
mod switch;
mod timeline;
mod verify;

use embedders::Machine;
use loci_conformance::Reference;
use loci_core::{
    Backend, Capability, CollectionExt as _, CollectionName, CreateMode, DrawerId, FilingDoor, NewDrawer,
    OpenOptions, OriginKind, PalaceRef, Provenance, Write,
};

use loci_engine::{ImportReport, ImportRequest, Importer, OnBadLine, OnConflict};

/// A machine without embedders.
static NOBODY: Machine = Machine(Vec::new());

fn reference() -> Reference {
    Reference::with(
        Reference::FULL
            .into_iter()
            .filter(|one| *one != Capability::Local),
    )
}

fn palace() -> PalaceRef {
    PalaceRef::named("palace")
}

fn name(name: &str) -> CollectionName {
    CollectionName::new(name).unwrap()
}

fn id(id: &str) -> DrawerId {
    DrawerId::new(id).unwrap()
}

/// Fills `drawers` with `count` drawers with vectors, called d000, d001 and so on.
fn filled(backend: &dyn Backend, count: usize) {
    let lines: Vec<String> = (0..count)
        .map(|n| {
            format!(
                r#"{{"id":"d{n:03}","document":"text {n}","wing":"w{}","room":"r","embedding":[1.0,{n}.5]}}"#,
                n % 2
            )
        })
        .collect();
    let report = import(backend, OnConflict::Keep, &lines.join("\n"));
    assert_eq!(report.added, count as u64);
}

fn request(on_conflict: OnConflict) -> ImportRequest {
    ImportRequest {
        on_conflict,
        on_bad_line: OnBadLine::List,
        batch: 7,
        into: None,
        otherwise: name("drawers"),
        provenance: Provenance::new(FilingDoor::Import, OriginKind::Export),
    }
}

fn import(backend: &dyn Backend, on_conflict: OnConflict, text: &str) -> ImportReport {
    import_as(backend, request(on_conflict), text)
}

fn import_as(backend: &dyn Backend, request: ImportRequest, text: &str) -> ImportReport {
    let palace = palace();
    let mut importer = Importer::new(backend, &palace, &NOBODY, request);
    for (at, line) in text.lines().enumerate() {
        importer.push(at as u64 + 1, line.as_bytes()).unwrap();
    }
    while importer.finish().unwrap().is_some() {}
    importer.report().clone()
}

fn exported(backend: &dyn Backend, collection: &str) -> String {
    let name = name(collection);
    let opened = backend.open(&palace(), &name, &OpenOptions::default()).unwrap();
    let mut text = String::new();
    let report = loci_engine::export(opened.as_ref(), &name, true, &mut |line| {
        text.push_str(line);
        text.push('\n');
        Ok::<(), loci_core::Error>(())
    })
    .unwrap();
    assert!(report.damaged.is_empty());
    assert_eq!(report.drawers, text.lines().count() as u64);
    text
}

fn put(backend: &dyn Backend, drawer: NewDrawer) {
    let opened = backend
        .create(
            &palace(),
            &name("drawers"),
            CreateMode::OpenExisting,
            &OpenOptions::default(),
        )
        .unwrap();
    opened.apply_batch(&[Write::Upsert(drawer)]).unwrap();
}
