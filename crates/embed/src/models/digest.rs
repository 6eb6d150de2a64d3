//! SHA-256, in hexadecimal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use loci_core::Result;
use sha2::{Digest, Sha256};

/// The number of bytes read at once.
const BUFFER: usize = 1 << 18;

/// Reads all of `reader`, passes each part to `each`, and returns the SHA-256 of the whole.
pub(super) fn hash_reader(
    mut reader: impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let part = buffer.get(..length).unwrap_or_default();
        sum.update(part);
        // Hashed and copied in one pass, so that the bytes that are stored are the very bytes that were
        // checked.
        each(part)?;
    }
    Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the SHA-256 of a file; `None` if it does not exist.
pub(super) fn hash_file(path: &Path) -> Result<Option<String>> {
    match File::open(path).and_then(|file| hash_reader(file, |_| Ok(()))) {
        Ok(sum) => Ok(Some(sum)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(super::io_error("cannot read", path, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha256_of_all_parts() {
        let text = "abc".repeat(BUFFER / 2);
        let mut parts = Vec::new();
        let sum = hash_reader(text.as_bytes(), |part| {
            parts.extend_from_slice(part);
            Ok(())
        });
        assert_eq!(parts, text.as_bytes());
        assert_eq!(
            sum.unwrap(),
            "08aa8e53d83a70ecd2091bce4e8909c7de9ddcceb72ed408d8a1e7b2283eaa28"
        );
        let empty = hash_reader(&b""[..], |_| Ok(()));
        assert_eq!(
            empty.unwrap(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
