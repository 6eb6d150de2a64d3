//! Random secrets, their text, and comparing them without telling how much of a guess is right.

use std::fmt;

use loci_core::{Error, ErrorKind, Result};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Returns bytes from the system's random numbers.
pub(crate) fn random_bytes<const N: usize>() -> Result<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|cause| {
        let error = Error::new(ErrorKind::Io, "the system gives no random numbers");
        error.caused_by(cause)
    })?;
    Ok(bytes)
}

/// Writes bytes as lower-case hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads exactly `N` bytes from lower-case hexadecimal digits.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = hex_value(*high)? << 4 | hex_value(*low)?;
    }
    Some(bytes)
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        // Upper case is refused: each secret has one spelling.
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// The SHA-256 hash of a random secret, by which it is recognised. The secret itself is not kept.
///
/// A fast hash is enough: 2²⁵⁶ secrets cannot be tried. Passwords, which can be guessed, have a slow one.
#[derive(Clone, Copy)]
pub(crate) struct SecretHash([u8; 32]);

impl SecretHash {
    /// A hash that no known secret has, to compare with where there is nothing to compare with.
    pub(crate) const NONE: Self = Self([0; 32]);

    /// Hashes a secret for one purpose.
    pub(crate) fn hash_secret(purpose: &str, secret: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(purpose.as_bytes());
        hasher.update([0]);
        hasher.update(secret);
        Self(hasher.finalize().into())
    }

    /// Reads a hash from its hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }

    /// Returns the hash as hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        to_hex(&self.0)
    }

    /// Returns the bytes, by which a hash is looked up.
    pub(crate) fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// Compares in a time that does not depend on the bytes.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_have_one_spelling() {
        assert_eq!(from_hex::<2>("0aff"), Some([10, 255]));
        assert_eq!(to_hex(&[10, 255]), "0aff");
        for wrong in ["", "0a", "0aff00", "0AFF", "0a f", "0agf", "+aff", "é0a"] {
            assert_eq!(from_hex::<2>(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_hash_depends_on_the_purpose_and_the_secret() {
        let hash = SecretHash::hash_secret("a", b"bc");
        assert!(hash.matches(&SecretHash::hash_secret("a", b"bc")));
        assert!(
            !hash.matches(&SecretHash::hash_secret("ab", b"c"))
                && !hash.matches(&SecretHash::hash_secret("a", b"bd"))
        );
        assert_ne!(*random_bytes::<32>().unwrap(), *random_bytes::<32>().unwrap());
    }
}
