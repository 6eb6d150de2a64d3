//! Migrating palaces: everything arrives unchanged, or is refused or named.

mod foreign;
mod laws;
mod refused;
mod stopped;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_conformance::TempFolder;
use loci_core::{
    Collection, CollectionExt as _, CreateMode, Drawer, DrawerContext, DrawerFields, DrawerPlace, Embedder,
    EmbedderIdentity, ErrorKind, GetRequest, IdentityChange, IdentityState, Metadata, MetadataScalar,
    MetadataValue, Metric, Result, SourceRecord, SourceRecordQuery, SourceRevision, SourceSpan,
};
use loci_engine::migration_records::{MIGRATION_RECORD, list_migrations};
use loci_engine::palace::BorrowedAddress;
use loci_migrate::migrate::record::MigrateFlags;
use loci_migrate::migrate::{MigrateReport, MigrateRequest, MigrateStep, migrate};
use loci_migrate::{VerifyRequest, compare_palaces, verify_collections};
use loci_store::EmbeddedBackend;

use super::embedders::Bag;
use super::*;

/// A folder with an embedded palace to be made in it.
struct Home {
    folder: TempFolder,
    embedded: EmbeddedBackend,
}

impl Home {
    fn new() -> Self {
        Self {
            folder: TempFolder::new().unwrap(),
            embedded: EmbeddedBackend::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn local(&self, name: &str) -> PalaceRef {
        PalaceRef::local(self.path(name))
    }

    /// Lists the names in the folder.
    fn names(&self) -> Vec<String> {
        names_in(self.folder.path())
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A migration in a test.
struct Moving<'a> {
    from: BorrowedAddress<'a>,
    to: BorrowedAddress<'a>,
    flags: MigrateFlags,
    embedder: Option<Bag>,
    machine: &'a Machine,
}

impl<'a> Moving<'a> {
    fn new(from: BorrowedAddress<'a>, to: BorrowedAddress<'a>) -> Self {
        Self {
            from,
            to,
            flags: MigrateFlags::default(),
            embedder: None,
            machine: &NOBODY,
        }
    }

    fn go(&self) -> Result<MigrateReport> {
        self.watched(&mut |_| {})
    }

    fn watched(&self, watch: &mut dyn FnMut(MigrateStep<'_>)) -> Result<MigrateReport> {
        let request = MigrateRequest {
            from: self.from,
            to: self.to,
            flags: self.flags,
            embedder: self
                .embedder
                .clone()
                .map(|bag| Arc::new(bag) as Arc<dyn Embedder>),
            embedders: self.machine,
            now: "2026-05-01T09:30:00Z".parse().unwrap(),
        };
        migrate(&request, watch)
    }
}

fn opened(
    BorrowedAddress {
        backend,
        reference: palace,
    }: BorrowedAddress<'_>,
    collection: &str,
) -> Arc<dyn Collection> {
    backend
        .open(palace, &name(collection), &OpenOptions::for_writing())
        .unwrap()
}

fn everything(side: BorrowedAddress<'_>, collection: &str) -> Vec<Drawer> {
    let request = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    opened(side, collection).get(&request).unwrap()
}

fn hash(
    BorrowedAddress {
        backend,
        reference: palace,
    }: BorrowedAddress<'_>,
) -> String {
    let report = verify_collections(
        address(backend, palace),
        None,
        VerifyRequest { sample: 20 },
        &mut |_, _| {},
    )
    .unwrap();
    assert!(
        report.ok || report.findings.iter().all(|one| one.code.contains("unknown")),
        "{report:?}"
    );
    report.hash
}

fn model() -> EmbedderIdentity {
    Bag::new("model", 4).0
}

/// Makes a collection declared to be of `model`, or of no known model.
fn made(
    side: BorrowedAddress<'_>,
    collection: &str,
    embedder: Option<EmbedderIdentity>,
) -> Arc<dyn Collection> {
    let how = OpenOptions {
        embedder,
        ..OpenOptions::for_writing()
    };
    side.backend
        .create(side.reference, &name(collection), CreateMode::OpenExisting, &how)
        .unwrap()
}

fn many(count: usize) -> Vec<Write> {
    let drawer = |n: usize| NewDrawer {
        embedding: Some(vec![1.0, n as f32, 0.5, -0.0]),
        ..NewDrawer::new(id(&format!("d{n:05}")), format!("text {n}"))
    };
    (0..count).map(|n| Write::Add(drawer(n))).collect()
}

/// Drawers with everything a drawer can have.
fn nasty() -> Vec<Write> {
    let metadata = Metadata::new()
        .with_entry("int", 1_i64)
        .with_entry("float", 1.0)
        .with_entry("yes", true)
        .with_entry("min", i64::MIN)
        .with_entry("wing", "w")
        .with_entry(
            "list",
            MetadataValue::Many(vec![
                MetadataScalar::Text("\0\u{202e}".into()),
                MetadataScalar::Float(0.1),
            ]),
        );
    let full = NewDrawer {
        context: Some(DrawerContext {
            before: "b".into(),
            after: "a".into(),
        }),
        metadata,
        place: DrawerPlace {
            room: Some("r".into()),
            source: Some("book".into()),
            span: Some(SourceSpan {
                start: 0,
                end: 4,
                line_start: 1,
                line_end: 1,
            }),
            speaker: Some("me".into()),
            said_at: Some("2020-02-02T02:02:02.000002Z".parse().unwrap()),
            ..DrawerPlace::default()
        },
        filed_at: Some("1999-12-31T23:59:59.999999Z".parse().unwrap()),
        uses: 7,
        embedding: Some(vec![0.1, -0.0, 1e-45, f32::MAX]),
        ..NewDrawer::new(id("it's \"an\" id\n抽屉"), "line\nbreak\0")
    };
    vec![Write::Add(full), Write::Add(NewDrawer::new(id("plain"), ""))]
}

/// A palace with two collections, one of them empty, and the record of a source.
fn furnished(side: BorrowedAddress<'_>) {
    let drawers = made(side, "drawers", Some(model()));
    drawers.apply_batch(&nasty()).unwrap();
    drawers.apply_batch(&many(30)).unwrap();
    let how = OpenOptions {
        metric: Some(Metric::L2),
        dimension: Some(9),
        ..OpenOptions::for_writing()
    };
    side.backend
        .create(side.reference, &name("empty"), CreateMode::OpenExisting, &how)
        .unwrap();
    remember(drawers.as_ref(), "book", "as it was");
}

fn remember(collection: &dyn Collection, source: &str, stamp: &str) {
    let revision = SourceRevision {
        source: source.into(),
        expects: None,
        stamp: Some(stamp.into()),
        parts: Box::new(std::iter::empty()),
    };
    collection
        .require_sources()
        .unwrap()
        .revise(vec![revision])
        .unwrap();
}

fn records(collection: &dyn Collection) -> Vec<SourceRecord> {
    let all = SourceRecordQuery::Under {
        prefix: String::new(),
        after: None,
        limit: 1000,
    };
    collection.require_sources().unwrap().find_records(&all).unwrap()
}

fn arrives_as_it_was(from: BorrowedAddress<'_>) {
    furnished(from);
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(from, to).go().unwrap();

    assert!(report.lossless && report.ok && !report.resumed, "{report:?}");
    assert_eq!(report.rows, 32);
    assert_eq!(report.collections.len(), 2);
    assert_eq!(
        (
            report.collections[0].with_vector,
            report.collections[0].without_vector
        ),
        (31, 1)
    );
    assert_eq!(home.names(), ["new"], "nothing is left beside it");
    assert_eq!(everything(to, "drawers"), everything(from, "drawers"));
    assert_eq!(hash(to), hash(from));
    assert_eq!(
        (&report.record.hash.from, &report.record.hash.to),
        (&hash(from), &hash(to))
    );
    let info = opened(to, "drawers").info().unwrap();
    assert_eq!(info.identity, IdentityState::Known(model()));
    let empty = opened(to, "empty").info().unwrap();
    assert_eq!(
        (empty.metric, empty.dimension, empty.drawers),
        (Metric::L2, Some(9), 0)
    );
    assert_eq!(empty.identity, IdentityState::Unset);

    let kept = records(opened(to, "drawers").as_ref());
    let names: Vec<(&str, bool)> = kept
        .iter()
        .map(|record| (record.source.as_str(), record.stamp == "as it was"))
        .collect();
    assert_eq!(names, [("book", true), (MIGRATION_RECORD, false)]);
    let compared = compare_palaces(to, from, None, &mut |_| {}).unwrap();
    assert_eq!(compared.findings, []);
    assert_eq!(compared.against.hash, Some(hash(from)));
}

#[test]
fn a_palace_moves_from_file_to_file_bit_for_bit() {
    let home = Home::new();
    let place = home.local("old");
    arrives_as_it_was(address(&home.embedded, &place));
}

#[test]
fn a_palace_moves_from_another_backend_bit_for_bit() {
    let backend = reference();
    arrives_as_it_was(address(&backend, &palace()));
}

#[test]
fn a_palace_without_a_folder_is_filled_directly_and_only_when_it_is_new() {
    let (from, to) = (reference(), reference());
    let (here, there) = (palace(), PalaceRef::from_id("there"));
    furnished(address(&from, &here));
    let moving = Moving::new(address(&from, &here), address(&to, &there));
    assert!(moving.go().is_ok_and(|report| report.lossless));
    assert_eq!(hash(address(&to, &there)), hash(address(&from, &here)));
    let again = moving.go().unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict, "{again}");
}

#[test]
fn a_palace_that_moved_twice_remembers_both() {
    let home = Home::new();
    let places = ["one", "two", "three"].map(|name| home.local(name));
    let sides = [0, 1, 2].map(|at| address(&home.embedded, &places[at]));
    furnished(sides[0]);
    Moving::new(sides[0], sides[1]).go().unwrap();
    Moving::new(sides[1], sides[2]).go().unwrap();
    let records = list_migrations(opened(sides[2], "drawers").as_ref()).unwrap();
    let from: Vec<&str> = records
        .iter()
        .map(|record| record["from"].as_str().unwrap())
        .collect();
    assert_eq!(from, [places[0].id.as_str(), places[1].id.as_str()]);
    assert_eq!(
        records[1]["collections"].as_array().unwrap().len(),
        1,
        "its own part only"
    );
    let status = palace_at(&home.embedded, places[2].clone(), &NOBODY)
        .report_status()
        .unwrap();
    assert_eq!(status.migrations, records);
}

#[test]
fn vectors_of_an_unknown_model_are_carried_and_stay_unknown() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    let carrier = OpenOptions {
        carries_unknown: true,
        ..OpenOptions::for_writing()
    };
    let drawers = backend
        .create(&there, &name("drawers"), CreateMode::OpenExisting, &carrier)
        .unwrap();
    // More than one batch.
    drawers.apply_batch(&many(1500)).unwrap();
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(from, to).go().unwrap();
    assert!(report.lossless, "{report:?}");
    assert_eq!(report.record.collections[0].identity, "unknown");
    assert_eq!(everything(to, "drawers"), everything(from, "drawers"));
    let moved = made(to, "drawers", None);
    assert_eq!(moved.info().unwrap().identity, IdentityState::Unknown);
    let late = NewDrawer {
        embedding: Some(vec![1.0; 4]),
        ..NewDrawer::new(id("late"), "late")
    };
    let refused = moved.apply_batch(&[Write::Add(late)]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IdentityMismatch);
    moved.set_identity(&model(), IdentityChange::Confirm).unwrap();
    assert_eq!(moved.info().unwrap().identity, IdentityState::Known(model()));
}

#[test]
fn records_that_loci_keeps_for_itself_are_no_sources() {
    let home = Home::new();
    let (old, new) = (home.local("old"), home.local("new"));
    furnished(address(&home.embedded, &old));
    Moving::new(address(&home.embedded, &old), address(&home.embedded, &new))
        .go()
        .unwrap();
    let moved = opened(address(&home.embedded, &new), "drawers");
    // A stamp as mining writes them, under a reserved name.
    let stamp = concat!(
        r#"{"reading":1,"look":{"file":{"size":1,"modified":0,"changed":0,"inode":1,"device":1}},"#,
        r#""hash":"x","format":"file","drawers":1}"#
    );
    assert!(loci_engine::mine::stamp::SourceStamp::from_text(stamp).is_some());
    remember(moved.as_ref(), "loci:other", stamp);
    let report = loci_engine::sync::check_sources(moved.as_ref(), &[]).unwrap();
    assert_eq!(report.checked, 0, "{report:?}");
}
