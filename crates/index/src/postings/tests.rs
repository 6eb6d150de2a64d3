//! Everything written is read back, and no bytes make a reader panic.

use super::*;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

type Counts = BTreeMap<String, u32>;

fn tokens(counts: &Counts) -> String {
    let each = counts
        .iter()
        .flat_map(|(term, count)| vec![term.as_str(); *count as usize]);
    each.collect::<Vec<_>>().join(" ")
}

fn read_bag(bytes: &[u8]) -> Counts {
    let mut found = Counts::new();
    WordBag::new(bytes)
        .for_each_term(|term, count| {
            found.insert(String::from_utf8(term.to_vec()).unwrap(), count);
        })
        .unwrap();
    found
}

/// Every drawer of a stored segment, read back through its blocks.
fn read_segment(sealed: &SealedPostings) -> BTreeMap<i64, (u32, Counts)> {
    let rows = read_rows(&sealed.rows, sealed.first, sealed.drawers).unwrap();
    let lengths = read_lengths(&sealed.lengths, sealed.drawers).unwrap();
    let mut found: BTreeMap<i64, (u32, Counts)> = rows
        .iter()
        .zip(lengths)
        .map(|(row, length)| (*row, (length, Counts::new())))
        .collect();
    for block in &sealed.blocks {
        TermBlock::new(block)
            .for_each_entry(|entry| {
                let term = String::from_utf8(entry.term.to_vec()).unwrap();
                entry.list.for_each_drawer(|drawer, count| {
                    let drawer = found.get_mut(&rows[drawer as usize]).unwrap();
                    drawer.1.insert(term.clone(), count);
                })?;
                Ok(true)
            })
            .unwrap();
    }
    found
}

fn seal(drawers: &BTreeMap<i64, Counts>) -> SealedPostings {
    let mut writer = PostingsWriter::default();
    for (row, counts) in drawers {
        writer
            .add_drawer(*row, WordBag::new(&WordBag::pack_tokens(&tokens(counts))))
            .unwrap();
    }
    writer.seal_segment().unwrap()
}

fn expected(drawers: &BTreeMap<i64, Counts>) -> BTreeMap<i64, (u32, Counts)> {
    let length = |counts: &Counts| counts.values().sum();
    drawers
        .iter()
        .map(|(row, counts)| (*row, (length(counts), counts.clone())))
        .collect()
}

fn some_counts() -> impl Strategy<Value = Counts> {
    btree_map(
        "[a-d]{1,3}|[a-z\u{e9}\u{6f22}]{1,12}",
        prop_oneof![1_u32..6, 1_u32..40],
        0..25,
    )
}

fn some_drawers() -> impl Strategy<Value = BTreeMap<i64, Counts>> {
    let row = prop_oneof![0_i64..60, any::<i64>()];
    btree_map(row, some_counts(), 1..40)
}

#[test]
fn the_layout_is_the_one_described() {
    assert_eq!(WordBag::pack_tokens("b a b"), [3, 1, b'a', 1, 1, b'b', 2]);
    let mut list = PostingListWriter::default();
    for (drawer, count) in [(0, 1), (1, 3), (40, 4), (41, 300)] {
        list.push(drawer, count);
    }
    assert_eq!(list.as_list().bytes, [0, 2, 0x9b, 0x01, 0, 3, 0xa8, 0x02]);
    let drawers = [(7, "aa ab"), (8, "ab"), (11, "b")];
    let mut writer = PostingsWriter::default();
    for (row, tokens) in drawers {
        writer
            .add_drawer(row, WordBag::new(&WordBag::pack_tokens(tokens)))
            .unwrap();
    }
    let sealed = writer.seal_segment().unwrap();
    assert_eq!((sealed.first, sealed.last, sealed.drawers), (7, 11, 3));
    assert_eq!(sealed.rows, [0, 2, 2, 1]);
    assert_eq!(sealed.lengths, [2, 1, 1]);
    assert_eq!(sealed.directory, [2, b'a', b'a']);
    let block = [
        &[0, 2, b'a', b'a', 1, 1, 0][..],
        &[1, 1, b'b', 2, 2, 0, 0],
        &[0, 1, b'b', 1, 1, 8],
    ];
    assert_eq!(sealed.blocks, [block.concat()]);
}

#[test]
fn rows_out_of_order_make_no_segment() {
    let mut writer = PostingsWriter::default();
    let bag = WordBag::pack_tokens("a");
    writer.add_drawer(3, WordBag::new(&bag)).unwrap();
    assert!(writer.add_drawer(3, WordBag::new(&bag)).is_err());
    assert!(writer.add_drawer(2, WordBag::new(&bag)).is_err());
    assert!(PostingsWriter::default().seal_segment().is_none());
}

#[test]
fn a_list_longer_than_a_block_has_its_own() {
    let mut writer = PostingsWriter::default();
    for row in 0..20_000 {
        let words = if row % 3 == 0 { "every third" } else { "every zzz" };
        writer
            .add_drawer(row, WordBag::new(&WordBag::pack_tokens(words)))
            .unwrap();
    }
    let sealed = writer.seal_segment().unwrap();
    assert_eq!(sealed.blocks.len(), 3);
    let terms = [b"every".as_slice(), b"nothing", b"third", b"zzz", b"zzzz"];
    let places = TermDirectory::new(&sealed.directory).find_blocks(&terms).unwrap();
    assert_eq!(places, [Some(0), Some(0), Some(1), Some(2), Some(2)]);
    let list = TermBlock::new(&sealed.blocks[2])
        .find_term(b"zzz")
        .unwrap()
        .unwrap();
    assert_eq!(list.drawers, 13_333);
}

#[test]
fn counts_that_do_not_add_up_are_refused() {
    let mut bag = WordBag::pack_tokens("a b b");
    assert!(WordBag::new(&bag).for_each_term(|_, _| {}).is_ok());
    bag[0] = 2;
    assert!(WordBag::new(&bag).for_each_term(|_, _| {}).is_err());
    assert!(
        WordBag::new(&[2, 1, b'b', 1, 1, b'a', 1])
            .for_each_term(|_, _| {})
            .is_err(),
        "out of order"
    );
}

#[test]
fn rows_that_nobody_wrote_are_refused() {
    assert_eq!(read_rows(&[0, 2, 2, 1], 7, 3).unwrap(), [7, 8, 11]);
    for bytes in [&[0, 2][..], &[0, 4], &[1, 3], &[0, 3, 0, 0], &[0, 3, 5], &[]] {
        assert!(read_rows(bytes, 7, 3).is_err(), "{bytes:?}");
    }
    assert!(read_rows(&[0, 2], i64::MAX, 2).is_err());
    assert!(read_rows(&[0, 1], 0, usize::MAX).is_err());
    assert!(read_lengths(&[1, 2], 1).is_err() && read_lengths(&[1], 2).is_err());
}

proptest! {
    #[test]
    fn the_words_of_a_drawer_come_back(counts in some_counts(), asked in btree_set("[a-d]{1,3}", 0..12)) {
        let bytes = WordBag::pack_tokens(&tokens(&counts));
        prop_assert_eq!(read_bag(&bytes), counts.clone());
        prop_assert_eq!(WordBag::new(&bytes).length().unwrap(), counts.values().sum::<u32>());
        let asked: Vec<&[u8]> = asked.iter().map(|term| term.as_bytes()).collect();
        let mut found = BTreeMap::new();
        WordBag::new(&bytes).find_terms(&asked, |at, count| {
            found.insert(asked[at], count);
        }).unwrap();
        let there: BTreeMap<&[u8], u32> = counts.iter()
            .filter(|(term, _)| asked.contains(&term.as_bytes()))
            .map(|(term, count)| (term.as_bytes(), *count)).collect();
        prop_assert_eq!(found, there);
    }

    #[test]
    fn a_segment_comes_back_and_every_term_is_found(drawers in some_drawers()) {
        let sealed = seal(&drawers);
        prop_assert_eq!(read_segment(&sealed), expected(&drawers));
        let mut terms: Vec<&[u8]> = drawers.values().flat_map(|counts| counts.keys()).map(|term| term.as_bytes()).collect();
        terms.sort_unstable();
        terms.dedup();
        let places = TermDirectory::new(&sealed.directory).find_blocks(&terms).unwrap();
        for (term, place) in terms.iter().zip(places) {
            let list = TermBlock::new(&sealed.blocks[place.unwrap()]).find_term(term).unwrap().unwrap();
            let holding = drawers.values().filter(|counts| counts.keys().any(|key| key.as_bytes() == *term));
            prop_assert_eq!(list.drawers as usize, holding.count());
        }
    }

    #[test]
    fn segments_merge_into_the_segment_of_the_drawers_that_stay(
        drawers in some_drawers(), cut in any::<i64>(), gone in vec(any::<bool>(), 40),
    ) {
        let mut writer = PostingsWriter::default();
        let (mut low, high) = (drawers.clone(), drawers.clone().split_off(&cut));
        low.retain(|row, _| *row < cut);
        let mut flags = gone.iter().copied().cycle();
        let mut stays = drawers.clone();
        for part in [low, high].iter().filter(|part| !part.is_empty()) {
            let sealed = seal(part);
            let rows = read_rows(&sealed.rows, sealed.first, sealed.drawers).unwrap();
            let lengths = read_lengths(&sealed.lengths, sealed.drawers).unwrap();
            let live: Vec<bool> = rows.iter().map(|_| !flags.next().unwrap()).collect();
            for (row, _) in rows.iter().zip(&live).filter(|(_, live)| !**live) {
                stays.remove(row);
            }
            let numbers = writer.add_drawers(&rows, &lengths, &live).unwrap();
            for block in &sealed.blocks {
                writer.add_block(TermBlock::new(block), &numbers).unwrap();
            }
        }
        match writer.seal_segment() {
            Some(merged) => prop_assert_eq!(read_segment(&merged), expected(&stays)),
            None => prop_assert!(stays.is_empty()),
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in vec(any::<u8>(), 0..200), drawers in any::<u32>(), first in any::<i64>(), few in 0_usize..300,
    ) {
        let terms = [b"a".as_slice(), b"b", b"\xff"];
        let _ = WordBag::new(&bytes).length();
        let _ = WordBag::new(&bytes).for_each_term(|_, _| {});
        let _ = WordBag::new(&bytes).find_terms(&terms, |_, _| {});
        let _ = PostingList { drawers, bytes: &bytes }.for_each_drawer(|_, _| {});
        let _ = TermBlock::new(&bytes).find_term(b"\xff");
        let _ = TermDirectory::new(&bytes).find_blocks(&terms);
        let _ = read_rows(&bytes, first, drawers as usize);
        let _ = read_rows(&bytes, first, few);
        let _ = read_lengths(&bytes, few);
        let mut writer = PostingsWriter::default();
        let _ = writer.add_drawer(first, WordBag::new(&bytes));
        let _ = writer.add_block(TermBlock::new(&bytes), &[Some(0), None]);
    }

    #[test]
    fn a_changed_byte_is_an_error_or_other_words_but_no_panic(drawers in some_drawers(), at in any::<usize>(), bit in 0_u8..8) {
        let sealed = seal(&drawers);
        let mut block = sealed.blocks.first().cloned().unwrap_or_default();
        if !block.is_empty() {
            let at = at % block.len();
            block[at] ^= 1 << bit;
            let _ = TermBlock::new(&block).for_each_entry(|entry| entry.list.for_each_drawer(|_, _| {}).map(|()| true));
        }
    }
}
