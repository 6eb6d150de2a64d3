//! A look at a palace that changes nothing: whether a file is one, and how many drawers it holds.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use loci_core::{PalaceFinding, Result};

use crate::connection::{self, ConnectionOptions};
use crate::shelf::CollectionShelf;
use crate::{EmbeddedBackend, disk, lost, palace, schema};

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The bytes of an SQLite header that hold the application id, big-endian.
const APPLICATION_ID: std::ops::Range<usize> = 68..72;

/// The longest wait for another process. A list of palaces should not stand still for one that is busy.
const WAIT: Duration = Duration::from_secs(2);

impl EmbeddedBackend {
    /// Returns whether `path` is a palace in one file, whatever its name: a `palace.db`, or a backup.
    pub fn is_palace_file(path: &Path) -> bool {
        // A pipe is never opened: that would block until another process writes to it.
        if !path.is_file() {
            return false;
        }
        let mut header = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(APPLICATION_ID.end as u64).read_to_end(&mut header));
        read.is_ok()
            && header.starts_with(MAGIC)
            && header.get(APPLICATION_ID) == Some(schema::APPLICATION_ID.to_be_bytes().as_slice())
    }

    /// Counts the drawers of the palace in `folder`, in all collections, and lists the losses it has on record.
    ///
    /// Unlike opening it, this leaves a palace of an earlier format as it is.
    pub fn count_drawers(folder: &Path) -> Result<(u64, Vec<PalaceFinding>)> {
        let file = folder.join(Self::FILE);
        if !file.is_file() {
            return Err(palace::missing_palace_error(&file));
        }
        disk::refuse_network(folder)?;
        let connection = connection::open(ConnectionOptions {
            file: &file,
            base: None,
            create: false,
            mend: false,
            wait: WAIT,
        })?;
        let drawers: i64 = CollectionShelf::list_all(&connection)?
            .iter()
            .map(|shelf| shelf.drawers)
            .sum();
        let losses = lost::loss_findings(&connection)?;
        Ok((u64::try_from(drawers).unwrap_or(0), losses))
    }
}

/// Reads the id of the palace in `file`, without changing it.
pub(crate) fn read_id(file: &Path, base: Option<&str>) -> Result<[u8; 16]> {
    let connection = connection::open(ConnectionOptions {
        file,
        base,
        create: false,
        mend: false,
        wait: WAIT,
    })?;
    schema::palace_id(&connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palace_is_known_by_both_its_magic_and_its_application() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!EmbeddedBackend::detect(folder.path()));
        let path = folder.path().join(EmbeddedBackend::FILE);
        let mut header = vec![0; 200];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        std::fs::write(&path, &header).unwrap();
        assert!(EmbeddedBackend::detect(folder.path()), "by its name alone");
        assert!(
            !EmbeddedBackend::is_palace_file(&path),
            "another program's database"
        );
        header[APPLICATION_ID].copy_from_slice(&schema::APPLICATION_ID.to_be_bytes());
        std::fs::write(&path, &header).unwrap();
        assert!(EmbeddedBackend::is_palace_file(&path));
        header[0] = b'x';
        std::fs::write(&path, &header).unwrap();
        assert!(!EmbeddedBackend::is_palace_file(&path), "no database");
        assert!(!EmbeddedBackend::is_palace_file(folder.path()));
    }
}
