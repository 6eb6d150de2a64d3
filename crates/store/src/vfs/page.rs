//! The bytes of one page: its checksum, and what the database header says about all pages.

use twox_hash::XxHash3_64;

/// Bytes at the end of every page that hold its checksum.
pub(super) const RESERVED: u8 = 8;
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

/// Writes the checksum of the page into its last bytes.
pub(super) fn seal(number: u32, page: &mut [u8]) {
    if let Some((content, tail)) = page.split_last_chunk_mut() {
        *tail = checksum(number, content);
    }
}

/// Whether the page is the one that was sealed under this number. A page of zeros never is.
pub(super) fn is_sealed(number: u32, page: &[u8]) -> bool {
    page.split_last_chunk()
        .is_some_and(|(content, tail)| *tail == checksum(number, content))
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
            seal(number, &mut page);
            assert!(is_sealed(number, &page));
        }
    }

    #[test]
    fn the_header_gives_page_size_and_opt_in() {
        let mut first = vec![0; 8192];
        first[..16].copy_from_slice(MAGIC);
        first[16..21].copy_from_slice(&[0x20, 0, 2, 2, 8]);
        let header = Header {
            page_size: 8192,
            reserved: 8,
            wal: true,
        };
        assert_eq!(Header::of(&first), Some(header));
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
