//! The text of a token, `loci_ID_SECRET_CHECKSUM`: all hexadecimal, so that a double click selects it.

use std::fmt;
use std::str::FromStr;

use loci_core::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::secret::{SecretHash, from_hex, random_bytes, to_hex};

/// The start of every token, by which scanners recognise one.
const PREFIX: &str = "loci_";

/// The bytes of an id, a secret and a checksum.
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 4;

/// The name of a token: twelve hexadecimal digits. It is no secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenId(String);

impl TokenId {
    pub(super) fn generate() -> Result<Self> {
        Ok(Self(to_hex(&*random_bytes::<ID_BYTES>()?)))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TokenId {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match from_hex::<ID_BYTES>(text) {
            Some(_) => Ok(Self(text.to_owned())),
            // Not repeated: people paste the whole token where its id is wanted.
            None => Err(Error::invalid("the id of a token has twelve hexadecimal digits")
                .with_hint("it is the part of the token after `loci_`")),
        }
    }
}

impl TryFrom<String> for TokenId {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<TokenId> for String {
    fn from(id: TokenId) -> Self {
        id.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of a token, with its secret. It is shown once and stored nowhere.
pub struct TokenText(Zeroizing<String>);

impl TokenText {
    /// Returns the text, to show it to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Makes a new secret for the token `id`, and its hash.
    pub(super) fn generate(id: &TokenId) -> Result<(Self, SecretHash)> {
        let secret = random_bytes::<SECRET_BYTES>()?;
        let digits = Zeroizing::new(to_hex(&*secret));
        let body = Zeroizing::new(format!("{PREFIX}{id}_{}", *digits));
        let text = format!("{}_{}", *body, checksum(&body));
        Ok((Self(Zeroizing::new(text)), hash_secret(&*secret)))
    }
}

impl fmt::Debug for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenText(..)")
    }
}

/// Reports whether a text claims to be one of our tokens, rather than of another issuer.
pub(super) fn is_own_token(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Splits the text of a token into its id and the hash of its secret; `None` if it is not whole.
pub(super) fn read_token(text: &str) -> Option<(TokenId, SecretHash)> {
    let (body, check) = text.rsplit_once('_')?;
    // The checksum finds tokens that were cut or mistyped; it keeps nobody out.
    if check != checksum(body) {
        return None;
    }
    let (id, digits) = body.strip_prefix(PREFIX)?.split_once('_')?;
    let secret = Zeroizing::new(from_hex::<SECRET_BYTES>(digits)?);
    Some((id.parse().ok()?, hash_secret(&*secret)))
}

/// Returns the start of the SHA-256 hash of everything before the checksum.
fn checksum(body: &str) -> String {
    let hash = Sha256::digest(body.as_bytes());
    to_hex(hash.get(..CHECKSUM_BYTES).unwrap_or_default())
}

fn hash_secret(secret: &[u8]) -> SecretHash {
    SecretHash::hash_secret("loci token", secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_any_change_is_noticed() {
        let id = TokenId::generate().unwrap();
        let (text, hash) = TokenText::generate(&id).unwrap();
        assert_eq!(text.reveal().len(), 5 + 12 + 1 + 64 + 1 + 8);
        let (read, found) = read_token(text.reveal()).unwrap();
        assert!(read == id && found.matches(&hash));
        for place in 0..text.reveal().len() {
            let mut changed = text.reveal().as_bytes().to_vec();
            changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(read_token(&changed).is_none(), "{place}");
            assert!(read_token(&text.reveal()[..place]).is_none(), "{place}");
        }
        assert!(read_token(&text.reveal().to_uppercase()).is_none());
        assert!(read_token(&format!("{} ", text.reveal())).is_none());
    }

    #[test]
    fn a_token_and_its_id_are_not_shown_by_accident() {
        let (text, hash) = TokenText::generate(&TokenId::generate().unwrap()).unwrap();
        let shown = format!("{text:?} {hash:?}");
        assert_eq!(shown, "TokenText(..) SecretHash(..)");
        let error = text.reveal().parse::<TokenId>().unwrap_err();
        assert!(!format!("{error:?}").contains(&text.reveal()[18..]));
    }

    #[test]
    fn the_checksum_is_the_one_that_other_programs_compute() {
        // printf 'loci_00…' | sha256sum
        let body = format!("loci_{}_{}", "0".repeat(12), "0".repeat(64));
        assert_eq!(checksum(&body), "adf0307a");
    }
}
