//! Access for tests only: arbitrary SQL on a palace file, with valid page checksums.

use loci_core::Result;

/// Registers the checking VFS over `base` and returns the name to open connections with.
///
/// A statement run there can write states that no call of this crate would, such as duplicates or a foreign segment,
/// while the pages it touches keep valid checksums: the damage is one of meaning, not of bytes.
pub fn file_system(base: Option<&str>) -> Result<&'static str> {
    crate::vfs::register(base)
}
