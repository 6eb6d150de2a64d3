//! Any damage at any place: nothing panics or hangs, rows on whole pages come back, and nothing is made up.

use std::sync::LazyLock;

use loci_core::ErrorKind;
use proptest::prelude::*;

use super::check;
use super::damage::garbage;
use super::made::{Made, Recipe};
use crate::salvage::salvage_database;

static FILES: LazyLock<Vec<Made>> = LazyLock::new(|| {
    let recipe = |page_size, records, vacuum| {
        Made::new(Recipe {
            page_size,
            records,
            vacuum,
        })
    };
    vec![
        recipe(512, 120, false),
        recipe(1024, 160, false),
        recipe(4096, 200, false),
        recipe(4096, 120, true),
        recipe(65_536, 200, false),
    ]
});

/// One thing that goes wrong; places are parts of the file in thousandths.
#[derive(Debug, Clone)]
enum Blow {
    Wipe {
        place: usize,
        pages: usize,
    },
    Garbage {
        place: usize,
        pages: usize,
        seed: u64,
    },
    /// A page was written where another belongs.
    Stray {
        from: usize,
        to: usize,
    },
    Cut {
        place: usize,
    },
    Trailing {
        seed: u64,
    },
    Header {
        at: usize,
        byte: u8,
    },
}

fn blow() -> impl Strategy<Value = Blow> {
    let place = || 0..1000_usize;
    prop_oneof![
        4 => (place(), 1..6_usize).prop_map(|(place, pages)| Blow::Wipe { place, pages }),
        4 => (place(), 1..6_usize, any::<u64>()).prop_map(|(place, pages, seed)| Blow::Garbage { place, pages, seed }),
        2 => (place(), place()).prop_map(|(from, to)| Blow::Stray { from, to }),
        1 => place().prop_map(|place| Blow::Cut { place }),
        1 => any::<u64>().prop_map(|seed| Blow::Trailing { seed }),
        2 => (0..100_usize, any::<u8>()).prop_map(|(at, byte)| Blow::Header { at, byte }),
        2 => (1..4_usize).prop_map(|pages| Blow::Wipe { place: 0, pages }),
    ]
}

fn strike(bytes: &mut Vec<u8>, page_size: usize, blow: &Blow) {
    let pages = bytes.len() / page_size;
    if pages == 0 {
        return;
    }
    let start = |place: usize| pages * place / 1000 * page_size;
    match *blow {
        Blow::Wipe { place, pages } => {
            let end = (start(place) + pages * page_size).min(bytes.len());
            bytes[start(place)..end].fill(0);
        }
        Blow::Garbage { place, pages, seed } => {
            let end = (start(place) + pages * page_size).min(bytes.len());
            let noise = garbage(seed, end - start(place));
            bytes[start(place)..end].copy_from_slice(&noise);
        }
        // A stray page of text in the middle of another text cannot be known for one.
        Blow::Stray { from, to } if bytes[start(from)] != 0 => {
            bytes.copy_within(start(from)..start(from) + page_size, start(to));
        }
        Blow::Stray { .. } => {}
        Blow::Cut { place } => bytes.truncate(start(place) + page_size / 3),
        Blow::Trailing { seed } => bytes.extend(garbage(seed, page_size * 2 + 5)),
        Blow::Header { at, byte } => bytes[at] = byte,
    }
}

#[test]
fn metadata_of_a_segment_that_is_lost_belongs_to_no_collection() {
    let made = &FILES[4];
    let mut bytes = made.bytes.clone();
    let pages = 5;
    for blow in [Blow::Cut { place: 86 }, Blow::Wipe { place: 0, pages }] {
        strike(&mut bytes, made.page_size, &blow);
    }
    let saved = check(made, &bytes);
    let connection = rusqlite::Connection::open(&saved.file).unwrap();
    let question =
        "SELECT count(*) FROM collection_metadata JOIN collections ON collections.id = collection_id";
    let read: i64 = connection.query_row(question, [], |row| row.get(0)).unwrap();
    assert_eq!(read, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_damage_leaves_rows_that_were_written(file in 0..5_usize, blows in prop::collection::vec(blow(), 1..6)) {
        let made = &FILES[file];
        let mut bytes = made.bytes.clone();
        for blow in &blows {
            strike(&mut bytes, made.page_size, blow);
        }
        match salvage_database(&super::file_of(&bytes), None, &|_, _| {}) {
            Ok(_) => drop(check(made, &bytes)),
            Err(cause) => prop_assert_eq!(cause.kind(), ErrorKind::Corrupt),
        }
    }

    #[test]
    fn single_bytes_that_changed_never_stop_it(
        file in 0..5_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..400),
    ) {
        let mut bytes = FILES[file].bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let file = super::file_of(&bytes);
        let saved = salvage_database(&file, None, &|_, _| {}).unwrap();
        prop_assert!(saved.saved_rows["embeddings"] > 0);
    }
}
