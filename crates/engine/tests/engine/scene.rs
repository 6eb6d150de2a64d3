//! A backend of the tests, palaces in it, and drawers to fill them with.

pub(crate) use std::sync::Arc;

pub(crate) use crate::embedders::Machine;
pub(crate) use loci_conformance::Reference;
pub(crate) use loci_core::{
    Backend, Capability, CollectionExt as _, CollectionName, CreateMode, DrawerId, FilingDoor, NewDrawer,
    OpenOptions, OriginKind, PalaceRef, Provenance, Write,
};

pub(crate) use loci_engine::palace::BorrowedAddress;
pub(crate) use loci_engine::{
    ImportReport, ImportRequest, OnBadLine, OnConflict, OnProvenance, Palace, PalaceAddress,
};
pub(crate) use loci_store::EmbeddedBackend;

/// A machine without embedders.
pub(crate) static NOBODY: Machine = Machine(Vec::new());

pub(crate) fn reference() -> Reference {
    Reference::with_capabilities(
        Reference::FULL
            .into_iter()
            .filter(|one| *one != Capability::Local),
    )
}

/// A backend of which there can be a second instance with the same palaces.
pub(crate) trait Shared: Backend + Sized {
    fn shared(&self) -> Arc<dyn Backend>;
}

impl Shared for Reference {
    fn shared(&self) -> Arc<dyn Backend> {
        Arc::new(self.reopened())
    }
}

impl Shared for EmbeddedBackend {
    fn shared(&self) -> Arc<dyn Backend> {
        Arc::new(Self::new())
    }
}

pub(crate) fn address<'a>(backend: &'a dyn Backend, reference: &'a PalaceRef) -> BorrowedAddress<'a> {
    BorrowedAddress { backend, reference }
}

/// The palace of the tests, as a caller of this machine has it.
pub(crate) fn open_palace(backend: &impl Shared, machine: &Machine) -> Palace {
    palace_at(backend, palace(), machine)
}

pub(crate) fn palace_at(backend: &impl Shared, reference: PalaceRef, machine: &Machine) -> Palace {
    let address = PalaceAddress {
        backend: backend.shared(),
        reference,
    };
    Palace::new(address, Arc::new(machine.clone()), || {
        "2026-05-01T09:30:00Z".parse().unwrap()
    })
}

pub(crate) fn palace() -> PalaceRef {
    PalaceRef::from_id("palace")
}

pub(crate) fn name(name: &str) -> CollectionName {
    CollectionName::new(name).unwrap()
}

pub(crate) fn id(id: &str) -> DrawerId {
    DrawerId::new(id).unwrap()
}

/// Fills `drawers` with `count` drawers with vectors, called d000, d001 and so on.
pub(crate) fn filled(backend: &impl Shared, count: usize) {
    let lines: Vec<String> = (0..count)
        .map(|n| {
            format!(
                r#"{{"id":"d{n:03}","text":"text {n}","wing":"w{}","room":"r","embedding":[1.0,{n}.5]}}"#,
                n % 2
            )
        })
        .collect();
    let report = import(backend, OnConflict::Keep, &lines.join("\n"));
    assert_eq!(report.added, count as u64);
}

pub(crate) fn request(on_conflict: OnConflict) -> ImportRequest {
    ImportRequest {
        on_conflict,
        on_bad_line: OnBadLine::List,
        batch: 7,
        into: None,
        provenance: Provenance::new(FilingDoor::Import, OriginKind::Export),
        on_provenance: OnProvenance::Keep,
    }
}

pub(crate) fn import(backend: &impl Shared, on_conflict: OnConflict, text: &str) -> ImportReport {
    import_as(backend, request(on_conflict), text)
}

pub(crate) fn import_as(backend: &impl Shared, request: ImportRequest, text: &str) -> ImportReport {
    import_lines(&open_palace(backend, &NOBODY), request, text).unwrap()
}

pub(crate) fn import_lines(
    palace: &Palace,
    request: ImportRequest,
    text: &str,
) -> loci_core::Result<ImportReport> {
    let mut importer = palace.import(request);
    for (at, line) in text.lines().enumerate() {
        importer.push(at as u64 + 1, line.as_bytes())?;
    }
    while importer.finish()?.is_some() {}
    Ok(importer.report().clone())
}

pub(crate) fn exported(backend: &dyn Backend, collection: &str) -> String {
    let name = name(collection);
    let opened = backend.open(&palace(), &name, &OpenOptions::default()).unwrap();
    let mut text = String::new();
    let report = loci_engine::export_drawers(opened.as_ref(), &name, true, &mut |line| {
        text.push_str(line);
        text.push('\n');
        Ok::<(), loci_core::Error>(())
    })
    .unwrap();
    assert!(report.damaged.is_empty());
    assert_eq!(report.drawers, text.lines().count() as u64);
    text
}

pub(crate) fn put(backend: &dyn Backend, drawer: NewDrawer) {
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
