//! The cipher of secrets: XChaCha20-Poly1305 under keys derived from those of the palace.
//!
//! The nonce is a keyed hash of the secret, so that equal secrets give equal bytes, and different ones never share a
//! nonce. The tag of the secret is authenticated with it: bytes that are moved under another tag do not open.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use loci_core::{Error, ErrorKind, Result};

use crate::keys::PalaceKey;

const TAGS: &str = "loci 2026-11 tags of sealed secrets";
const NONCES: &str = "loci 2026-11 nonces of sealed secrets";
const CIPHER: &str = "loci 2026-11 cipher of sealed secrets";

/// The number of hexadecimal digits of a tag: 80 bits.
const TAG_DIGITS: usize = 20;

/// The number of bytes of a nonce.
const NONCE: usize = 24;

/// The keys that seal the secrets of a palace.
#[derive(Debug, Clone)]
pub(crate) struct SealingKeys {
    /// Makes the tags. It never changes, so that labels stay as they are when the other key is exchanged.
    pub(super) naming: PalaceKey,
    /// Encrypts.
    pub(super) current: PalaceKey,
}

impl SealingKeys {
    /// Returns the tag of a secret.
    pub(super) fn make_tag(&self, secret: &str) -> String {
        let hash = self.naming.hash_parts(TAGS, &[secret.as_bytes()]);
        hash.to_hex().chars().take(TAG_DIGITS).collect()
    }

    /// Encrypts a secret.
    pub(super) fn encrypt(&self, tag: &str, secret: &str) -> Result<String> {
        encrypt_under(&self.current, tag, secret)
    }
}

/// Encrypts a secret; the result names the key by its fingerprint.
pub(super) fn encrypt_under(key: &PalaceKey, tag: &str, secret: &str) -> Result<String> {
    let hash = key.hash_parts(NONCES, &[tag.as_bytes(), secret.as_bytes()]);
    let nonce: [u8; NONCE] = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    let payload = Payload {
        msg: secret.as_bytes(),
        aad: tag.as_bytes(),
    };
    let sealed = cipher_of(key)
        .encrypt(&XNonce::from(nonce), payload)
        .map_err(|_| Error::new(ErrorKind::Internal, "a secret is too long to be encrypted"))?;
    let digits: String = nonce
        .iter()
        .chain(&sealed)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(format!("1:{}:{digits}", key.fingerprint()))
}

/// Returns the fingerprint of the key that encrypted a secret.
pub(super) fn fingerprint_of(sealed: &str) -> Option<&str> {
    sealed.strip_prefix("1:")?.split_once(':').map(|(key, _)| key)
}

/// Decrypts a secret; `None` if the key is another, or the bytes or their tag were changed.
pub(super) fn decrypt(key: &PalaceKey, tag: &str, sealed: &str) -> Option<String> {
    let (_, digits) = sealed.strip_prefix("1:")?.split_once(':')?;
    let bytes = read_digits(digits)?;
    let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
    let payload = Payload {
        msg: sealed,
        aad: tag.as_bytes(),
    };
    let secret = cipher_of(key).decrypt(&XNonce::from(*nonce), payload).ok()?;
    String::from_utf8(secret).ok()
}

fn cipher_of(key: &PalaceKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&key.derive_bytes(CIPHER).into())
}

fn read_digits(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_comes_back_only_with_its_key_and_its_tag() {
        let keys = SealingKeys {
            naming: PalaceKey::generate().unwrap(),
            current: PalaceKey::generate().unwrap(),
        };
        let secret = "pä55-wörd ⟦x⟧\n";
        let tag = keys.make_tag(secret);
        let sealed = keys.encrypt(&tag, secret).unwrap();
        assert_eq!(
            sealed,
            keys.encrypt(&tag, secret).unwrap(),
            "filing again changes nothing"
        );
        assert_eq!(decrypt(&keys.current, &tag, &sealed).as_deref(), Some(secret));
        assert_eq!(fingerprint_of(&sealed), Some(keys.current.fingerprint().as_str()));
        assert_eq!(decrypt(&keys.naming, &tag, &sealed), None);
        assert_eq!(decrypt(&keys.current, &keys.make_tag("other"), &sealed), None);
        let mut changed = sealed.clone().into_bytes();
        let last = changed.last_mut().unwrap();
        *last = if *last == b'0' { b'1' } else { b'0' };
        assert_eq!(
            decrypt(&keys.current, &tag, std::str::from_utf8(&changed).unwrap()),
            None
        );
        assert!(tag.len() * 4 >= 64 && tag != keys.make_tag("other"));
    }

    #[test]
    fn what_is_no_sealed_secret_is_refused_without_panic() {
        let key = PalaceKey::generate().unwrap();
        for wrong in [
            "", "1:", "1:x", "1:x:", "1:x:0", "1:x:zz", "1:x:ä", "2:x:00", "1:x:0011",
        ] {
            assert_eq!(decrypt(&key, "tag", wrong), None, "{wrong:?}");
        }
    }
}
