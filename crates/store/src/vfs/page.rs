//! The bytes of one page: its checksum, and what the database header says about all pages.
//!
//! A page ends with its checksum and then some bytes that the checksum does not cover: zeros, but on page 1
//! what the file says of its log, which is written in place between the writings of the page.

use super::backfill::Backfill;
use super::mark::Mark;
use twox_hash::XxHash3_64;

/// Bytes at the end of every page that hold its checksum and the room behind it.
pub(super) const RESERVED: u8 = 36;
const CHECKSUM: usize = 8;
/// Bytes at the end of every page that its checksum does not cover.
pub(super) const ROOM: usize = Backfill::LENGTH + Mark::LENGTH;
/// The smallest page SQLite knows; shorter reads are never whole pages.
pub(super) const SMALLEST: usize = 512;
const LARGEST: usize = 65_536;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where SQLite keeps its locks: the page that holds this byte is never written.
const PENDING_BYTE: i64 = 0x4000_0000;
const SALT: u64 = 0x6c6f_6369_2070_6167;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the first bytes of a database say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) page_size: usize,
    pub(super) reserved: u8,
    pub(super) wal: bool,
}

impl Header {
    /// Bytes of the file that hold what is read here.
    pub(super) const LENGTH: usize = 24;

    /// Reads the header from the start of the file; none where SQLite would see no database.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let page_size = match u16::from_be_bytes([*bytes.get(16)?, *bytes.get(17)?]) {
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

/// Whether SQLite allows pages of this size.
pub(super) fn is_page_size(size: usize) -> bool {
    size.is_power_of_two() && (SMALLEST..=LARGEST).contains(&size)
}

/// The number of the page at `offset`, counted from one.
pub(super) fn number(offset: i64, page_size: usize) -> Option<u32> {
    let size = i64::try_from(page_size).ok()?;
    u32::try_from(offset.checked_div(size)?.checked_add(1)?).ok()
}

/// Where page `number` begins.
pub(super) fn offset(number: u32, page_size: usize) -> i64 {
    i64::from(number.saturating_sub(1)).saturating_mul(page_size as i64)
}

/// Whether this is the page of SQLite's locks, which holds no data.
pub(super) fn is_lock_page(number: u32, page_size: usize) -> bool {
    let start = offset(number, page_size);
    (start..start.saturating_add(page_size as i64)).contains(&PENDING_BYTE)
}

fn checksum(number: u32, content: &[u8]) -> [u8; 8] {
    let seed = SALT ^ u64::from(number).wrapping_mul(SPREAD);
    XxHash3_64::oneshot_with_seed(seed, content).to_le_bytes()
}

/// The content of a page, its checksum, and the room after it.
fn parts(page: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (sealed, room) = page.split_at_checked(page.len().checked_sub(ROOM)?)?;
    let (content, sum) = sealed.split_at_checked(sealed.len().checked_sub(CHECKSUM)?)?;
    Some((content, sum, room))
}

/// Writes the checksum of the page behind its content, and zeros behind that; page 1 keeps what it has.
pub(super) fn seal(number: u32, page: &mut [u8]) {
    let Some((content, ..)) = parts(page) else {
        return;
    };
    let (end, sum) = (content.len(), checksum(number, content));
    let (_, tail) = page.split_at_mut(end);
    let (place, room) = tail.split_at_mut(CHECKSUM);
    place.copy_from_slice(&sum);
    if number != 1 {
        room.fill(0);
    }
}

/// What stands in the room of page 1: which log is the file's own, and how far it was copied.
pub(super) fn room(backfill: Backfill, mark: Mark) -> [u8; ROOM] {
    let mut room = [0; ROOM];
    let (first, last) = room.split_at_mut(Backfill::LENGTH);
    first.copy_from_slice(&backfill.bytes());
    last.copy_from_slice(&mark.bytes());
    room
}

fn is_room(bytes: &[u8]) -> bool {
    bytes
        .split_at_checked(Backfill::LENGTH)
        .is_some_and(|(first, last)| Backfill::of(first).is_some() && Mark::of(last).is_some())
}

/// Whether the page is the one that was sealed under this number. A page of zeros never is.
pub(super) fn is_sealed(number: u32, page: &[u8]) -> bool {
    parts(page).is_some_and(|(content, sum, room)| {
        let room_is_sound = match number {
            1 => is_room(room),
            _ => room.iter().all(|byte| *byte == 0),
        };
        room_is_sound && *sum == checksum(number, content)
    })
}

/// Whether the first page is sealed but says that it is not: damage to the byte that switches checks on.
pub(super) fn is_disguised(page: &[u8]) -> bool {
    let mut copy = page.to_vec();
    let Some(reserved) = copy.get_mut(20) else {
        return false;
    };
    *reserved = RESERVED;
    Header::of(&copy)
        .and_then(|header| copy.get(..header.page_size))
        .is_some_and(|first| is_sealed(1, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_sealed_for_its_own_number_and_no_byte_may_change() {
        let mut page: Vec<u8> = (0..4096_u32).map(|at| (at % 251) as u8).collect();
        seal(7, &mut page);
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
            page[8192 - ROOM..].copy_from_slice(&room(Backfill::default(), Mark::default()));
            seal(number, &mut page);
            assert!(is_sealed(number, &page));
        }
    }

    #[test]
    fn the_header_gives_page_size_and_opt_in() {
        let mut first = vec![0; 8192];
        first[..16].copy_from_slice(MAGIC);
        first[16..21].copy_from_slice(&[0x20, 0, 2, 2, RESERVED]);
        let header = Header {
            page_size: 8192,
            reserved: RESERVED,
            wal: true,
        };
        assert_eq!(Header::of(&first), Some(header));
        first[8192 - ROOM..].copy_from_slice(&room(Backfill::default(), Mark::default()));
        seal(1, &mut first);
        assert!(is_disguised(&first));
        first[20] = 0;
        assert!(is_disguised(&first), "the opt-in byte alone was damaged");
        first[16..18].copy_from_slice(&[0, 1]);
        assert_eq!(Header::of(&first).map(|header| header.page_size), Some(65_536));
        first[16..18].copy_from_slice(&[0x21, 0]);
        assert_eq!(Header::of(&first), None);
    }

    #[test]
    fn the_lock_page_is_the_one_with_the_pending_byte() {
        assert!(is_lock_page(131_073, 8192));
        assert!(!is_lock_page(131_072, 8192) && !is_lock_page(131_074, 8192));
        assert_eq!(number(offset(131_073, 8192), 8192), Some(131_073));
    }
}
