//! Whatever happens to the files of a folder, reading it ends, panics never, changes nothing, and damage to a graph
//! costs no text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::writer::write_chroma;
use loci_chroma::ChromaBackend;
use loci_conformance::TwinWriter;
use loci_core::{
    Backend, CollectionExt, CollectionName, CreateMode, Doctor, Drawer, DrawerFields, DrawerId, GetRequest,
    LexicalRequest, Metadata, NewDrawer, OpenOptions, PalaceRef, QueryRequest, Write,
};
use proptest::prelude::*;
use tempfile::TempDir;

const EVERYTHING: GetRequest = GetRequest {
    ids: None,
    filter: loci_core::Filter::All,
    document: loci_core::DocumentFilter::All,
    order: loci_core::DrawerOrder::Id,
    after: None,
    limit: None,
    offset: 0,
    include: DrawerFields::EVERYTHING,
    budget: None,
};

/// The damage done to a file.
#[derive(Debug, Clone)]
enum Damage {
    Set(u32, Vec<u8>),
    Zero(u32, u16),
    Cut(u32),
    Grow(u16),
    Remove,
}

fn damages() -> impl Strategy<Value = Vec<(u8, Damage)>> {
    let one = prop_oneof![
        4 => (any::<u32>(), proptest::collection::vec(any::<u8>(), 1..64)).prop_map(|(at, bytes)| Damage::Set(at, bytes)),
        3 => (any::<u32>(), any::<u16>()).prop_map(|(at, count)| Damage::Zero(at, count)),
        2 => any::<u32>().prop_map(Damage::Cut),
        1 => any::<u16>().prop_map(Damage::Grow),
        1 => Just(Damage::Remove),
    ];
    proptest::collection::vec((any::<u8>(), one), 1..5)
}

fn name() -> CollectionName {
    CollectionName::new("drawers").unwrap()
}

/// A folder with forty drawers, a third of their vectors in the graph.
fn folder() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let collection = TwinWriter::new(write_chroma)
        .create(
            &PalaceRef::local(root.path()),
            &name(),
            CreateMode::Exclusive,
            &OpenOptions::for_writing(),
        )
        .unwrap();
    let batch: Vec<Write> = (0..40_u8)
        .map(|n| {
            let mut drawer = NewDrawer::new(
                DrawerId::new(format!("drawer {n}")).unwrap(),
                format!("text of {n}").repeat(40),
            );
            drawer.metadata = Metadata::new()
                .with_entry("n", i64::from(n))
                .with_entry("wing", "w");
            // Of length 1: a cosine graph holds no others.
            let angle = f32::from(n) / 40.0;
            drawer.embedding = Some(vec![angle.cos(), angle.sin(), 0.0, 0.0]);
            Write::Add(drawer)
        })
        .collect();
    collection.apply_batch(&batch).unwrap();
    root
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    found
}

fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(folder)
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn hurt(path: &Path, damage: &Damage) {
    let Ok(mut bytes) = fs::read(path) else { return };
    let within = |at: &u32, length: usize| *at as usize % length.max(1);
    match damage {
        Damage::Set(at, with) => {
            let at = within(at, bytes.len());
            bytes
                .iter_mut()
                .skip(at)
                .zip(with)
                .for_each(|(byte, with)| *byte = *with);
        }
        Damage::Zero(at, count) => {
            let at = within(at, bytes.len());
            bytes
                .iter_mut()
                .skip(at)
                .take(usize::from(*count))
                .for_each(|byte| *byte = 0);
        }
        Damage::Cut(at) => bytes.truncate(within(at, bytes.len())),
        Damage::Grow(by) => bytes.extend(std::iter::repeat_n(7, usize::from(*by))),
        Damage::Remove => return fs::remove_file(path).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

/// Everything that can be asked of a folder is asked.
fn ask(folder: &Path) -> Vec<Drawer> {
    let chroma = ChromaBackend::new();
    let palace = PalaceRef::local(folder);
    let _ = chroma.examine(folder);
    let mut read = Vec::new();
    for info in chroma.collections(&palace).unwrap_or_default() {
        let Ok(collection) = chroma.open(&palace, &info.name, &OpenOptions::default()) else {
            continue;
        };
        read.extend(collection.get(&EVERYTHING).unwrap_or_default());
        let _ = collection.lexical(&LexicalRequest::for_words("text", 3));
        let _ = collection.query(&QueryRequest::nearest_to(
            vec![1.0; info.dimension.unwrap_or(4).min(4096)],
            3,
        ));
    }
    read
}

fn texts(drawers: &[Drawer]) -> Vec<(String, Option<String>, Option<Metadata>)> {
    let one = |drawer: &Drawer| {
        (
            drawer.id.to_string(),
            drawer.document.clone(),
            drawer.metadata.clone(),
        )
    };
    drawers.iter().map(one).collect()
}

#[test]
fn what_stands_where_a_file_should_neither_traps_a_reader_nor_costs_a_text() {
    let traps: [fn(&Path); 3] = [
        |path| {
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(path)
                    .status()
                    .unwrap()
                    .success()
            )
        },
        |path| fs::create_dir(path).unwrap(),
        |path| std::os::unix::fs::symlink(path, path).unwrap(),
    ];
    let sound = texts(&ask(folder().path()));
    for trap in traps {
        let folder = folder();
        let graph: Vec<PathBuf> = files(folder.path())
            .into_iter()
            .filter(|path| !path.ends_with("chroma.sqlite3"))
            .collect();
        for path in &graph {
            fs::remove_file(path).unwrap();
            trap(path);
        }
        for beside in [
            "chroma.sqlite3-wal",
            "chroma.sqlite3-journal",
            "knowledge_graph.sqlite3",
            "tunnels.json",
        ] {
            trap(&folder.path().join(beside));
        }
        assert_eq!(texts(&ask(folder.path())), sound);
        let examined = ChromaBackend::new().examine(folder.path()).unwrap();
        let unread = examined
            .findings
            .iter()
            .filter(|finding| finding.code == "sidecar_unread");
        assert_eq!(unread.count(), 2, "{:?}", examined.findings);
    }
}

#[test]
fn a_log_of_holes_is_not_copied_whole() {
    let folder = folder();
    let sound = texts(&ask(folder.path()));
    let log = fs::File::create(folder.path().join("chroma.sqlite3-wal")).unwrap();
    log.set_len(1 << 40).unwrap();
    assert_eq!(texts(&ask(folder.path())), sound);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_damage_is_read_or_refused_and_nothing_is_changed(damages in damages()) {
        let folder = folder();
        let all = files(folder.path());
        for (which, damage) in &damages {
            hurt(&all[usize::from(*which) % all.len()], damage);
        }
        let before = bytes(folder.path());
        ask(folder.path());
        prop_assert!(before == bytes(folder.path()), "the folder was changed");
    }

    #[test]
    fn damage_to_a_graph_costs_no_text(damages in damages()) {
        let folder = folder();
        let sound = texts(&ask(folder.path()));
        prop_assert_eq!(sound.len(), 40);
        let graph: Vec<PathBuf> = files(folder.path()).into_iter().filter(|path| !path.ends_with("chroma.sqlite3")).collect();
        for (which, damage) in &damages {
            hurt(&graph[usize::from(*which) % graph.len()], damage);
        }
        prop_assert_eq!(texts(&ask(folder.path())), sound);
    }
}
