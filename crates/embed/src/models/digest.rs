//! SHA-256, in hexadecimal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use loci_core::Result;
use sha2::{Digest, Sha256};

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// Reads all of `reader`, giving each part to `each`; the SHA-256 of all that was read.
pub(super) fn of(mut reader: impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<String> {
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
        each(part)?;
    }
    Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The SHA-256 of a file; nothing where there is none.
pub(super) fn of_file(path: &Path) -> Result<Option<String>> {
    match File::open(path).and_then(|file| of(file, |_| Ok(()))) {
        Ok(sum) => Ok(Some(sum)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(super::io("cannot read", path, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha256_of_all_parts() {
        let text = "abc".repeat(BUFFER / 2);
        let mut parts = Vec::new();
        let sum = of(text.as_bytes(), |part| {
            parts.extend_from_slice(part);
            Ok(())
        });
        assert_eq!(parts, text.as_bytes());
        assert_eq!(
            sum.unwrap(),
            "08aa8e53d83a70ecd2091bce4e8909c7de9ddcceb72ed408d8a1e7b2283eaa28"
        );
        let empty = of(&b""[..], |_| Ok(()));
        assert_eq!(
            empty.unwrap(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
