//! Random secrets.

use loci_core::{Error, ErrorKind, Result};

/// Returns random bytes as hexadecimal digits.
pub(crate) fn random_hex(bytes: usize) -> Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|cause| {
        Error::new(
            ErrorKind::Unavailable,
            "the system provides no random numbers for a secret",
        )
        .caused_by(cause)
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
