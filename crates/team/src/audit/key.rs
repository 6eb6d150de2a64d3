//! The key of an audit log, without which its chain cannot be continued or forged.

use std::fmt;
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use zeroize::Zeroizing;

use crate::private_file::{FileSnapshot, OthersMay, create_file};
use crate::secret::{random_bytes, to_hex};

/// The bytes of a key file.
const KEY_BYTES: usize = 32;

/// The key of an audit log: a file of 32 random bytes that only its owner can read.
///
/// A reader of the key can forge the chain, so heads are kept elsewhere, too. With the log alone nothing can be forged.
#[derive(Clone)]
pub struct AuditKey(Zeroizing<[u8; KEY_BYTES]>);

impl AuditKey {
    /// Reads the key in the file at `path`, which is made with a new key if it does not exist.
    pub fn open_or_make(path: &Path) -> Result<Self> {
        if !path.exists() {
            // Of two processes that make a key at once, one makes it, and both use that one.
            create_file(path, &*random_bytes::<KEY_BYTES>()?)?;
        }
        Self::open(path)
    }

    /// Reads the key in the file at `path`, which must exist.
    pub fn open(path: &Path) -> Result<Self> {
        let snapshot = FileSnapshot::read(path, OthersMay::Nothing, KEY_BYTES as u64)?;
        let snapshot = snapshot.ok_or_else(|| {
            let message = format!("no key of an audit log was found at {}", path.display());
            Error::new(ErrorKind::NotFound, message).with_hint("restore it from where it was backed up")
        })?;
        let bytes = Zeroizing::new(snapshot.bytes);
        let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).map_err(|_| {
            let message = format!(
                "{} is not the key of an audit log: it does not have {KEY_BYTES} bytes",
                path.display()
            );
            Error::new(ErrorKind::Corrupt, message).with_hint("it is left as it is; restore it from a backup")
        })?;
        Ok(Self(Zeroizing::new(key)))
    }

    /// Returns eight hexadecimal digits by which to tell keys apart; they reveal nothing about the key.
    pub fn fingerprint(&self) -> String {
        let hash = blake3::derive_key("loci 2026-11 fingerprint of the key of an audit log", &*self.0);
        to_hex(hash.get(..4).unwrap_or_default())
    }

    /// Returns the hash of a record after the one with the hash `previous`.
    pub(super) fn hash_record(&self, previous: &[u8; 32], body: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(previous);
        hasher.update(body);
        *hasher.finalize().as_bytes()
    }
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditKey({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.key");
        assert!(AuditKey::open(&path).is_err());
        let made = AuditKey::open_or_make(&path).unwrap();
        assert_eq!(AuditKey::open(&path).unwrap().fingerprint(), made.fingerprint());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(AuditKey::open_or_make(&path).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for length in [0, 31, 33] {
            fs::write(&path, vec![1; length]).unwrap();
            assert!(AuditKey::open_or_make(&path).is_err(), "{length}");
        }
    }
}
