//! Random damage to several pages at once: whatever is whole comes back, and the rest is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use super::{make_palace, remains, rescued};
use crate::scene::raw::{self, PAGE};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds, campaign_setting};

const DIMENSION: usize = 16;

/// A sound palace, and the pages that each drawer and vector needs.
pub(super) struct SoundPalace {
    pub(super) bytes: Vec<u8>,
    pub(super) truth: Truth,
    pages: BTreeMap<DrawerId, Vec<usize>>,
    vectors: BTreeMap<DrawerId, Vec<usize>>,
    /// Every id that was ever filed.
    ever: BTreeSet<DrawerId>,
}

impl SoundPalace {
    fn learn(folder: &Path, truth: Truth) -> Self {
        let rows = {
            let connection = raw::connect(folder);
            let mut statement = connection.prepare("SELECT row, id FROM drawers").unwrap();
            let found = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)));
            found
                .unwrap()
                .map(|pair| pair.unwrap())
                .collect::<BTreeMap<_, _>>()
        };
        let by_id = |pages: BTreeMap<i64, Vec<usize>>| {
            let named = pages.into_iter();
            named
                .map(|(row, pages)| (DrawerId::new(rows[&row].clone()).unwrap(), pages))
                .collect()
        };
        Self {
            bytes: std::fs::read(raw::file(folder)).unwrap(),
            pages: by_id(raw::row_pages(folder, "drawers")),
            vectors: by_id(raw::row_pages(folder, "vectors_1")),
            ever: (0..1000)
                .map(truth::id)
                .chain(truth.drawers.keys().cloned())
                .collect(),
            truth,
        }
    }
}

pub(super) fn sound() -> &'static SoundPalace {
    static SOUND: OnceLock<SoundPalace> = OnceLock::new();
    SOUND.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        make_palace(folder.path(), DIMENSION);
        // More removals, so that whole pages are free and keep what was on them.
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, folder.path(), DIMENSION, false).unwrap();
        let gone: Vec<DrawerId> = (60..140).map(truth::id).collect();
        collection
            .apply_batch(&[Write::Delete(DeleteSelection::Ids(gone))])
            .unwrap();
        let truth = Truth::read(collection.as_ref()).unwrap();
        backend.close();
        SoundPalace::learn(folder.path(), truth)
    })
}

/// Damages a page in a way that a single flipped bit does not explain.
fn harm(bytes: &mut [u8], number: usize, random: &mut SeededRandom) {
    let page = &mut bytes[(number - 1) * PAGE..number * PAGE];
    match random.below(4) {
        0 => page.fill(0),
        1 => page.fill_with(|| random.next_bits() as u8),
        // Half of it is of another version.
        2 => page[PAGE / 2..].fill_with(|| random.next_bits() as u8),
        _ => {
            for _ in 0..2 + random.below(6) {
                let at = random.below(PAGE - 36);
                page[at] ^= 1 << random.below(8);
                page[(at + 500) % (PAGE - 36)] ^= 0x81;
            }
        }
    }
}

/// Asserts that each drawer whose pages are whole is there, unchanged and with its vector if that is whole, too.
fn assert_whole_drawers(what: &str, drawers: &BTreeMap<DrawerId, Drawer>, damaged: &BTreeSet<usize>) {
    let sound = sound();
    let whole = |pages: &[usize]| pages.iter().all(|page| !damaged.contains(page));
    for (id, expected) in &sound.truth.drawers {
        let Some(drawer) = drawers.get(id) else {
            assert!(
                !whole(&sound.pages[id]),
                "{what}: {id} has whole pages and is missing"
            );
            continue;
        };
        if let Some(pages) = sound.vectors.get(id).filter(|pages| whole(pages)) {
            assert_eq!(drawer.embedding, expected.embedding, "{what}: {id} on {pages:?}");
        }
        let bare = |drawer: &Drawer| Drawer {
            embedding: None,
            ..drawer.clone()
        };
        assert_eq!(bare(drawer), bare(expected), "{what}");
    }
}

/// Compares what a rescue found with what it could find.
fn assert_honest(what: &str, found: &PalaceRemains, damaged: &BTreeSet<usize>) -> (usize, usize) {
    let sound = sound();
    let names = found.backend.collections(&found.palace).unwrap();
    let drawers = match names.first() {
        Some(info) => rescued(found, info.name.as_str()).drawers,
        None => BTreeMap::new(),
    };
    assert_whole_drawers(what, &drawers, damaged);
    let doubtful: BTreeSet<&str> = found.doubtful.iter().map(|drawer| drawer.id.as_str()).collect();
    for id in drawers.keys().filter(|id| !sound.truth.drawers.contains_key(*id)) {
        assert!(sound.ever.contains(id), "{what}: {id} was never filed");
        assert!(
            doubtful.contains(id.as_str()),
            "{what}: {id} was removed and came back"
        );
    }
    let listed: BTreeSet<&str> = found.lost.iter().filter_map(|lost| lost.id.as_deref()).collect();
    let unnamed = found.lost.iter().filter(|lost| lost.id.is_none());
    // Without either record of the log one may be missing, but here was none.
    let unnamed = unnamed.filter(|lost| !lost.reason.contains("palace.db-wal"));
    // No number at all stands for any number.
    let counted: u64 = unnamed.map(|lost| lost.count.unwrap_or(u64::MAX / 1000)).sum();
    let missing: Vec<&DrawerId> = sound
        .truth
        .drawers
        .keys()
        .filter(|id| !drawers.contains_key(*id))
        .collect();
    let unlisted = missing.iter().filter(|id| !listed.contains(id.as_str())).count();
    assert!(
        unlisted as u64 <= counted,
        "{what}: {unlisted} of {missing:?} are not in {:?}",
        found.lost
    );
    for id in &listed {
        let id = DrawerId::new(*id).unwrap();
        assert!(
            !drawers.contains_key(&id),
            "{what}: {id} came back and is listed as lost"
        );
    }
    (
        missing.len(),
        drawers.len()
            - drawers
                .keys()
                .filter(|id| sound.truth.drawers.contains_key(*id))
                .count(),
    )
}

#[test]
fn every_drawer_whose_pages_are_whole_comes_back_and_the_others_are_listed() {
    let pages = sound().bytes.len() / PAGE;
    let (rounds, first) = (campaign_rounds(40), campaign_setting("LOCI_SEED", 1));
    let (mut lost, mut doubtful, mut harmed) = (0, 0, 0);
    for seed in first..first + rounds {
        let mut random = SeededRandom::new(seed);
        let mut bytes = sound().bytes.clone();
        let most = [1, 3, 8, 30, pages / 2][random.below(5)];
        let mut damaged: BTreeSet<usize> = (0..1 + random.below(most))
            .map(|_| 1 + random.below(pages))
            .collect();
        // The pages that say how the others are used are few, so that chance alone would rarely meet them.
        if random.below(3) == 0 {
            damaged.insert(1);
        }
        if random.below(3) == 0 {
            damaged.insert(2);
        }
        damaged
            .iter()
            .for_each(|number| harm(&mut bytes, *number, &mut random));
        if random.below(6) == 0 {
            let keep = pages / 2 + random.below(pages / 2);
            bytes.truncate(keep * PAGE + random.below(PAGE));
            damaged.extend(keep + 1..=pages);
        }
        let folder = raw::folder_with(&bytes);
        let what = format!("seed {seed}, pages {damaged:?}");
        let backend = EmbeddedBackend::new();
        let found = backend.open_remains(folder.path(), &mut |_, _| {});
        let found = found.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let (missing, returned) = assert_honest(&what, &found, &damaged);
        (lost, doubtful, harmed) = (lost + missing, doubtful + returned, harmed + damaged.len());
    }
    println!(
        "{rounds} rounds from seed {first}, {harmed} damaged pages of {pages} each: {lost} drawers lost and listed, \
         {doubtful} removed ones brought back in doubt"
    );
    assert!(lost > 0, "damage costs drawers");
}

#[test]
fn a_single_flipped_bit_costs_nothing_on_any_page() {
    let pages = sound().bytes.len() / PAGE;
    let mut random = SeededRandom::new(11);
    for _ in 0..campaign_rounds(12) {
        let mut bytes = sound().bytes.clone();
        let number = 1 + random.below(pages);
        let at = (number - 1) * PAGE + random.below(PAGE);
        bytes[at] ^= 1 << random.below(8);
        let folder = raw::folder_with(&bytes);
        let found = remains(folder.path());
        assert_honest(&format!("byte {at}"), &found, &BTreeSet::new());
        assert_eq!(
            (&found.lost, &found.doubtful),
            (&Vec::new(), &Vec::new()),
            "byte {at}"
        );
    }
}

#[test]
fn bits_flipped_in_the_first_page_cost_nothing() {
    let all = campaign_setting("LOCI_ALL_BITS", 0) == 1;
    // Every part of the page is met: the header, the schema, the checksum and the record of the log.
    let step = if all { 1 } else { 1601 };
    let bits = (0..PAGE * 8)
        .step_by(step)
        .chain((PAGE - 36) * 8..(PAGE - 36) * 8 + 4);
    let mut tried = 0;
    for bit in bits {
        let mut bytes = sound().bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let folder = raw::folder_with(&bytes);
        let found = EmbeddedBackend::new()
            .open_remains(folder.path(), &mut |_, _| {})
            .unwrap();
        let whole = rescued(&found, "drawers");
        assert_eq!(sound().truth.difference(&whole), None, "bit {bit}");
        assert_eq!(
            (&found.lost, &found.doubtful),
            (&Vec::new(), &Vec::new()),
            "bit {bit}"
        );
        tried += 1;
    }
    println!("{tried} bits of the first page");
}

#[test]
fn removed_drawers_stay_removed_unless_nothing_says_so() {
    let sound = sound();
    let free = {
        let used: BTreeSet<usize> = raw::pages(raw::folder_with(&sound.bytes).path())
            .iter()
            .map(|page| page.number)
            .collect();
        (3..=sound.bytes.len() / PAGE)
            .filter(|page| !used.contains(page))
            .count()
    };
    assert!(free > 3, "some pages are free and keep what was on them");
    // Neither the header, which knows the freelist, nor the pointer map.
    let mut bytes = sound.bytes.clone();
    bytes[..2 * PAGE].fill(0);
    let found = remains(raw::folder_with(&bytes).path());
    let name = found.backend.collections(&found.palace).unwrap()[0].name.clone();
    let drawers = rescued(&found, name.as_str()).drawers;
    let returned = drawers.keys().find(|id| !sound.truth.drawers.contains_key(*id));
    assert_eq!(returned, None, "its tombstone can be read");
    assert_eq!(drawers.len(), sound.truth.drawers.len());
}
