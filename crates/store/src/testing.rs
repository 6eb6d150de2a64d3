//! What only tests may do: run SQL of their own on a palace file, with sound page checksums.

use loci_core::Result;

/// Registers the checking file system over `base` and gives the name to open connections through.
///
/// A statement run there can write what no call of this crate would, such as duplicates or a foreign segment, and
/// the pages it touches stay sound: the damage is one of meaning, not of bytes.
pub fn file_system(base: Option<&str>) -> Result<&'static str> {
    crate::vfs::register(base)
}
