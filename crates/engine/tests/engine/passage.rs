//! Passages of a real store in a temporary folder.

use std::collections::HashMap;

use loci_core::{
    Backend as _, CollectionExt as _, DrawerOrder, DrawerPlace, DrawerPosition, Metadata, SourceSpan,
};
use loci_engine::AccessPolicy;
use loci_engine::passage::{PassageAnchor, PassageReport, PassageRequest};
use loci_engine::view::parse_position;

use super::counted::{CountedBackend, ReadCount};
use super::*;

/// A palace in a folder that goes away with it.
struct Scene {
    palace: Palace,
    folder: tempfile::TempDir,
}

impl Scene {
    fn with(drawers: Vec<NewDrawer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let reference = PalaceRef::local(folder.path().join("palace"));
        let backend = EmbeddedBackend::new();
        let options = OpenOptions::default();
        let collection = backend
            .create(&reference, &name("drawers"), CreateMode::OpenExisting, &options)
            .unwrap();
        let mut drawers = drawers.into_iter().map(Write::Add).peekable();
        while drawers.peek().is_some() {
            let batch: Vec<Write> = drawers.by_ref().take(5_000).collect();
            collection.apply_batch(&batch).unwrap();
        }
        Self {
            palace: palace_at(&backend, reference, &NOBODY),
            folder,
        }
    }

    /// Returns the same palace through a backend that counts what is read.
    fn counted(&self) -> (Palace, Arc<ReadCount>) {
        let count = Arc::new(ReadCount::default());
        let backend = CountedBackend {
            inner: Arc::new(EmbeddedBackend::new()),
            count: Arc::clone(&count),
        };
        let address = PalaceAddress {
            backend: Arc::new(backend),
            reference: PalaceRef::local(self.folder.path().join("palace")),
        };
        let now = || "2026-05-01T09:30:00Z".parse().unwrap();
        (Palace::new(address, Arc::new(NOBODY.clone()), now), count)
    }

    fn read(&self, anchor: PassageAnchor, limit: usize) -> PassageReport {
        self.palace.read_passage(&request("talk", anchor, limit)).unwrap()
    }

    /// Reads all pages from one end to the other.
    fn read_all(&self, forwards: bool, limit: usize) -> Vec<String> {
        let first = if forwards {
            PassageAnchor::Start
        } else {
            PassageAnchor::End
        };
        let mut page = self.read(first, limit);
        let mut all = ids(&page);
        loop {
            let cursor = if forwards { page.after } else { page.before };
            let Some(cursor) = cursor else { return all };
            let position = parse_position(DrawerOrder::Source, &cursor).unwrap();
            let anchor = if forwards {
                PassageAnchor::After(position)
            } else {
                PassageAnchor::Before(position)
            };
            page = self.read(anchor, limit);
            assert!(!page.drawers.is_empty(), "a cursor leads to more");
            if forwards {
                all.extend(ids(&page));
            } else {
                all.splice(0..0, ids(&page));
            }
        }
    }
}

fn request(name: &str, anchor: PassageAnchor, limit: usize) -> PassageRequest {
    PassageRequest {
        names: vec![name.to_owned()],
        anchor,
        limit,
        bytes: usize::MAX,
        skipped: 0,
    }
}

fn drawer(key: &str, source: &str, span: Option<(u64, u64)>) -> NewDrawer {
    let mut metadata = Metadata::new();
    metadata.insert("message_id", "m");
    NewDrawer {
        place: DrawerPlace {
            wing: Some("boat".into()),
            room: Some("talks".into()),
            source: Some(source.into()),
            kind: Some("human".into()),
            span: span.map(|(start, end)| SourceSpan {
                start,
                end,
                line_start: 1,
                line_end: 1,
            }),
            ..DrawerPlace::default()
        },
        metadata,
        ..NewDrawer::new(id(key), format!("text of {key}"))
    }
}

/// Messages whose ids are in another order than they are, and whose lengths differ by much.
fn talk(count: u64) -> Vec<NewDrawer> {
    let mut start = 0;
    let mut drawers = Vec::new();
    for n in 0..count {
        let length = if n % 97 == 0 { 90_000 } else { 3 + n % 700 };
        drawers.push(drawer(&message(n), "talk", Some((start, start + length))));
        start += length + 1;
    }
    drawers
}

fn message(n: u64) -> String {
    format!("{:05}-{n}", (n * 7_919) % 100_003)
}

fn ids(page: &PassageReport) -> Vec<String> {
    page.drawers.iter().map(|drawer| drawer.id.to_string()).collect()
}

fn at(key: &str) -> PassageAnchor {
    PassageAnchor::Drawer(id(key))
}

#[test]
fn pages_neither_repeat_nor_skip_in_either_direction() {
    // Few drawers are listed, many are searched for by windows.
    for count in [60, 2_500] {
        let mut drawers = talk(count);
        drawers.extend((0..4).map(|n| drawer(&format!("loose-{n}"), "talk", None)));
        drawers.push(drawer("other", "sea", Some((0, 9))));
        drawers.push(drawer("\0", "talk", Some((0, 9))));
        drawers.push(drawer("zz", "zoo", Some((0, 9))));
        let scene = Scene::with(drawers);
        let mut expect: Vec<String> = vec!["\0".into()];
        expect.extend((0..count).map(message));
        expect.extend((0..4).map(|n| format!("loose-{n}")));
        for limit in [1, 7, 50] {
            if limit == 1 && count > 100 {
                continue;
            }
            assert_eq!(scene.read_all(true, limit), expect, "forwards, {limit}");
            assert_eq!(scene.read_all(false, limit), expect, "backwards, {limit}");
        }
        assert_eq!(scene.read(PassageAnchor::Start, 3).total, count + 5);
    }
}

#[test]
fn very_many_drawers_at_one_byte_are_read_backwards_too() {
    let equal = (0..1_500).map(|n| drawer(&format!("e{n:05}"), "talk", Some((10, 20))));
    let mut drawers: Vec<NewDrawer> = equal.collect();
    drawers.push(drawer("first", "talk", Some((0, 9))));
    drawers.push(drawer("last", "talk", Some((21, 29))));
    let scene = Scene::with(drawers);
    let mut expect: Vec<String> = vec!["first".into()];
    expect.extend((0..1_500).map(|n| format!("e{n:05}")));
    expect.push("last".into());
    assert_eq!(scene.read_all(false, 190), expect);
    assert_eq!(scene.read_all(true, 190), expect);
}

#[test]
fn the_drawer_asked_for_stands_a_third_down_and_at_the_ends_the_page_is_full() {
    for count in [200, 2_500] {
        let scene = Scene::with(talk(count));
        let names: Vec<String> = (0..count).map(message).collect();
        let place: HashMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(at, id)| (id.as_str(), at))
            .collect();
        for (n, above) in [(0, 0), (3, 3), (count / 2, 9), (count - 2, 28), (count - 1, 29)] {
            let page = scene.read(at(&message(n)), 30);
            assert_eq!(page.at, Some(above), "{n} of {count}");
            let shown = ids(&page);
            let first = place[shown[0].as_str()];
            assert_eq!(shown, names[first..first + 30], "{n} of {count}");
            assert_eq!(page.before.is_some(), first > 0);
            assert_eq!(page.after.is_some(), first + 30 < names.len());
        }
    }
}

#[test]
fn a_page_ends_at_its_bytes_but_always_has_a_drawer() {
    let scene = Scene::with(talk(100));
    let text = "text of ".len() + message(50).len();
    let read = |anchor: PassageAnchor, bytes: usize| {
        let request = PassageRequest {
            bytes,
            ..request("talk", anchor, 50)
        };
        scene.palace.read_passage(&request).unwrap().drawers.len()
    };
    for anchor in [PassageAnchor::Start, PassageAnchor::End, at(&message(50))] {
        assert_eq!(read(anchor.clone(), 0), 1);
        assert_eq!(read(anchor, 10 * text), 10);
    }
}

#[test]
fn a_removed_drawer_leaves_its_place_and_an_unknown_one_the_start() {
    let scene = Scene::with(talk(40));
    let page = scene.read(PassageAnchor::Start, 10);
    let cursor = parse_position(DrawerOrder::Source, &page.after.unwrap()).unwrap();
    let opened = scene.palace.open(&OpenOptions::for_writing()).unwrap();
    opened.delete_drawer(id(&message(9))).unwrap();
    let next = scene.read(PassageAnchor::After(cursor.clone()), 10);
    assert_eq!(ids(&next), (10..20).map(message).collect::<Vec<_>>());
    assert!(next.before.is_some(), "the one before it is still there");
    let back = scene.read(PassageAnchor::Before(cursor), 10);
    assert_eq!(ids(&back), (0..9).map(message).collect::<Vec<_>>());

    let missing = scene.read(at(&message(9)), 10);
    assert!(missing.at_missing);
    assert_eq!(ids(&missing)[0], message(0));
    assert!(!scene.read(at(&message(8)), 10).at_missing);
}

#[test]
fn a_cursor_of_another_source_is_refused() {
    let scene = Scene::with(talk(4));
    let foreign = DrawerPosition::Source(Some("sea".into()), Some(0), id("a"));
    for anchor in [
        PassageAnchor::After(foreign.clone()),
        PassageAnchor::Before(foreign),
    ] {
        let error = scene
            .palace
            .read_passage(&request("talk", anchor, 5))
            .unwrap_err();
        assert_eq!(error.kind(), loci_core::ErrorKind::Invalid);
    }
}

#[test]
fn only_visible_wings_are_on_a_page_and_counted() {
    let mut drawers = talk(1_200);
    for one in drawers.iter_mut().skip(600) {
        one.place.wing = Some("secret".into());
    }
    let scene = Scene::with(drawers);
    let policy = AccessPolicy::limited(false, vec!["boat".into()]);
    let scene = Scene {
        palace: scene.palace.clone().restricted_to(policy),
        ..scene
    };
    let expect: Vec<String> = (0..600).map(message).collect();
    assert_eq!(scene.read_all(true, 50), expect);
    assert_eq!(scene.read_all(false, 50), expect);
    assert_eq!(scene.read(PassageAnchor::Start, 5).total, 600);
    assert!(scene.read(at(&message(700)), 5).at_missing);
    let last = scene.read(at(&message(599)), 5);
    assert_eq!((last.at, last.after), (Some(4), None));
}

#[test]
fn a_message_that_goes_on_over_the_page_is_told() {
    let mut drawers = vec![
        drawer("a", "talk", Some((0, 10))),
        drawer("b", "talk", Some((10, 20))),
        drawer("c", "talk", Some((20, 30))),
        drawer("d", "talk", Some((31, 40))),
    ];
    drawers[3].metadata.insert("message_id", "n");
    let scene = Scene::with(drawers);
    let page = scene.read(at("b"), 1);
    assert!(page.continues_before && page.continues_after);
    let page = scene.read(at("c"), 1);
    assert!(page.continues_before && !page.continues_after);
    let cursor = parse_position(DrawerOrder::Source, &scene.read(at("a"), 1).after.unwrap()).unwrap();
    let page = scene.read(PassageAnchor::After(cursor), 2);
    assert!(page.continues_before && !page.continues_after);
}

#[test]
fn a_file_of_several_conversations_lists_them() {
    let mut drawers = Vec::new();
    for n in 0..60 {
        let mut first = drawer(&format!("a{n:02}"), &format!("/talks.json#{n:02}"), Some((0, 9)));
        first.metadata.insert("title", format!("Talk {n}"));
        drawers.push(first);
        drawers.push(drawer(
            &format!("b{n:02}"),
            &format!("/talks.json#{n:02}"),
            Some((10, 19)),
        ));
    }
    let scene = Scene::with(drawers);
    let list = |skipped: usize| {
        let request = PassageRequest {
            skipped,
            ..request("/talks.json", PassageAnchor::Start, 5)
        };
        scene.palace.read_passage(&request).unwrap()
    };
    let page = list(0);
    assert_eq!(
        (page.source, page.sources_total, page.sources.len()),
        (None, 60, 50)
    );
    let first = &page.sources[0];
    assert_eq!(
        (first.source.as_str(), first.title.as_deref(), first.drawers),
        ("/talks.json#00", Some("Talk 0"), 2)
    );
    assert_eq!(list(50).sources.len(), 10);

    let one = scene
        .palace
        .read_passage(&request("talks.json", at("b07"), 5))
        .unwrap();
    assert_eq!((one.source.as_deref(), one.at), (Some("/talks.json#07"), Some(1)));
}

#[test]
fn a_source_that_does_not_exist_is_told_with_the_nearest_name() {
    let scene = Scene::with(talk(4));
    let page = scene
        .palace
        .read_passage(&request("tlak", PassageAnchor::Start, 5))
        .unwrap();
    assert_eq!((page.source, page.sources_total), (None, 0));
    assert!(!page.warnings.is_empty());
}

/// The promise of the page: whatever the anchor, what is read does not grow with the source.
#[test]
fn a_page_of_a_hundred_thousand_drawers_reads_few_of_them() {
    let scene = Scene::with(talk(100_000));
    let middle = scene.read(at(&message(50_000)), 50);
    let cursor =
        |cursor: &Option<String>| parse_position(DrawerOrder::Source, cursor.as_ref().unwrap()).unwrap();
    let (palace, count) = scene.counted();
    for (name, anchor) in [
        ("start", PassageAnchor::Start),
        ("end", PassageAnchor::End),
        ("a drawer", at(&message(50_000))),
        ("the first", at(&message(0))),
        ("the last", at(&message(99_999))),
        ("after", PassageAnchor::After(cursor(&middle.after))),
        ("before", PassageAnchor::Before(cursor(&middle.before))),
    ] {
        let page = palace.read_passage(&request("talk", anchor, 50)).unwrap();
        assert_eq!((page.drawers.len(), page.total), (50, 100_000), "{name}");
        let (drawers, bytes) = count.take();
        // Places without texts while a window is halved and doubled, then at most a page in both directions.
        assert!(drawers <= 16 * 256, "{name}: {drawers} drawers");
        assert!(bytes <= 120 * 30, "{name}: {bytes} bytes of text");
    }
}

#[test]
fn a_page_of_huge_drawers_reads_few_of_them() {
    let huge = |n: u64| NewDrawer {
        document: "x".repeat(1_000_000),
        ..drawer(
            &format!("h{n:02}"),
            "talk",
            Some((n * 2_000_000, n * 2_000_000 + 1_000_000)),
        )
    };
    let scene = Scene::with((0..30).map(huge).collect());
    let (palace, count) = scene.counted();
    for anchor in [PassageAnchor::Start, PassageAnchor::End, at("h15")] {
        let request = PassageRequest {
            bytes: 60_000,
            ..request("talk", anchor.clone(), 60)
        };
        let page = palace.read_passage(&request).unwrap();
        assert_eq!(page.drawers.len(), 1, "{anchor:?}");
        assert_eq!(
            (page.before.is_some(), page.after.is_some()),
            (page.drawers[0].id != id("h00"), page.drawers[0].id != id("h29"))
        );
        let (_, bytes) = count.take();
        assert!(bytes <= 10_000_000, "{anchor:?}: {bytes} bytes of text");
    }
}
