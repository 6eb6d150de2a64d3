//! A rescue reads every drawer whose pages are whole, lists the others, and brings nothing back that was removed.

mod campaign;
mod hostile;
mod logs;
mod odd_files;
mod stale;
mod torn_logs;

use std::collections::BTreeMap;
use std::path::Path;

use crate::scene::raw;
use crate::scene::spaces::{self, model};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

/// The remains of the palace in a folder, which must not change by reading them.
fn remains(path: &Path) -> PalaceRemains {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap()
    };
    let before: Vec<(String, Vec<u8>)> = contents(folder);
    let backend = EmbeddedBackend::new();
    let remains = backend.open_remains(path, &mut |_, _| {}).unwrap();
    assert!(contents(folder) == before, "a rescue only reads");
    remains
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| (name.clone(), std::fs::read(folder.join(name)).unwrap_or_default());
    raw::names(folder).into_iter().map(read).collect()
}

/// The drawers and records of one collection of the remains.
fn rescued(remains: &PalaceRemains, name: &str) -> Truth {
    let name = CollectionName::new(name).unwrap();
    let opened = remains
        .backend
        .open(&remains.palace, &name, &OpenOptions::default())
        .unwrap();
    Truth::read(opened.as_ref()).unwrap()
}

/// Asserts that everything came back and nothing is in doubt.
fn assert_whole(remains: &PalaceRemains, expected: &Truth) {
    assert_eq!(remains.lost, []);
    assert_eq!(remains.doubtful, []);
    assert_eq!(expected.difference(&rescued(remains, "drawers")), None);
}

/// Makes a palace of many kinds of drawers and closes it.
fn make_palace(folder: &Path, dimension: usize) -> Truth {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, dimension, true).unwrap();
    let adds: Vec<Write> = (0..300)
        .map(|n| Write::Add(truth::drawer(n, 0, dimension)))
        .collect();
    collection.apply_batch(&adds).unwrap();
    collection.apply_batch(&odd_drawers(dimension)).unwrap();
    let again = (10..200)
        .step_by(7)
        .map(|n| Write::Upsert(truth::drawer(n, 1, dimension)));
    collection.apply_batch(&again.collect::<Vec<_>>()).unwrap();
    let gone: Vec<DrawerId> = (5..300).step_by(9).map(truth::id).collect();
    collection
        .apply_batch(&[Write::Delete(DeleteSelection::Ids(gone))])
        .unwrap();
    let revision = SourceRevision {
        source: "notes.md".to_owned(),
        expects: None,
        stamp: Some("stamp ".repeat(3000)),
        parts: Box::new(std::iter::empty()),
    };
    collection
        .require_sources()
        .unwrap()
        .revise(vec![revision])
        .unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    backend.close();
    truth
}

/// Drawers that fill every column, or as few as possible.
fn odd_drawers(dimension: usize) -> Vec<Write> {
    let full = NewDrawer {
        place: DrawerPlace {
            wing: Some("wing".into()),
            room: Some("room".into()),
            source: Some("notes.md".into()),
            span: Some(SourceSpan {
                start: 3,
                end: 40,
                line_start: 1,
                line_end: 2,
            }),
            speaker: Some("ada".into()),
            kind: Some("note".into()),
            said_at: Some(Timestamp::from_micros(-5_000_000).unwrap()),
        },
        provenance: Some(Provenance {
            door: FilingDoor::Terminal,
            origin: OriginKind::ALL[0],
            by: Some("an agent".into()),
        }),
        ..truth::drawer(900, 0, dimension)
    };
    let huge = NewDrawer::new(
        DrawerId::new("huge").unwrap(),
        "記憶の宮殿 – 抽屉 🗄️ ".repeat(4_000),
    );
    let wordless = NewDrawer {
        wordless: true,
        ..NewDrawer::new(DrawerId::new("wordless").unwrap(), "")
    };
    let empty = NewDrawer::new(DrawerId::new("empty").unwrap(), "");
    let odd_id = NewDrawer::new(DrawerId::new("抽屉 \"'\n\0 ".repeat(30)).unwrap(), "short");
    [full, huge, wordless, empty, odd_id]
        .into_iter()
        .map(Write::Add)
        .collect()
}

#[test]
fn remains_are_read_page_by_page_and_say_how_many_vectors_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let truth = make_palace(folder.path(), 4);
    let remains = remains(folder.path());
    let name = CollectionName::new("drawers").unwrap();
    let opened = remains
        .backend
        .open(&remains.palace, &name, &OpenOptions::default())
        .unwrap();
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = opened
            .get(&GetRequest {
                after: after.map(DrawerPosition::Id),
                limit: Some(70),
                ..GetRequest::default()
            })
            .unwrap();
        after = page.last().map(|drawer| drawer.id.clone());
        ids.extend(page.into_iter().map(|drawer| drawer.id));
        if after.is_none() {
            break;
        }
        assert!(ids.len() <= truth.drawers.len(), "it begins again");
    }
    assert!(ids.iter().eq(truth.drawers.keys()));
    let info = opened.info().unwrap();
    let with_vector = truth
        .drawers
        .values()
        .filter(|drawer| drawer.embedding.is_some())
        .count();
    assert_eq!(
        (info.drawers, info.coverage.nearest),
        (ids.len() as u64, with_vector as u64)
    );
    assert!(
        matches!(info.identity, IdentityState::Known(_)),
        "{:?}",
        info.identity
    );
}

#[test]
fn a_sound_palace_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let truth = make_palace(folder.path(), 16);
    let found = remains(folder.path());
    assert_whole(&found, &truth);
    assert_eq!(found.findings, []);
    let info = found.backend.collections(&found.palace).unwrap().pop().unwrap();
    assert_eq!(info.identity, IdentityState::Known(model("test", 16)));
    assert_eq!(info.dimension, Some(16));
    let file = remains(&raw::file(folder.path()));
    assert_eq!(
        truth.difference(&rescued(&file, "drawers")),
        None,
        "the file alone is enough"
    );
}

#[test]
fn a_text_of_megabytes_comes_back_or_is_listed_with_the_page_that_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder.path(), 8, true).unwrap();
    let text = "記憶の宮殿 – 抽屉 🗄️ ".repeat(200_000);
    let huge = NewDrawer::new(DrawerId::new("huge").unwrap(), text);
    collection
        .apply_batch(&[Write::Add(truth::drawer(1, 0, 8)), Write::Add(huge)])
        .unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    backend.close();
    assert_whole(&remains(folder.path()), &truth);
    let pages = raw::row_pages(folder.path(), "drawers").pop_last().unwrap().1;
    assert!(pages.len() > 500);
    let mut bytes = std::fs::read(raw::file(folder.path())).unwrap();
    bytes[(pages[300] - 1) * raw::PAGE..][..raw::PAGE].fill(9);
    std::fs::write(raw::file(folder.path()), bytes).unwrap();
    let found = remains(folder.path());
    assert_eq!(rescued(&found, "drawers").drawers.len(), 1);
    let [lost] = &found.lost[..] else {
        panic!("{:?}", found.lost)
    };
    assert_eq!(lost.id.as_deref(), Some("huge"));
    assert_eq!(lost.pages, [pages[300] as u32]);
}

#[test]
fn the_longest_ids_come_back_with_texts_of_any_length() {
    let folder = tempfile::tempdir().unwrap();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder.path(), 8, true).unwrap();
    let long = |length: usize| {
        let id = format!("{length:05}{}", "i".repeat(1019));
        Write::Add(NewDrawer::new(DrawerId::new(id).unwrap(), "t".repeat(length)))
    };
    let adds: Vec<Write> = (6_000..17_000).step_by(401).map(long).collect();
    collection.apply_batch(&adds).unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    backend.close();
    assert_whole(&remains(folder.path()), &truth);
}

#[test]
fn a_palace_without_its_first_page_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let truth = make_palace(folder.path(), 16);
    let mut bytes = std::fs::read(raw::file(folder.path())).unwrap();
    bytes[..raw::PAGE].fill(0);
    std::fs::write(raw::file(folder.path()), bytes).unwrap();
    let found = remains(folder.path());
    assert_whole(&found, &truth);
}

/// Overwrites every page of some tables and indexes of a closed palace.
fn overwrite(folder: &Path, is_owner: impl Fn(&str) -> bool) {
    let pages = raw::pages(folder);
    let mut bytes = std::fs::read(raw::file(folder)).unwrap();
    let hit: Vec<usize> = pages
        .iter()
        .filter(|page| is_owner(&page.owner))
        .map(|page| page.number)
        .collect();
    assert!(!hit.is_empty());
    for number in hit {
        bytes[(number - 1) * raw::PAGE..number * raw::PAGE].fill(9);
    }
    std::fs::write(raw::file(folder), bytes).unwrap();
}

#[test]
fn drawers_that_no_index_lists_any_more_come_back_without_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let truth = make_palace(folder.path(), 16);
    overwrite(folder.path(), |owner| owner.starts_with("drawers_"));
    assert_whole(&remains(folder.path()), &truth);
}

#[test]
fn the_model_of_a_collection_whose_space_is_lost_is_unknown_if_it_has_vectors() {
    for (embedding, expected) in [
        (Some(vec![0.5; 4]), IdentityState::Unknown),
        (None, IdentityState::Unset),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, folder.path(), 4, true).unwrap();
        let drawer = NewDrawer {
            embedding,
            ..truth::drawer(1, 0, 4)
        };
        collection.apply_batch(&[Write::Add(drawer)]).unwrap();
        backend.close();
        overwrite(folder.path(), |owner| owner == "spaces");
        let found = remains(folder.path());
        let info = found.backend.collections(&found.palace).unwrap().pop().unwrap();
        assert_eq!(info.identity, expected);
    }
}

#[test]
fn collections_and_spaces_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let backend = EmbeddedBackend::new();
    let (palace, mut truths) = (PalaceRef::local(folder.path()), BTreeMap::new());
    for (name, metric) in [
        ("drawers", Metric::Cosine),
        ("notes", Metric::L2),
        ("gone", Metric::Ip),
    ] {
        let options = OpenOptions {
            embedder: Some(model(name, 8)),
            metric: Some(metric),
            ..OpenOptions::for_writing()
        };
        let name = CollectionName::new(name).unwrap();
        let opened = backend
            .create(&palace, &name, CreateMode::OpenExisting, &options)
            .unwrap();
        let adds: Vec<Write> = (0..80).map(|n| Write::Add(truth::drawer(n, n % 3, 8))).collect();
        opened.apply_batch(&adds).unwrap();
        // A second space of the same dimension, now active: its vectors differ from those of the first.
        if name.as_str() == "notes" {
            spaces::switch_to(opened.as_ref(), &model("second", 8));
        }
        truths.insert(name.clone(), Truth::read(opened.as_ref()).unwrap());
    }
    let gone = CollectionName::new("gone").unwrap();
    backend.drop_collection(&palace, &gone).unwrap();
    truths.remove(&gone);
    backend.close();
    let found = remains(folder.path());
    assert_eq!((&found.lost, &found.doubtful), (&Vec::new(), &Vec::new()));
    let infos = found.backend.collections(&found.palace).unwrap();
    let names: Vec<(&str, Metric)> = infos
        .iter()
        .map(|info| (info.name.as_str(), info.metric))
        .collect();
    assert_eq!(names, [("drawers", Metric::Cosine), ("notes", Metric::L2)]);
    assert_eq!(infos[1].identity, IdentityState::Known(model("second", 8)));
    for (name, truth) in truths {
        assert_eq!(truth.difference(&rescued(&found, name.as_str())), None, "{name}");
    }
}
