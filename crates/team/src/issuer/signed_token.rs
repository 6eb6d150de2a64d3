//! The parts of a signed token, before anything in it is believed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::strict_json::read_object;
use crate::caller::SignInRefusal;

/// The most bytes of a token. Those of large companies, with hundreds of groups, have about ten thousand.
const LONGEST_TOKEN: usize = 16 * 1024;

/// The most bytes of the name of a key.
const LONGEST_KEY_ID: usize = 256;

/// A token in three parts: header, claims and signature. Nothing is verified yet.
#[derive(Debug)]
pub(super) struct SignedToken<'a> {
    /// The algorithm that the header names.
    pub(super) algorithm: String,
    /// The key that the header names.
    pub(super) key_id: Option<String>,
    pub(super) claims: Map<String, Value>,
    /// The bytes that are signed: the first two parts as they were sent.
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
}

impl<'a> SignedToken<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, SignInRefusal> {
        Self::read(text).ok_or(SignInRefusal::Malformed)
    }

    fn read(text: &'a str) -> Option<Self> {
        if text.len() > LONGEST_TOKEN {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        if claims.contains('.') {
            return None;
        }
        let header = read_object(&decode(header)?)?;
        // A header that must be understood, by RFC 7515: none of those that exist is.
        if header.contains_key("crit") {
            return None;
        }
        check_type(header.get("typ"))?;
        // Keys, certificates and addresses in the header (`jwk`, `x5c`, `jku`, `x5u`) are not looked at.
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) if id.len() <= LONGEST_KEY_ID => Some(id.clone()),
            Some(_) => return None,
        };
        Some(Self {
            algorithm: header.get("alg")?.as_str()?.to_owned(),
            key_id,
            claims: read_object(&decode(claims)?)?,
            signed: signed.as_bytes(),
            signature: decode(signature)?,
        })
    }

    /// Returns the issuer that the claims name.
    pub(super) fn issuer(&self) -> Option<&str> {
        self.claims.get("iss")?.as_str()
    }
}

/// Decodes base64url without padding; each sequence of bytes has one spelling.
fn decode(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

/// Refuses what says that it is another thing than a token for access, such as a logout token.
fn check_type(typ: Option<&Value>) -> Option<()> {
    let Some(typ) = typ else { return Some(()) };
    let typ = typ.as_str()?.to_ascii_lowercase();
    let short = typ.strip_prefix("application/").unwrap_or(&typ);
    ["jwt", "at+jwt"].contains(&short).then_some(())
}
