//! Damaged bytes must never crash a reader or pass for an answer, and must cost no more than what stood on them.

use std::path::Path;
use std::sync::OnceLock;

use crate::scene::look::{Known, Look};
use crate::scene::raw::{self, PAGE, Page};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds, made_once};

const DIMENSION: usize = 16;
const DRAWERS: usize = 3000;

/// A sound palace as one file, with what is in it and where.
struct Sound {
    bytes: Vec<u8>,
    known: Known,
    pages: Vec<Page>,
}

/// The batches of the palace that is damaged: sealed segments, a tail, marked rows, tombstones, long texts.
fn batches() -> Vec<Vec<Write>> {
    let long = |n: usize| NewDrawer {
        document: format!("{} {}", truth::text(n, 0), "ledger ".repeat(2500)),
        ..truth::drawer(n, 0, DIMENSION)
    };
    let adds: Vec<Write> = (0..DRAWERS)
        .map(|n| match n % 500 {
            250 => Write::Add(long(n)),
            _ => Write::Add(truth::drawer(n, 0, DIMENSION)),
        })
        .collect();
    let mut batches: Vec<Vec<Write>> = adds.chunks(600).map(<[Write]>::to_vec).collect();
    let again = (40..900)
        .step_by(43)
        .map(|n| Write::Upsert(truth::drawer(n, 1, DIMENSION)));
    batches.push(again.collect());
    batches.push(vec![Write::Delete(DeleteSelection::Ids(
        (7..DRAWERS).step_by(61).map(truth::id).collect(),
    ))]);
    batches
}

fn make_sound(folder: &Path) {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, true).unwrap();
    for batch in batches() {
        collection.apply_batch(&batch).unwrap();
    }
    let upkeep = collection.require_upkeep().unwrap();
    upkeep.run(&MaintenanceKind::ANALYZE).unwrap();
    let info = collection.info().unwrap();
    assert!(info.coverage.packed > 1900 && info.coverage.packed < info.coverage.nearest);
    backend.close();
    assert_eq!(raw::names(folder), ["palace.db"], "one file is the whole palace");
}

fn sound() -> &'static Sound {
    static SOUND: OnceLock<Sound> = OnceLock::new();
    SOUND.get_or_init(|| {
        let bytes = std::fs::read(raw::file(&made_once("sound-to-damage", make_sound))).unwrap();
        let mut told = Truth::default();
        batches().iter().for_each(|batch| told.apply(batch));
        let folder = raw::folder_with(&bytes);
        Sound {
            bytes,
            pages: raw::pages(folder.path()),
            known: Known::learn(folder.path(), told, DIMENSION, 60),
        }
    })
}

/// Damages a copy and looks at it; the look must hold no lie.
fn damaged(what: &str, harm: impl FnOnce(&mut Vec<u8>)) -> Look {
    let mut bytes = sound().bytes.clone();
    harm(&mut bytes);
    let folder = raw::folder_with(&bytes);
    let look = sound().known.look(folder.path());
    assert_eq!(look.silent, Vec::<String>::new(), "{what}");
    if bytes != sound().bytes {
        assert!(look.found, "{what}: nobody noticed");
    }
    look
}

fn page_range(number: usize) -> std::ops::Range<usize> {
    (number - 1) * PAGE..number * PAGE
}

fn lost(look: &Look) -> usize {
    sound().known.truth.drawers.len() - look.readable
}

/// The pages a campaign damages: at least one of each kind of each tree, and every n-th of all.
fn chosen(step: usize) -> Vec<usize> {
    let pages = &sound().pages;
    let mut numbers: Vec<usize> = (1..=sound().bytes.len() / PAGE).step_by(step).collect();
    let mut seen = std::collections::BTreeMap::new();
    for page in pages {
        let times: &mut usize = seen.entry((&page.owner, &page.kind)).or_default();
        *times += 1;
        if *times == 1 {
            numbers.push(page.number);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[test]
fn one_flipped_byte_costs_no_more_than_the_drawers_on_its_page() {
    let mut random = SeededRandom::new(1);
    let all = sound().known.truth.drawers.len();
    let (mut worst, mut looked) = (0, 0);
    for number in chosen((24 / campaign_rounds(1).min(24)) as usize) {
        let at = page_range(number).start + random.below(PAGE);
        let flip = 1 << random.below(8);
        let what = format!("byte {at} of page {number} ^ {flip}");
        let look = damaged(&what, |bytes| bytes[at] ^= flip);
        let most = raw::most_lost(&sound().pages, number, all);
        assert!(
            lost(&look) <= most,
            "{what} cost {} drawers, not {most}",
            lost(&look)
        );
        looked += 1;
        if most < all {
            worst = worst.max(lost(&look));
        }
    }
    println!(
        "{looked} of {} pages, seed 1; the worst of a page that is not the root of everything cost {worst} of {all}",
        sound().bytes.len() / PAGE
    );
    assert!(looked > 30);
}

#[test]
fn every_byte_of_the_first_page_that_means_something_is_guarded() {
    for at in (0..100).step_by(7).chain([16, 18, 19, 20, 21, 52, 60, 68, 95]) {
        damaged(&format!("header byte {at}"), |bytes| bytes[at] ^= 0x5a);
    }
}

#[test]
fn random_pages_overwritten_zeroed_or_swapped_are_noticed() {
    let pages = sound().bytes.len() / PAGE;
    for seed in 0..6 * campaign_rounds(1) {
        let mut random = SeededRandom::new(100 + seed);
        let offset = random.below(sound().bytes.len() - 4096);
        damaged(&format!("4 KiB overwritten at {offset}, seed {seed}"), |bytes| {
            bytes[offset..offset + 4096].fill_with(|| random.next_bits() as u8);
        });
        let number = 1 + random.below(pages);
        damaged(&format!("page {number} zeroed, seed {seed}"), |bytes| {
            bytes[page_range(number)].fill(0)
        });
        let (a, b) = (2 + random.below(pages - 1), 2 + random.below(pages - 1));
        damaged(&format!("pages {a} and {b} swapped, seed {seed}"), |bytes| {
            let first = bytes[page_range(a)].to_vec();
            bytes.copy_within(page_range(b), page_range(a).start);
            bytes[page_range(b)].copy_from_slice(&first);
        });
    }
}

#[test]
fn many_damaged_pages_at_once_leave_the_others_readable() {
    let mut random = SeededRandom::new(7);
    let holds = |page: &&Page| page.owner == "drawers" && page.kind == "leaf";
    let leaves: Vec<usize> = sound()
        .pages
        .iter()
        .filter(holds)
        .map(|page| page.number)
        .collect();
    let hit: Vec<usize> = (0..10).map(|_| leaves[random.below(leaves.len())]).collect();
    let look = damaged(&format!("leaves {hit:?}"), |bytes| {
        for number in &hit {
            bytes[page_range(*number).start + 4000] ^= 1;
        }
    });
    let most: usize = hit
        .iter()
        .map(|number| raw::most_lost(&sound().pages, *number, 0))
        .sum();
    println!(
        "{} drawers of ten pages lost, at most {most} could be",
        lost(&look)
    );
    assert!(lost(&look) > 0 && lost(&look) <= most);
}

#[test]
fn a_file_cut_short_is_noticed_whatever_its_length() {
    let length = sound().bytes.len();
    for keep in [
        2,
        15,
        16,
        100,
        PAGE - 1,
        PAGE,
        PAGE + 1,
        3 * PAGE,
        length / 2,
        length / 2 + 77,
        length - PAGE,
        length - 1,
    ] {
        let look = damaged(&format!("cut to {keep} bytes"), |bytes| bytes.truncate(keep));
        println!("cut to {keep} of {length}: {} drawers left", look.readable);
    }
}

#[test]
fn a_file_cut_short_is_read_up_to_the_cut() {
    let whole = sound().bytes.len() / PAGE;
    for keep in [whole - 1, whole * 3 / 4, whole / 2] {
        let look = damaged(&format!("cut to {keep} pages"), |bytes| {
            bytes.truncate(keep * PAGE)
        });
        let cut_off = sound()
            .pages
            .iter()
            .filter(|page| page.number > keep && page.kind != "internal");
        let most: usize = cut_off
            .map(|page| raw::most_lost(&sound().pages, page.number, 0))
            .sum();
        println!(
            "cut to {keep} of {whole} pages: {} drawers lost, at most {most} could be",
            lost(&look)
        );
        assert!(
            lost(&look) <= most,
            "{} drawers are lost, not {most}: {:?}",
            lost(&look),
            look.said.first()
        );
    }
}

#[test]
fn noise_behind_the_end_of_the_file_changes_no_answer() {
    let mut bytes = sound().bytes.clone();
    bytes.extend(vec![0xa5; PAGE]);
    let look = sound().known.look(raw::folder_with(&bytes).path());
    assert_eq!((lost(&look), look.said, look.silent), (0, vec![], vec![]));
}

#[test]
fn a_file_cut_to_nothing_is_said_to_hold_no_palace() {
    let folder = raw::folder_with(b"");
    let error = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    assert!(error.message().contains("empty"), "{error:?}");
    let examined = EmbeddedBackend::new().examine(folder.path());
    assert!(examined.is_err(), "{examined:?}");
}

/// Flips a byte on some pages of each tree whose name begins with `owner`.
fn aimed(owner: &str, kind: &str, most: usize) -> Vec<Look> {
    let hits = |page: &&Page| page.owner.starts_with(owner) && page.kind == kind;
    let pages: Vec<&Page> = sound().pages.iter().filter(hits).collect();
    assert!(!pages.is_empty(), "there is no {kind} page of {owner}");
    let step = (pages.len() / most).max(1);
    let mut random = SeededRandom::new(3);
    let look = |page: &&Page| {
        let at = page_range(page.number).start + 200 + random.below(PAGE - 300);
        damaged(
            &format!("{kind} page {} of {}, byte {at}", page.number, page.owner),
            |bytes| bytes[at] ^= 4,
        )
    };
    pages
        .into_iter()
        .step_by(step)
        .collect::<Vec<_>>()
        .iter()
        .map(look)
        .collect()
}

#[test]
fn a_damaged_segment_changes_no_answer_and_is_warned_of() {
    for look in aimed("segments", "overflow", 4) {
        assert_eq!(lost(&look), 0);
        assert_eq!(look.said, Vec::<String>::new(), "every answer is right");
        assert!(
            look.warnings
                .iter()
                .any(|finding| finding.code == "segment_damaged"),
            "{:?}",
            look.warnings
        );
        assert!(
            look.codes.iter().any(|code| code == "segment_damaged"),
            "{:?}",
            look.codes
        );
    }
}

#[test]
fn damaged_vectors_flag_their_hits_and_cost_no_text() {
    for look in aimed("vectors", "leaf", 6) {
        assert_eq!(lost(&look), 0, "texts are read without their vectors");
        assert!(look.flagged > 0, "a drawer without its vector says so");
        assert!(
            look.warnings
                .iter()
                .any(|finding| finding.code == "vector_damaged"),
            "{:?}",
            look.warnings
        );
    }
}

#[test]
fn damaged_full_text_attributes_and_other_indexes_cost_no_drawer() {
    for owner in [
        "words",
        "attributes",
        "drawers_seq",
        "drawers_place",
        "tombstones",
        "dead",
        "keys",
        "palace",
        "sqlite_stat1",
    ] {
        for look in aimed(owner, "leaf", 2) {
            assert_eq!(lost(&look), 0, "{owner}: {:?}", look.said);
        }
    }
}

#[test]
fn a_damaged_long_text_costs_one_drawer() {
    for look in aimed("drawers", "overflow", 4) {
        assert_eq!(lost(&look), 1, "{:?}", look.said);
    }
}

/// A small closed palace with long vectors, of which few fit on a page.
fn small_palace(folder: &Path) {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, 384, true).unwrap();
    let adds: Vec<Write> = (0..30).map(|n| Write::Add(truth::drawer(n, 0, 384))).collect();
    collection.apply_batch(&adds).unwrap();
    backend.close();
}

/// Overwrites one page of a closed palace.
fn overwrite(folder: &Path, number: usize) {
    let mut bytes = std::fs::read(raw::file(folder)).unwrap();
    bytes[page_range(number)].fill(9);
    std::fs::write(raw::file(folder), bytes).unwrap();
}

#[test]
fn a_collection_whose_words_cannot_be_counted_is_described_and_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    small_palace(folder.path());
    let pages = raw::pages(folder.path());
    let tail = pages.iter().find(|page| page.owner == "words_1_tail").unwrap();
    overwrite(folder.path(), tail.number);
    let collection = truth::open(&EmbeddedBackend::new(), folder.path(), 384, false).unwrap();
    let coverage = collection.info().unwrap().coverage;
    assert_eq!(coverage.lexical, 30, "a search reads the rows instead");
    let warnings = collection.info().unwrap().warnings;
    let codes: Vec<&str> = warnings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(codes.contains(&"full_text_damaged"), "{codes:?}");
}

#[test]
fn an_examination_names_each_drawer_whose_vector_is_on_a_damaged_page() {
    let folder = tempfile::tempdir().unwrap();
    small_palace(folder.path());
    let held = raw::row_pages(folder.path(), "vectors_1");
    let page = held[&12][0];
    let rows: Vec<i64> = held
        .iter()
        .filter(|(_, pages)| pages[0] == page)
        .map(|(row, _)| *row)
        .collect();
    assert!(rows.len() > 1 && rows.len() < 30, "{rows:?}");
    let id = |row: &i64| {
        let found: rusqlite::Result<String> =
            raw::connect(folder.path()).query_row("SELECT id FROM drawers WHERE row = ?1", [row], |found| {
                found.get(0)
            });
        format!("{:?}", found.unwrap())
    };
    let ids: Vec<String> = rows.iter().map(id).collect();
    overwrite(folder.path(), page);
    let findings = EmbeddedBackend::new().examine(folder.path()).unwrap().findings;
    let of = |code: &str| -> Vec<&str> {
        let found = findings.iter().filter(|finding| finding.code == code);
        found.map(|finding| finding.message.as_str()).collect()
    };
    let named = of("vector_damaged");
    assert_eq!(named.len(), ids.len(), "{named:?}");
    assert!(
        ids.iter().zip(&named).all(|(id, message)| message.contains(id)),
        "{named:?}"
    );
    assert_eq!(
        of("vector_count_differs"),
        [] as [&str; 0],
        "each of them is counted"
    );
}
