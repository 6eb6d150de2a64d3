//! Every order, filter and visibility against core's own oracles, on random drawers that change between the looks.

use std::path::Path;
use std::sync::Arc;

use crate::scene::truth::{self, Truth};
use crate::scene::{listing, raw};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds};

const DIMENSION: usize = 3;
/// The microseconds of a day.
const DAY: usize = 86_400_000_000;

fn time(micros: usize) -> Option<Timestamp> {
    Timestamp::from_micros(micros as i64).ok()
}

fn some_drawer(random: &mut SeededRandom, n: usize) -> NewDrawer {
    let mut metadata = Metadata::new().with_entry("n", n as i64);
    if random.below(3) > 0 {
        let members = (0..random.below(5)).map(|_| match random.below(4) {
            0 => MetadataScalar::Int(random.below(5) as i64),
            1 => MetadataScalar::Float(random.below(3) as f64),
            2 => MetadataScalar::Bool(random.below(2) == 0),
            _ => MetadataScalar::Text(format!("tag{}", random.below(4))),
        });
        metadata.insert("tags", MetadataValue::Many(members.collect()));
    }
    match random.below(8) {
        0 => metadata.insert("said_at", random.below(9) as i64),
        1 => metadata.insert(
            "room",
            MetadataValue::Many(vec![MetadataScalar::Text("den".into())]),
        ),
        2 => metadata.insert("filed_at", MetadataValue::Many(vec![MetadataScalar::Int(7)])),
        _ => {}
    }
    let start = random.below(50) as u64;
    let source = ["", "notes/a.md", "notes/b.md", "\u{65e5}"];
    let source = source.get(random.below(6)).map(|name| (*name).to_owned());
    NewDrawer {
        place: DrawerPlace {
            wing: (random.below(4) > 0).then(|| format!("wing{}", random.below(3))),
            source,
            span: (random.below(3) > 0).then_some(SourceSpan {
                start,
                end: 100,
                line_start: 1,
                line_end: 1,
            }),
            // Times that are equal, of one day, and of several.
            said_at: time(1_600_000_000_000_000 + random.below(4) * DAY + random.below(5) * 1_000_000)
                .filter(|_| random.below(3) > 0 && metadata.get("said_at").is_none()),
            ..DrawerPlace::default()
        },
        metadata,
        filed_at: time(1_700_000_000_000_000 + random.below(9)),
        embedding: Some(truth::vector(n, 0, DIMENSION)),
        ..NewDrawer::new(truth::id(n), truth::text(n, random.below(3)))
    }
}

fn open(folder: &Path, visible: Filter) -> Arc<dyn Collection> {
    let options = OpenOptions {
        visible,
        embedder: Some(EmbedderIdentity {
            model: "test".into(),
            revision: "1".into(),
            dimension: DIMENSION,
        }),
        ..OpenOptions::for_writing()
    };
    let (palace, name) = (PalaceRef::local(folder), CollectionName::new("drawers").unwrap());
    EmbeddedBackend::new()
        .create(&palace, &name, CreateMode::OpenExisting, &options)
        .unwrap()
}

fn assert_listed(reader: &dyn Collection, told: &Truth, visible: &Filter, random: &mut SeededRandom) {
    for filter in listing::filters() {
        let both = filter.clone().and(visible.clone());
        for order in DrawerOrder::ALL {
            let expected = listing::expected(told.drawers.values(), order, &both);
            let page = 1 + random.below(40);
            assert_eq!(
                listing::paged(reader, order, &filter, page),
                expected,
                "{order:?} {filter} seen through {visible}, {page} a page"
            );
        }
        let count = listing::expected(told.drawers.values(), DrawerOrder::Id, &both).len() as u64;
        assert_eq!(
            reader.count(&filter.clone().into()).unwrap(),
            count,
            "{filter} {visible}"
        );
    }
}

#[test]
fn every_page_in_every_order_is_what_sorting_everything_would_give() {
    for seed in 0..campaign_rounds(1) {
        let mut random = SeededRandom::new(seed + 1);
        let folder = tempfile::tempdir().unwrap();
        let whole = open(folder.path(), Filter::All);
        let mut told = Truth::default();
        for step in 0..4 {
            let mut batch: Vec<Write> = (0..150)
                .map(|n| Write::Upsert(some_drawer(&mut random, step * 60 + n)))
                .collect();
            batch.push(Write::Delete(DeleteSelection::Matching(
                Filter::parse_str(r#"{"tags": {"$contains": "tag3"}}"#)
                    .unwrap()
                    .into(),
            )));
            let receipt = whole.apply_batch(&batch).unwrap();
            told.apply(&batch);
            // The plain model knows nothing of twins, so they are taken as the store has them.
            for DrawerTwin { given, .. } in &receipt.twins {
                match whole.find_drawer(given).unwrap() {
                    Some(kept) => {
                        let everything = GetRequest {
                            include: DrawerFields::EVERYTHING,
                            ..GetRequest::by_ids([kept.id.clone()])
                        };
                        told.drawers
                            .insert(kept.id, whole.get(&everything).unwrap().remove(0));
                    }
                    None => drop(told.drawers.remove(given)),
                }
            }
            assert_eq!(told.difference(&Truth::read(&*whole).unwrap()), None);
            assert_listed(&*whole, &told, &Filter::All, &mut random);
        }
        for visible in [
            r#"{"wing": "wing1"}"#,
            r#"{"tags": {"$contains": 1}}"#,
            r#"{"wing": {"$ne": "wing1"}}"#,
        ] {
            let visible = Filter::parse_str(visible).unwrap();
            assert_listed(
                &*open(folder.path(), visible.clone()),
                &told,
                &visible,
                &mut random,
            );
        }
        assert_eq!(
            EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
            []
        );
    }
}

#[test]
fn a_page_continues_although_the_drawer_it_ended_with_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(folder.path(), Filter::All);
    let mut random = SeededRandom::new(77);
    let batch: Vec<Write> = (0..60)
        .map(|n| {
            let mut drawer = some_drawer(&mut random, n);
            drawer.document = format!("zq{n}");
            Write::Add(drawer)
        })
        .collect();
    collection.apply_batch(&batch).unwrap();
    for order in DrawerOrder::ALL {
        let all = listing::paged(&*collection, order, &Filter::All, 1000);
        let first = GetRequest {
            order,
            limit: Some(all.len() / 3),
            ..GetRequest::default()
        };
        let last = collection.get(&first).unwrap().pop().unwrap();
        collection.delete_drawer(last.id.clone()).unwrap();
        let rest = collection
            .get(&GetRequest {
                limit: None,
                ..first.clone().continued_after(&last)
            })
            .unwrap();
        let rest: Vec<DrawerId> = rest.into_iter().map(|drawer| drawer.id).collect();
        assert_eq!(rest, all[all.len() / 3..], "{order:?}");
    }
}

/// The index of pieces with an entry for every drawer, as the first files of format 5 have it.
const WHOLE_INDEX: &str = "DROP INDEX drawers_source;
    CREATE UNIQUE INDEX drawers_source ON drawers(collection, source, start, hash)";

#[test]
fn notes_take_no_room_in_the_index_of_pieces_and_a_file_where_they_do_is_used_alike() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = SeededRandom::new(9);
    let filed = open(folder.path(), Filter::All);
    let batch: Vec<Write> = (0..200)
        .map(|n| Write::Upsert(some_drawer(&mut random, n)))
        .collect();
    filed.apply_batch(&batch).unwrap();
    let told = Truth::read(&*filed).unwrap();
    drop(filed);
    let entries = || {
        let sql = "SELECT coalesce(sum(ncell), 0) FROM dbstat WHERE name = 'drawers_source'";
        raw::number(folder.path(), sql) as usize
    };
    let is_piece = |drawer: &&Drawer| drawer.place.source.is_some() || drawer.place.span.is_some();
    let pieces = told.drawers.values().filter(is_piece).count();
    assert!(0 < pieces && pieces < told.drawers.len());
    assert_eq!(entries(), pieces);

    raw::execute(folder.path(), WHOLE_INDEX);
    assert_eq!(entries(), told.drawers.len());
    let opened = open(folder.path(), Filter::All);
    assert_eq!(told.difference(&Truth::read(&*opened).unwrap()), None);
    assert_listed(&*opened, &told, &Filter::All, &mut random);
    let piece = told
        .drawers
        .values()
        .find(|drawer| drawer.place.source.is_some() && drawer.place.span.is_some())
        .unwrap();
    let again = NewDrawer {
        place: piece.place.clone(),
        ..NewDrawer::new(truth::id(900), piece.document.clone().unwrap())
    };
    let receipt = opened.add_drawer(again).unwrap();
    assert_eq!((receipt.added.len(), receipt.twins.len()), (0, 1));
    drop(opened);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
    assert_eq!(entries(), told.drawers.len(), "the index is left as it is");
}
