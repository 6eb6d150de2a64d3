//! The weights file as read-only memory: the system loads pages on access and may drop them again.
#![allow(
    unsafe_code,
    reason = "mapping a file is the one thing here the compiler cannot follow"
)]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// Maps a whole file for reading.
pub(super) fn map_file(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the map is read only and private, and what is read from it is checked before use. Should another
    // process cut the file short, touching the lost pages ends this process instead of reading other memory.
    unsafe { Mmap::map(&file) }
}
