//! Random batches on the embedded store answer like the reference, and leave a palace that examines as sound.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use loci_conformance::Reference;
use loci_core::*;
use loci_store::EmbeddedBackend;

#[derive(Debug, Arbitrary)]
enum Step {
    Add(u8, String, Option<[i8; 4]>),
    Upsert(u8, String, Option<[i8; 4]>),
    Update(u8, Option<String>, Option<[i8; 4]>, u8),
    Delete(u8),
    DeleteWhere(u8),
    Compact,
    Reindex,
}

fn id(n: u8) -> DrawerId {
    DrawerId::new(format!("drawer {}", n % 16)).expect("not empty")
}

fn vector(values: Option<[i8; 4]>) -> Option<Vec<f32>> {
    let values: Vec<f32> = values?.iter().map(|value| f32::from(*value)).collect();
    values.iter().any(|value| *value != 0.0).then_some(values)
}

fn drawer(n: u8, text: &str, values: Option<[i8; 4]>) -> NewDrawer {
    let mut drawer = NewDrawer::new(id(n), text);
    drawer.metadata = Metadata::new().with_entry("n", i64::from(n % 5)).with_entry("wing", format!("w{}", n % 3));
    drawer.place.source = (n % 4 == 0).then(|| "source".to_owned());
    drawer.place.span = (n % 4 == 0).then_some(SourceSpan { start: 0, end: 9, line_start: 1, line_end: 1 });
    drawer.filed_at = Some(Timestamp::from_micros(1).expect("1970"));
    drawer.embedding = vector(values);
    drawer
}

fn write(step: &Step) -> Option<Write> {
    Some(match step {
        Step::Add(n, text, values) => Write::Add(drawer(*n, text, *values)),
        Step::Upsert(n, text, values) => Write::Upsert(drawer(*n, text, *values)),
        Step::Update(n, text, values, to) => Write::Update(DrawerPatch {
            document: text.clone(),
            embedding: vector(*values),
            metadata: [("n".to_owned(), Some(i64::from(*to).into()))].into(),
            ..DrawerPatch::new(id(*n))
        }),
        Step::Delete(n) => Write::Delete(DeleteSelection::Ids(vec![id(*n)])),
        Step::DeleteWhere(n) => {
            Write::Delete(DeleteSelection::Matching(Filter::Compare("n".into(), FilterComparison::Eq(MetadataScalar::Int(i64::from(n % 5)))).into()))
        }
        Step::Compact | Step::Reindex => return None,
    })
}

fuzz_target!(|steps: Vec<Step>| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let palace = PalaceRef::local(folder.path().join("palace"));
    let name = CollectionName::new("drawers").expect("plain");
    let embedder = EmbedderIdentity { model: "fuzz".into(), revision: "1".into(), dimension: 4 };
    let how = OpenOptions { embedder: Some(embedder), ..OpenOptions::for_writing() };
    let mode = CreateMode::OpenExisting;
    let (store, reference) = (EmbeddedBackend::new(), Reference::new());
    let ours = store.create(&palace, &name, mode, &how).expect("opens");
    let theirs = reference.create(&PalaceRef::from_id("fuzz"), &name, mode, &how).expect("opens");
    for step in steps.iter().take(24) {
        match step {
            Step::Compact => drop(ours.require_upkeep().expect("upkeep").run(&MaintenanceKind::COMPACT).expect("compacts")),
            Step::Reindex => drop(ours.require_upkeep().expect("upkeep").run(&MaintenanceKind::REINDEX).expect("reindexes")),
            other => {
                let batch = [write(other).expect("a write")];
                let (one, two) = (ours.apply_batch(&batch), theirs.apply_batch(&batch));
                assert_eq!(one.is_ok(), two.is_ok(), "{one:?} {two:?}");
            }
        }
    }
    let request = GetRequest { include: DrawerFields::EVERYTHING, ..GetRequest::default() };
    assert_eq!(ours.get(&request).expect("reads"), theirs.get(&request).expect("reads"));
    let probe = QueryRequest::nearest_to(vec![1.0, 2.0, -3.0, 0.5], 20);
    let distances = |lists: Vec<Vec<DrawerHit>>| -> Vec<f32> { lists.into_iter().flatten().map(|hit| hit.score).collect() };
    let (one, two) = (ours.query(&probe).expect("queries"), theirs.query(&probe).expect("queries"));
    for (a, b) in distances(one).iter().zip(distances(two)) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
    let diagnosis = store.examine(&folder.path().join("palace")).expect("examines");
    assert!(diagnosis.healthy, "{:?}", diagnosis.findings);
});
