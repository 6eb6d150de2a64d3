//! The bytes of one page: its checksum, and the parts of the database header that concern all pages.
//!
//! A page ends with its checksum and then some bytes that the checksum does not cover: zeros, except on page 1
//! the records of the log, which are written in place between writes of the page, and their copies on page 2.

use super::backfill::LogBackfill;
use super::mark::LogMark;
use twox_hash::XxHash3_64;

/// Bytes at the end of every page that hold its checksum and the room behind it.
pub(crate) const RESERVED: u8 = 36;
pub(super) const CHECKSUM: usize = 8;
/// Bytes at the end of every page that its checksum does not cover.
pub(crate) const ROOM: usize = LogBackfill::LENGTH + LogMark::LENGTH;
/// The smallest page SQLite knows; shorter reads are never whole pages.
pub(super) const SMALLEST: usize = 512;
const LARGEST: usize = 65_536;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The byte at which SQLite keeps its locks: the page that holds it is never written.
const PENDING_BYTE: i64 = 0x4000_0000;
const SALT: u64 = 0x6c6f_6369_2070_6167;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The fields of a database header that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DatabaseHeader {
    pub(super) page_size: usize,
    pub(super) reserved: u8,
    pub(super) wal: bool,
}

impl DatabaseHeader {
    /// The number of bytes at the start of the file that hold these fields.
    pub(super) const LENGTH: usize = 24;

    /// Parses the header at the start of the file; `None` if SQLite would not see a database.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let page_size = match u16::from_be_bytes([*bytes.get(16)?, *bytes.get(17)?]) {
            // 65,536 does not fit into two bytes; SQLite writes 1 for it.
            1 => LARGEST,
            size => usize::from(size),
        };
        is_page_size(page_size).then_some(Self {
            page_size,
            reserved: *bytes.get(20)?,
            wal: *bytes.get(19)? == 2,
        })
    }
}

/// Returns whether SQLite allows pages of this size.
pub(super) fn is_page_size(size: usize) -> bool {
    size.is_power_of_two() && (SMALLEST..=LARGEST).contains(&size)
}

/// Returns the number of the page at `offset`, counted from one.
pub(super) fn page_number(offset: i64, page_size: usize) -> Option<u32> {
    let size = i64::try_from(page_size).ok()?;
    u32::try_from(offset.checked_div(size)?.checked_add(1)?).ok()
}

/// Returns the offset of page `number`.
pub(super) fn page_offset(number: u32, page_size: usize) -> i64 {
    i64::from(number.saturating_sub(1)).saturating_mul(page_size as i64)
}

/// Returns the offset of the checksum of page 1.
pub(super) fn seal_offset(page_size: usize) -> i64 {
    page_offset(2, page_size) - i64::from(RESERVED)
}

/// Returns whether this is the page of SQLite's locks, which holds no data.
pub(crate) fn is_lock_page(number: u32, page_size: usize) -> bool {
    let start = page_offset(number, page_size);
    (start..start.saturating_add(page_size as i64)).contains(&PENDING_BYTE)
}

fn page_checksum(number: u32, content: &[u8]) -> [u8; 8] {
    // Seeded with the page number, so that a sound page written to the wrong place fails its check.
    let seed = SALT ^ u64::from(number).wrapping_mul(SPREAD);
    XxHash3_64::oneshot_with_seed(seed, content).to_le_bytes()
}

/// Splits a page into its content, its checksum, and the room after it.
fn split_page(page: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (sealed, room) = page.split_at_checked(page.len().checked_sub(ROOM)?)?;
    let (content, sum) = sealed.split_at_checked(sealed.len().checked_sub(CHECKSUM)?)?;
    Some((content, sum, room))
}

/// Returns the bytes of an overflow page after its pointer to the next one, and the checksum that the page carries.
pub(super) fn split_overflow(page: &[u8]) -> Option<(&[u8], [u8; CHECKSUM])> {
    let (content, sum, _) = split_page(page)?;
    Some((content.get(4..)?, *sum.first_chunk()?))
}

/// Writes the checksum of the page after its content, and zeros after that; page 1 keeps its room.
pub(super) fn seal_page(number: u32, page: &mut [u8]) {
    let Some((content, ..)) = split_page(page) else {
        return;
    };
    let (end, sum) = (content.len(), page_checksum(number, content));
    let (_, tail) = page.split_at_mut(end);
    let (place, room) = tail.split_at_mut(CHECKSUM);
    place.copy_from_slice(&sum);
    if number != 1 {
        room.fill(0);
    }
}

/// Returns the bytes for the room of page 1: the name of the file's own log, and how far it was copied.
pub(super) fn log_room(backfill: LogBackfill, mark: LogMark) -> [u8; ROOM] {
    let mut room = [0; ROOM];
    let (first, last) = room.split_at_mut(LogBackfill::LENGTH);
    first.copy_from_slice(&backfill.to_bytes());
    last.copy_from_slice(&mark.to_bytes());
    room
}

pub(super) fn is_room(bytes: &[u8]) -> bool {
    bytes
        .split_at_checked(LogBackfill::LENGTH)
        .is_some_and(|(first, last)| LogBackfill::parse(first).is_some() && LogMark::parse(last).is_some())
}

/// Returns whether the page is the one that was sealed under this number. A page of zeros never is.
///
/// The room of page 2 holds copies, so that damage to it is no reason to refuse the page.
pub(super) fn is_sealed(number: u32, page: &[u8]) -> bool {
    split_page(page).is_some_and(|(content, sum, room)| {
        let room_is_sound = match number {
            1 => is_room(room),
            2 => true,
            _ => is_blank(room),
        };
        room_is_sound && *sum == page_checksum(number, content)
    })
}

/// Returns whether the page is as it was written to the last byte.
pub(super) fn is_pristine(number: u32, page: &[u8]) -> bool {
    let copies_are_sound = || split_page(page).is_some_and(|(_, _, room)| is_blank(room) || is_room(room));
    is_sealed(number, page) && (number != 2 || copies_are_sound())
}

fn is_blank(room: &[u8]) -> bool {
    room.iter().all(|byte| *byte == 0)
}

/// Returns whether the content of the page is what was sealed under this number, whatever stands after its checksum.
pub(crate) fn is_content_sound(number: u32, page: &[u8]) -> bool {
    split_page(page).is_some_and(|(content, sum, _)| *sum == page_checksum(number, content))
}

/// Puts a page right of which a single bit of content or checksum was flipped; false if that is not what happened to it.
///
/// Each bit is tried. A wrong page that passes by chance is one in 2^48: there are fewer than 2^16 bits to try, and the
/// checksum has 64.
pub(crate) fn correct_flipped_bit(number: u32, page: &mut [u8]) -> bool {
    let Some(sealed) = page.len().checked_sub(ROOM) else {
        return false;
    };
    // A page that was never written, or was wiped, is not one flipped bit away from anything.
    if page.iter().all(|byte| *byte == 0) {
        return false;
    }
    for at in 0..sealed {
        for bit in 0..8 {
            flip_bit(page, at, bit);
            if is_content_sound(number, page) {
                return true;
            }
            flip_bit(page, at, bit);
        }
    }
    false
}

fn flip_bit(page: &mut [u8], at: usize, bit: u8) {
    if let Some(byte) = page.get_mut(at) {
        *byte ^= 1 << bit;
    }
}

/// Returns whether these bytes are one or more whole pages.
pub(super) fn are_whole_pages(length: usize, offset: i64, page_size: usize) -> bool {
    length >= page_size && length.is_multiple_of(page_size) && offset % page_size as i64 == 0
}

/// Returns the first of these pages that does not carry its checksum.
pub(super) fn first_damaged(bytes: &[u8], offset: i64, page_size: usize) -> Option<u32> {
    let first = page_number(offset, page_size)?;
    (first..)
        .zip(bytes.chunks_exact(page_size))
        .find(|(number, page)| !is_sealed(*number, page))
        .map(|(number, _)| number)
}

/// Returns whether the first page is sealed but its header denies it: damage to the byte that switches checks on.
pub(super) fn is_disguised(page: &[u8]) -> bool {
    let mut copy = page.to_vec();
    let Some(reserved) = copy.get_mut(20) else {
        return false;
    };
    // Judged as if this byte had its value in a checked file; the checksum covers the byte, so it must match.
    *reserved = RESERVED;
    DatabaseHeader::parse(&copy)
        .and_then(|header| copy.get(..header.page_size))
        .is_some_and(|first| is_sealed(1, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_sealed_for_its_own_number_and_no_byte_may_change() {
        let mut page: Vec<u8> = (0..4096_u32).map(|at| (at % 251) as u8).collect();
        seal_page(7, &mut page);
        assert!(is_sealed(7, &page) && !is_sealed(8, &page));
        for at in 0..page.len() {
            page[at] ^= 1;
            assert!(!is_sealed(7, &page), "byte {at}");
            page[at] ^= 1;
        }
    }

    #[test]
    fn a_page_of_zeros_is_damage_unless_it_was_sealed() {
        for number in 1..2_000 {
            let mut page = vec![0; 8192];
            assert!(!is_sealed(number, &page));
            page[8192 - ROOM..].copy_from_slice(&log_room(LogBackfill::default(), LogMark::default()));
            seal_page(number, &mut page);
            assert!(is_sealed(number, &page));
        }
    }

    #[test]
    fn the_header_gives_page_size_and_opt_in() {
        let mut first = vec![0; 8192];
        first[..16].copy_from_slice(MAGIC);
        first[16..21].copy_from_slice(&[0x20, 0, 2, 2, RESERVED]);
        let header = DatabaseHeader {
            page_size: 8192,
            reserved: RESERVED,
            wal: true,
        };
        assert_eq!(DatabaseHeader::parse(&first), Some(header));
        first[8192 - ROOM..].copy_from_slice(&log_room(LogBackfill::default(), LogMark::default()));
        seal_page(1, &mut first);
        assert!(is_disguised(&first));
        first[20] = 0;
        assert!(is_disguised(&first), "the opt-in byte alone was damaged");
        first[16..18].copy_from_slice(&[0, 1]);
        assert_eq!(
            DatabaseHeader::parse(&first).map(|header| header.page_size),
            Some(65_536)
        );
        first[16..18].copy_from_slice(&[0x21, 0]);
        assert_eq!(DatabaseHeader::parse(&first), None);
    }

    #[test]
    fn the_lock_page_is_the_one_with_the_pending_byte() {
        assert!(is_lock_page(131_073, 8192));
        assert!(!is_lock_page(131_072, 8192) && !is_lock_page(131_074, 8192));
        assert_eq!(page_number(page_offset(131_073, 8192), 8192), Some(131_073));
    }
}
