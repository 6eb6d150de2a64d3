//! One kind of damage at a time, on files with small, usual and large pages, fragmented and tidy.

use super::made::{LATE, Made, Recipe};
use super::{check, check_live, rows_of, salvaged};
use crate::salvage::salvage_database;

fn made(page_size: usize, vacuum: bool) -> Made {
    Made::new(Recipe {
        page_size,
        records: 400,
        vacuum,
    })
}

fn usual() -> Made {
    made(4096, false)
}

/// Overwrites pages with zeros.
fn wipe(made: &Made, pages: &[u32]) -> Vec<u8> {
    let mut bytes = made.bytes.clone();
    for page in pages {
        let start = (*page as usize - 1) * made.page_size;
        bytes[start..start + made.page_size].fill(0);
    }
    bytes
}

/// Bytes that mean nothing.
pub(super) fn garbage(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn a_whole_file_is_saved_whole() {
    for (page_size, vacuum) in [
        (512, false),
        (1024, true),
        (4096, false),
        (4096, true),
        (65_536, false),
    ] {
        let made = made(page_size, vacuum);
        let saved = salvaged(&made.bytes);
        assert!(rows_of(&saved, &made) == made.live, "pages of {page_size}");
        assert_eq!(saved.losses, [], "pages of {page_size}");
        assert!(saved.loose_rows.is_empty() && saved.restored_documents == 0);
        assert!(saved.saved_rows["embeddings"] > 100);
    }
}

#[test]
fn without_its_first_page_a_file_keeps_every_other_row() {
    for (page_size, vacuum) in [(512, false), (4096, false), (4096, true)] {
        let made = made(page_size, vacuum);
        let saved = check_live(&made, &wipe(&made, &[1]));
        assert!(
            saved.loose_rows.is_empty(),
            "what the other pages say leads to every row: {:?}",
            saved.loose_rows
        );
        assert!(!saved.losses.is_empty());
    }
}

#[test]
fn a_large_first_page_takes_the_names_of_all_tables_with_it_and_the_rows_stay() {
    let made = made(65_536, false);
    let saved = check(&made, &wipe(&made, &[1]));
    assert!(
        saved.loose_rows["embeddings"] > 100,
        "all rows are on loose pages: {:?}",
        saved.loose_rows
    );
}

#[test]
fn a_first_page_of_garbage_is_as_good_as_none() {
    let made = usual();
    let mut bytes = made.bytes.clone();
    bytes[..4096].copy_from_slice(&garbage(7, 4096));
    check_live(&made, &bytes);
}

#[test]
fn without_its_inner_pages_a_table_keeps_every_row_and_no_deleted_one_comes_back() {
    for page_size in [512, 4096] {
        let made = made(page_size, false);
        for table in [
            "embedding_metadata",
            "embeddings_queue",
            "embedding_fulltext_search_content",
        ] {
            let inner = made.pages_of(table, "internal");
            assert!(!inner.is_empty(), "{table} is too small to lose anything");
            let saved = check_live(&made, &wipe(&made, &inner));
            assert!(
                saved.loose_rows.get(table).is_some_and(|rows| *rows > 100),
                "{:?}",
                saved.loose_rows
            );
            assert!(saved.saved_rows[table] > 100);
        }
    }
}

#[test]
fn arrays_stay_arrays_when_their_tree_is_lost() {
    let made = made(512, false);
    let mut inner = made.pages_of("embedding_metadata_array", "internal");
    check_live(&made, &wipe(&made, &inner));
    inner.extend(made.pages_of("embedding_metadata", "internal"));
    check_live(&made, &wipe(&made, &inner));
}

#[test]
fn a_lost_document_is_put_back_from_the_copy_in_the_full_text() {
    let made = usual();
    let leaves = made.pages_of("embedding_metadata", "leaf");
    let mut some: Vec<_> = leaves.iter().step_by(4).copied().collect();
    some.extend(made.pages_of("embedding_metadata", "overflow").iter().step_by(9));
    let saved = check_live(&made, &wipe(&made, &some));
    assert!(
        saved.restored_documents > 10,
        "{} documents were put back",
        saved.restored_documents
    );
    let documents =
        |row: &&String| row.starts_with("embedding_metadata: ") && row.contains("chroma:document");
    let rows = rows_of(&saved, &made);
    let (before, after) = (made.live.iter().filter(documents), rows.iter().filter(documents));
    assert!(before.eq(after), "every document is there");
    assert!(
        saved.losses.iter().any(|loss| loss.page == Some(some[0])),
        "{:?}",
        saved.losses
    );
}

#[test]
fn a_row_whose_text_is_torn_is_lost_alone() {
    let made = usual();
    let pages = made.pages_of("embeddings_queue", "overflow");
    let page = *pages
        .iter()
        .find(|page| made.page(**page)[..4] == [0; 4])
        .unwrap();
    let mut noise = made.bytes.clone();
    let start = (page as usize - 1) * 4096;
    noise[start..start + 4096].copy_from_slice(&garbage(11, 4096));
    for damaged in [wipe(&made, &[page]), wipe(&made, &[pages[1]]), noise] {
        let saved = check_live(&made, &damaged);
        let lost = made.live.len() - rows_of(&saved, &made).len();
        assert_eq!(lost, 1, "{:?}", saved.losses);
        assert_eq!(saved.losses.len(), 1, "{:?}", saved.losses);
        assert_eq!(saved.losses[0].table.as_deref(), Some("embeddings_queue"));
    }
}

#[test]
fn a_file_that_was_cut_keeps_what_came_before() {
    for page_size in [512, 4096] {
        let made = made(page_size, false);
        for part in [1, 2, 3] {
            let cut = made.bytes.len() * part / 4 + 77;
            let saved = check(&made, &made.bytes[..cut]);
            assert!(!saved.losses.is_empty());
        }
    }
}

#[test]
fn bytes_after_the_end_and_a_wrong_count_of_pages_change_nothing() {
    let made = usual();
    let mut bytes = made.bytes.clone();
    bytes.extend(garbage(3, 4096 * 5 + 99));
    bytes[28..32].copy_from_slice(&3_u32.to_be_bytes());
    let saved = check_live(&made, &bytes);
    assert!(rows_of(&saved, &made) == made.live);
}

#[test]
fn a_broken_list_of_unused_pages_costs_no_row() {
    let made = usual();
    let first = u32::from_be_bytes(made.bytes[32..36].try_into().unwrap());
    assert!(first > 1, "there are unused pages");
    let start = (first as usize - 1) * 4096;
    let mut pages = made.pages_of("embedding_metadata", "internal");
    let mut bytes = wipe(&made, &pages);
    bytes[32..36].copy_from_slice(&0x7fff_ffff_u32.to_be_bytes());
    let by_shape = check_live(&made, &bytes);
    assert!(
        by_shape
            .losses
            .iter()
            .any(|loss| loss.message.contains("unused pages"))
    );
    bytes[start..start + 4].copy_from_slice(&first.to_be_bytes());
    bytes[32..36].copy_from_slice(&first.to_be_bytes());
    check(&made, &bytes);
    pages.push(first);
    check(&made, &wipe(&made, &pages));
}

#[test]
fn a_tree_that_still_leads_to_all_its_leaves_needs_no_loose_ones() {
    let made = usual();
    let leaves = made.pages_of("embedding_metadata", "leaf");
    let first_free = u32::from_be_bytes(made.bytes[32..36].try_into().unwrap());
    let saved = check_live(&made, &wipe(&made, &[leaves[3], leaves[8], first_free]));
    assert!(saved.loose_rows.is_empty(), "{:?}", saved.loose_rows);
    let pages: Vec<_> = saved.losses.iter().map(|loss| loss.page).collect();
    assert_eq!(pages, [Some(leaves[3]), Some(leaves[8])], "{:?}", saved.losses);
}

#[test]
fn a_wrong_size_of_pages_in_the_header_is_not_believed() {
    let made = usual();
    let mut bytes = made.bytes.clone();
    bytes[16..18].copy_from_slice(&1024_u16.to_be_bytes());
    let saved = check_live(&made, &bytes);
    assert!(rows_of(&saved, &made) == made.live);
}

#[test]
fn text_that_is_no_longer_utf_8_is_kept_and_listed() {
    let made = usual();
    let mut bytes = made.bytes.clone();
    let needle = b"text 1 of #000001# text 1";
    for at in 0..bytes.len() - needle.len() {
        if bytes[at..].starts_with(needle) {
            bytes[at + 4] = 0xff;
        }
    }
    let saved = salvaged(&bytes);
    let changed = rows_of(&saved, &made)
        .into_iter()
        .filter(|row| row.contains('\u{fffd}'))
        .count();
    assert_eq!(changed, 3, "metadata, full text and queue");
    let listed = saved.losses.iter().filter(|loss| loss.message.contains("UTF-8"));
    assert_eq!(listed.count(), 3, "{:?}", saved.losses);
}

#[test]
fn pages_that_end_before_their_last_bytes_are_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE TABLE first (x); DROP TABLE first; VACUUM")
        .unwrap();
    drop(connection);
    let mut empty = std::fs::read(&path).unwrap();
    assert_eq!(empty.len(), 4096);
    empty[20] = 12;
    empty[105..107].copy_from_slice(&4084_u16.to_be_bytes());
    let recipe = Recipe {
        page_size: 4096,
        records: 200,
        vacuum: false,
    };
    let made = Made::from_empty(&empty, recipe, LATE, |_| {});
    assert_eq!(made.bytes[20], 12, "the new file leaves as many bytes unused");
    check_live(&made, &made.bytes);
    check_live(&made, &wipe(&made, &[1]));
}

#[test]
fn a_file_is_known_as_a_database_without_its_first_page_too() {
    let known = |bytes: &[u8]| {
        let file = super::file_of(bytes);
        salvage_database(&file, None, &|_, _| {}).is_ok()
    };
    let made = usual();
    assert!(known(&made.bytes));
    assert!(known(&wipe(&made, &[1])));
    for nothing in [
        Vec::new(),
        b"SQLite format 3\0".to_vec(),
        vec![0; 9000],
        garbage(5, 200_000),
    ] {
        assert!(!known(&nothing), "{} bytes", nothing.len());
    }
}
