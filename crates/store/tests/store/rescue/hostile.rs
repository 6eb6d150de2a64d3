//! Files that were made to exhaust their reader: every checksum is right, and no number is.

use super::{campaign, remains, rescued};
use crate::scene::raw::{self, PAGE};
use loci_core::*;
use loci_store::EmbeddedBackend;
use twox_hash::XxHash3_64;

/// The bytes of a page that its checksum covers.
const CONTENT: usize = PAGE - 36;

/// Gives a page the checksum of its content.
fn seal(bytes: &mut [u8], number: usize) {
    let page = &mut bytes[(number - 1) * PAGE..number * PAGE];
    let seed = 0x6c6f_6369_2070_6167 ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let sum = XxHash3_64::oneshot_with_seed(seed, &page[..CONTENT]).to_le_bytes();
    page[CONTENT..CONTENT + 8].copy_from_slice(&sum);
}

/// The bytes of a varint.
fn varint(value: u64) -> Vec<u8> {
    let mut bytes = vec![(value & 0x7f) as u8];
    let mut rest = value >> 7;
    while rest > 0 {
        bytes.insert(0, (rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes
}

/// A leaf with one drawer whose text has about `pages` pages, all of them the leaf itself.
fn endless_leaf(number: usize, pages: u64) -> Vec<u8> {
    // As SQLite's file format has it, this many bytes are on the page of the cell if the rest fills whole pages.
    let local = (CONTENT - 12) * 32 / 255 - 23;
    let total = local as u64 + pages * (CONTENT as u64 - 4);
    let kinds: Vec<u64> = [0, 1, 21, 1, 76, 8, 6, 0].into_iter().chain([0; 13]).collect();
    let values: Vec<u8> = [&[1][..], b"evil", &[9], &[5; 32], &1_i64.to_be_bytes()].concat();
    // The header counts itself; it has less than 128 bytes.
    let mut header: Vec<u8> = kinds.iter().flat_map(|kind| varint(*kind)).collect();
    let text = total - values.len() as u64 - header.len() as u64 - 1;
    let text = text - varint(2 * text + 13).len() as u64;
    header.extend(varint(2 * text + 13));
    let mut cell = [
        varint(total),
        varint(1_000_000),
        vec![header.len() as u8 + 1],
        header,
        values,
    ]
    .concat();
    let ahead = varint(total).len() + varint(1_000_000).len();
    cell.resize(ahead + local, b'x');
    cell.extend((number as u32).to_be_bytes());
    let mut page = vec![0; PAGE];
    let place = CONTENT - cell.len();
    page[0] = 0x0d;
    page[3..5].copy_from_slice(&1_u16.to_be_bytes());
    page[8..10].copy_from_slice(&(place as u16).to_be_bytes());
    page[place..CONTENT].copy_from_slice(&cell);
    page
}

#[test]
fn a_text_longer_than_the_file_is_not_followed_in_circles() {
    let mut bytes = campaign::sound().bytes.clone();
    let number = bytes.len() / PAGE + 1;
    bytes.extend(endless_leaf(number, 20 * number as u64));
    seal(&mut bytes, number);
    bytes[28..32].copy_from_slice(&(number as u32).to_be_bytes());
    seal(&mut bytes, 1);
    let found = remains(raw::folder_with(&bytes).path());
    let evil = found.lost.iter().find(|lost| lost.id.as_deref() == Some("evil"));
    let evil = evil.unwrap_or_else(|| panic!("{:?}", found.lost));
    assert!(evil.reason.contains("is damaged"), "the chain was read: {evil:?}");
}

#[test]
fn a_header_that_claims_billions_of_pages_costs_no_time() {
    let mut bytes = campaign::sound().bytes.clone();
    let pages = (bytes.len() / PAGE) as u64;
    bytes[28..32].copy_from_slice(&u32::MAX.to_be_bytes());
    seal(&mut bytes, 1);
    let folder = raw::folder_with(&bytes);
    let mut seen = 0;
    let found = EmbeddedBackend::new()
        .open_remains(folder.path(), &mut |done, total| {
            assert!(total <= pages, "{total} pages are to be read");
            seen = done;
        })
        .unwrap();
    assert_eq!(seen, pages);
    assert_eq!(found.lost, []);
    assert_eq!(
        campaign::sound().truth.difference(&rescued(&found, "drawers")),
        None
    );
    let codes: Vec<&str> = found
        .findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    assert_eq!(codes, ["file_cut"]);
    let all = found.findings[0].message.contains(&u32::MAX.to_string());
    assert!(all, "{:?}", found.findings);
}
