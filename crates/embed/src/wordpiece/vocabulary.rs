//! The compiled-in vocabulary file: entries, their offsets, and a hash table, all read in place.
//!
//! Layout, little-endian: `SLOTS` × u16 (the id in this slot of the hash table, `EMPTY` if none), `ENTRIES + 1`
//! × u32 (the offset of each entry in the text, and the end of the last), then the concatenated text of all
//! entries. An entry that continues a word keeps its `##`.

use loci_core::{Error, Result};

use super::ENTRIES;

/// The file, made by `cargo run -p loci-embed --example vocabulary`.
static FILE: &[u8] = include_bytes!("../../assets/vocabulary.bin");

/// The number of slots in the hash table: a power of two, about twice the entries.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 16;

/// A slot without an entry; ids stay far below.
const EMPTY: u16 = u16::MAX;

/// The prefix of an entry that continues a word.
const CONTINUES: &str = "##";

/// The longest entry in bytes, without its `##`.
pub(super) const LONGEST: usize = 18;

/// The base of the polynomial hash and the multiplier that spreads it; any odd numbers would do.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

/// `BASE` to the power of each length an entry may have.
const POWERS: [u64; LONGEST + 1] = compute_powers();

#[allow(
    clippy::indexing_slicing,
    reason = "it runs while compiling, where a panic is an error"
)]
const fn compute_powers() -> [u64; LONGEST + 1] {
    let mut powers = [1; LONGEST + 1];
    let mut at = 1;
    while at <= LONGEST {
        powers[at] = u64::wrapping_mul(powers[at - 1], BASE);
        at += 1;
    }
    powers
}

static TABLE: &[[u8; 2]] = FILE.split_at(2 * SLOTS).0.as_chunks().0;
static BOUNDS: &[[u8; 4]] = FILE
    .split_at(2 * SLOTS)
    .1
    .split_at(4 * (ENTRIES + 1))
    .0
    .as_chunks()
    .0;
static TEXT: &[u8] = FILE.split_at(2 * SLOTS).1.split_at(4 * (ENTRIES + 1)).1;

/// Extends the hash of a text by one byte.
#[inline]
pub(super) fn extend_hash(hash: u64, byte: u8) -> u64 {
    // Plus one, so that leading zero bytes change the hash too.
    hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1)
}

/// Returns the hash of the `length` bytes between two prefixes of one word.
#[inline]
pub(super) fn hash_between(shorter: u64, longer: u64, length: usize) -> u64 {
    let power = POWERS.get(length).copied().unwrap_or_default();
    longer.wrapping_sub(shorter.wrapping_mul(power))
}

/// Returns the slot at which the search for a piece begins.
#[inline]
fn first_slot(hash: u64, continues: bool) -> usize {
    let hash = hash.wrapping_add(u64::from(continues)).wrapping_mul(SPREAD);
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

/// Returns the bytes of the entry `id`.
#[inline]
fn entry_bytes(id: u16) -> Option<&'static [u8]> {
    let [begin, end] = BOUNDS.get(usize::from(id)..)?.first_chunk()?;
    TEXT.get(u32::from_le_bytes(*begin) as usize..u32::from_le_bytes(*end) as usize)
}

/// Returns the entry `id` as text, with its `##`.
pub(super) fn entry_text(id: u16) -> Option<&'static str> {
    entry_bytes(id).and_then(|bytes| std::str::from_utf8(bytes).ok())
}

/// Returns the id of `piece`, whose hash is `hash`; `continues` asks for the entry with `##`.
#[inline]
pub(super) fn find_entry(piece: &[u8], hash: u64, continues: bool) -> Option<u16> {
    let first = first_slot(hash, continues);
    for slot in (first..SLOTS).chain(0..first) {
        // Linear probing ends at the first empty slot; the table is at most half full, so runs stay
        // short.
        let id = u16::from_le_bytes(*TABLE.get(slot)?);
        if id == EMPTY {
            return None;
        }
        let entry = entry_bytes(id)?;
        let same = if continues {
            entry.strip_prefix(CONTINUES.as_bytes())
        } else {
            Some(entry)
        };
        if same == Some(piece) {
            return Some(id);
        }
    }
    None
}

/// Builds the file from the entries in the order of their ids.
///
/// Refuses a list of a length other than [`ENTRIES`], and an entry that is repeated, empty or too long.
pub fn build_file<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Vec<u8>> {
    let entries: Vec<&str> = entries.into_iter().collect();
    if entries.len() != ENTRIES {
        return Err(Error::invalid(format!(
            "the vocabulary has {} entries, not {ENTRIES}",
            entries.len()
        )));
    }
    let mut table = vec![None; SLOTS];
    let mut bounds = vec![0_u32];
    let mut text = String::new();
    for (id, entry) in entries.iter().enumerate() {
        // An entry of only `##` would be a plain word, not a continuation by nothing.
        let (piece, continues) = match entry.strip_prefix(CONTINUES) {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (*entry, false),
        };
        if piece.is_empty() || piece.len() > LONGEST {
            return Err(Error::invalid(format!(
                "entry {id} of the vocabulary, {entry:?}, is empty or too long"
            )));
        }
        let first = first_slot(piece.bytes().fold(0, extend_hash), continues);
        for slot in (first..SLOTS).chain(0..first) {
            match table.get_mut(slot) {
                Some(free @ None) => {
                    *free = Some(id);
                    break;
                }
                Some(Some(other)) if entries.get(*other) == Some(entry) => {
                    return Err(Error::invalid(format!(
                        "{entry:?} appears twice in the vocabulary: {other}, {id}"
                    )));
                }
                _ => {}
            }
        }
        text.push_str(entry);
        bounds.push(u32::try_from(text.len()).map_err(|_| Error::invalid("the vocabulary is too long"))?);
    }
    let ids = table
        .into_iter()
        .map(|id| id.and_then(|id| u16::try_from(id).ok()).unwrap_or(EMPTY));
    let mut file: Vec<u8> = ids.flat_map(u16::to_le_bytes).collect();
    file.extend(bounds.into_iter().flat_map(u32::to_le_bytes));
    file.extend(text.as_bytes());
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> impl Iterator<Item = &'static str> {
        (0..ENTRIES).map(|id| entry_text(u16::try_from(id).unwrap()).unwrap())
    }

    fn search(entry: &str) -> Option<u16> {
        let continues = entry.len() > CONTINUES.len() && entry.starts_with(CONTINUES);
        let piece = if continues {
            &entry.as_bytes()[CONTINUES.len()..]
        } else {
            entry.as_bytes()
        };
        find_entry(piece, piece.iter().copied().fold(0, extend_hash), continues)
    }

    #[test]
    fn every_entry_is_found_under_its_own_text() {
        for (id, entry) in entries().enumerate() {
            assert_eq!(search(entry), u16::try_from(id).ok(), "{entry:?}");
        }
        assert_eq!(entry_text(u16::try_from(ENTRIES).unwrap()), None);
        assert_eq!(search("nosuchentry"), None);
        assert_eq!(search(""), None);
    }

    #[test]
    fn the_table_holds_each_id_once_and_the_bounds_cover_the_text() {
        let mut ids: Vec<u16> = TABLE
            .iter()
            .map(|id| u16::from_le_bytes(*id))
            .filter(|id| *id != EMPTY)
            .collect();
        ids.sort_unstable();
        assert!(ids.iter().copied().map(usize::from).eq(0..ENTRIES));
        assert_eq!(u32::from_le_bytes(BOUNDS[0]), 0);
        assert_eq!(u32::from_le_bytes(BOUNDS[ENTRIES]) as usize, TEXT.len());
        assert!(BOUNDS.is_sorted_by_key(|bound| u32::from_le_bytes(*bound)));
        assert!(FILE.len() <= 520 * 1000, "{} bytes", FILE.len());
    }

    #[test]
    fn the_file_is_what_its_entries_build() {
        assert!(build_file(entries()).unwrap() == FILE);
    }

    #[test]
    fn a_list_that_cannot_be_a_vocabulary_is_refused() {
        assert!(build_file(entries().skip(1)).is_err());
        assert!(
            build_file(entries().skip(1).chain(["the"]))
                .unwrap_err()
                .message()
                .contains("twice")
        );
        assert!(build_file(entries().skip(1).chain([""])).is_err());
        assert!(build_file(entries().skip(1).chain(["longerthananyentryis"])).is_err());
    }

    #[test]
    fn the_hash_of_a_part_is_that_of_the_part_alone() {
        let prefixes: Vec<u64> = b"unbelievable"
            .iter()
            .scan(0, |hash, byte| {
                *hash = extend_hash(*hash, *byte);
                Some(*hash)
            })
            .collect();
        assert_eq!(
            hash_between(prefixes[1], prefixes[6], 5),
            b"belie".iter().copied().fold(0, extend_hash)
        );
    }
}
