//! The public keys of an issuer, from its JSON web key set.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::{Map, Value};

use super::algorithm::{KeyFamily, TokenAlgorithm};
use super::strict_json::read_object;

/// The most bytes of a key set, and the most keys in it.
pub(super) const LONGEST_KEY_SET: u64 = 512 * 1024;
const MOST_KEYS: usize = 200;

/// Members that only private or shared keys have.
const SECRET_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// The keys of an issuer that can verify signatures.
#[derive(Debug, Default)]
pub(super) struct IssuerKeys(Vec<Arc<VerifyKey>>);

/// A public key.
pub(super) struct VerifyKey {
    id: Option<String>,
    family: KeyFamily,
    /// The only algorithm that it may be used with, if it says so.
    algorithm: Option<String>,
    material: KeyMaterial,
}

enum KeyMaterial {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Curve(Vec<u8>),
}

impl fmt::Debug for VerifyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyKey({:?}, {:?})", self.id, self.family)
    }
}

impl IssuerKeys {
    /// Reads a key set; the error continues a sentence about it.
    ///
    /// Keys of kinds that are not known, or for encryption, are left out. A set with a private or shared key is refused as a
    /// whole: it was not meant to be published, and its issuer cannot be trusted any more.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let set = read_object(bytes).ok_or("is not a JSON object, or has a key twice in an object")?;
        let Some(Value::Array(list)) = set.get("keys") else {
            return Err("has no list of keys".to_owned());
        };
        if list.len() > MOST_KEYS {
            return Err(format!("has more than {MOST_KEYS} keys"));
        }
        let mut keys = Vec::new();
        for item in list {
            let key = item.as_object().ok_or("has a key that is not an object")?;
            if key.get("kty").and_then(Value::as_str) == Some("oct") {
                return Err("holds a shared secret".to_owned());
            }
            if SECRET_MEMBERS.iter().any(|member| key.contains_key(*member)) {
                return Err("holds a private key".to_owned());
            }
            keys.extend(VerifyKey::read(key)?.map(Arc::new));
        }
        Ok(Self(keys))
    }

    /// Returns the one key with this id that suits the algorithm. Without an id, or where several have it, nothing is
    /// guessed: one key must be left.
    pub(super) fn find(&self, id: Option<&str>, algorithm: TokenAlgorithm) -> Option<Arc<VerifyKey>> {
        let suits = |key: &&Arc<VerifyKey>| {
            let names_it = id.is_none() || key.id.as_deref() == id;
            names_it && key.suits(algorithm)
        };
        let mut found = self.0.iter().filter(suits);
        let first = found.next()?;
        found.next().is_none().then(|| first.clone())
    }
}

impl VerifyKey {
    /// Reads one key; `None` for a key of another kind or for another use.
    fn read(key: &Map<String, Value>) -> Result<Option<Self>, String> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        if text("use").is_some_and(|purpose| purpose != "sig") || !may_verify(key.get("key_ops")) {
            return Ok(None);
        }
        let bytes = |name: &str, length: Option<usize>| {
            let decoded = text(name).and_then(|value| URL_SAFE_NO_PAD.decode(value).ok());
            let decoded = decoded.filter(|bytes| length.is_none_or(|length| bytes.len() == length));
            decoded.ok_or_else(|| format!("has a key whose {name:?} is missing or wrong"))
        };
        let point = |length| -> Result<KeyMaterial, String> {
            let uncompressed = [vec![4], bytes("x", Some(length))?, bytes("y", Some(length))?];
            Ok(KeyMaterial::Curve(uncompressed.concat()))
        };
        let (family, material) = match (text("kty"), text("crv")) {
            (Some("RSA"), _) => (
                KeyFamily::Rsa,
                rsa_material(bytes("n", None)?, bytes("e", None)?)?,
            ),
            (Some("EC"), Some("P-256")) => (KeyFamily::P256, point(32)?),
            (Some("EC"), Some("P-384")) => (KeyFamily::P384, point(48)?),
            (Some("OKP"), Some("Ed25519")) => (KeyFamily::Ed25519, KeyMaterial::Curve(bytes("x", Some(32))?)),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            id: text("kid").map(str::to_owned),
            family,
            algorithm: text("alg").map(str::to_owned),
            material,
        }))
    }

    fn suits(&self, algorithm: TokenAlgorithm) -> bool {
        let own = self.algorithm.as_deref();
        self.family == algorithm.family() && own.is_none_or(|own| own == algorithm.name())
    }

    /// Reports whether the signature of a message is of this key, with this very algorithm.
    pub(super) fn verifies(&self, algorithm: TokenAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            KeyMaterial::Rsa { modulus, exponent } => algorithm.rsa_verification().map(|parameters| {
                let key = RsaPublicKeyComponents {
                    n: modulus.as_slice(),
                    e: exponent.as_slice(),
                };
                key.verify(parameters, message, signature)
            }),
            KeyMaterial::Curve(point) => algorithm
                .curve_verification()
                .map(|verification| UnparsedPublicKey::new(verification, point).verify(message, signature)),
        };
        verified.is_some_and(|verified| verified.is_ok())
    }
}

/// Reads an RSA key. Leading zeros are dropped: some issuers write them, and ring refuses them.
fn rsa_material(modulus: Vec<u8>, exponent: Vec<u8>) -> Result<KeyMaterial, String> {
    let strip = |bytes: Vec<u8>| -> Vec<u8> { bytes.into_iter().skip_while(|byte| *byte == 0).collect() };
    let (modulus, exponent) = (strip(modulus), strip(exponent));
    let bits = modulus.len() * 8 - modulus.first().map_or(0, |first| first.leading_zeros() as usize);
    if bits < 2048 {
        return Err(format!(
            "has an RSA key of {bits} bits; 2048 are the least that is safe"
        ));
    }
    Ok(KeyMaterial::Rsa { modulus, exponent })
}

fn may_verify(operations: Option<&Value>) -> bool {
    match operations {
        None => true,
        Some(Value::Array(list)) => list.iter().any(|one| one == "verify"),
        Some(_) => false,
    }
}
