//! Tests of tokens of other issuers, signed with real keys.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loci_core::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

mod attacks;
mod claims;
mod keys;

const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "https://memory.example";

/// The seconds since 1970 at which every test takes place.
const NOW: i64 = 1_780_000_000;

fn now() -> Timestamp {
    Timestamp::from_micros(NOW * 1_000_000).unwrap()
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key pair of an issuer.
enum TestKey {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl TestKey {
    fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn p256() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self::P256(pair.unwrap())
    }

    /// The one RSA key of the tests: ring makes none.
    fn rsa() -> Self {
        let document = include_bytes!("../../tests/fixtures/rsa-test-key.der");
        Self::Rsa(RsaKeyPair::from_pkcs8(document).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ed25519(_) => "EdDSA",
            Self::P256(_) => "ES256",
            Self::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::P256(pair) => pair
                .sign(&SystemRandom::new(), message)
                .unwrap()
                .as_ref()
                .to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
                    .unwrap();
                signature
            }
        }
    }

    fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": encode(pair.public_key())})
            }
            Self::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": encode(&point[1..33]), "y": encode(&point[33..])})
            }
            Self::Rsa(pair) => {
                let public: ring::rsa::PublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({"kty": "RSA", "kid": id, "n": encode(public.n), "e": encode(public.e)})
            }
        }
    }

    /// Signs a token with any header and claims.
    fn token_of(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = encode(self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    fn token(&self, id: &str, claims: &Value) -> String {
        let header = json!({"alg": self.algorithm(), "kid": id, "typ": "JWT"});
        self.token_of(&header.to_string(), &claims.to_string())
    }
}

fn good_claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "u-123", "exp": NOW + 300, "iat": NOW - 10,
        "groups": ["garden-team", "all"],
    })
}

/// Returns the usual claims with one of them set, or removed by null.
fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = good_claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

fn config(file: PathBuf) -> TokenIssuerConfig {
    serde_json::from_value(json!({
        "issuer": ISSUER,
        "audiences": [AUDIENCE, "loci"],
        "jwks_file": file,
        "grants": [
            {"claim": "groups", "value": "garden-team", "grants": ["work/garden:read,write"]},
            {"claim": "/realm_access/roles", "value": "reader", "grants": ["home:read"]},
            {"claim": "scope", "value": "memory.read", "grants": ["*:read"]},
        ],
    }))
    .unwrap()
}

/// An issuer whose keys are in a file.
struct TestIssuer {
    folder: TempDir,
    issuers: TokenIssuers,
}

impl TestIssuer {
    fn with_keys(keys: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.json");
        write_keys(&file, &json!({"keys": keys}).to_string());
        let issuers = TokenIssuers::new(vec![config(file)]).unwrap();
        Self { folder, issuers }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("keys.json")
    }

    fn check(&self, token: &str) -> SignInOutcome {
        self.issuers.check_token(token, now()).unwrap()
    }

    fn refusal(&self, token: &str) -> Option<SignInRefusal> {
        self.check(token).refusal()
    }
}

fn write_keys(file: &std::path::Path, text: &str) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
}

#[test]
fn a_token_of_each_kind_of_key_is_accepted() {
    for key in [TestKey::ed25519(), TestKey::p256(), TestKey::rsa()] {
        let test = TestIssuer::with_keys(&[TestKey::p256().jwk("other"), key.jwk("k1")]);
        let token = key.token("k1", &good_claims());
        let caller = test
            .check(&token)
            .granted()
            .unwrap_or_else(|| panic!("{}", key.algorithm()));
        assert_eq!(caller.actor.to_string(), "https://id.example#u-123");
        assert_eq!(caller.rights.grants()[0].to_string(), "work/garden:read,write");
        assert_eq!((caller.token, caller.stamp), (None, None));
        // Any change of the text is noticed.
        for place in (0..token.len()).step_by(11) {
            let mut changed = token.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed == token || test.refusal(&changed).is_some(), "{place}");
        }
    }
}

#[test]
fn each_issuer_has_its_own_keys() {
    let (ours, theirs) = (TestKey::ed25519(), TestKey::ed25519());
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, issuer: &str, key: &TestKey| {
        let file = folder.path().join(name);
        write_keys(&file, &json!({"keys": [key.jwk("k1")]}).to_string());
        TokenIssuerConfig {
            issuer: issuer.to_owned(),
            ..config(file)
        }
    };
    let one = make("one.json", ISSUER, &ours);
    let two = make("two.json", "https://other.example", &theirs);
    let issuers = TokenIssuers::new(vec![one.clone(), two]).unwrap();
    let check = |key: &TestKey, issuer: &str| {
        let token = key.token("k1", &claims_with("iss", issuer.into()));
        issuers.check_token(&token, now()).unwrap().refusal()
    };
    assert_eq!(check(&ours, ISSUER), None);
    assert_eq!(check(&theirs, "https://other.example"), None);
    assert_eq!(
        check(&ours, "https://other.example"),
        Some(SignInRefusal::Signature)
    );
    assert_eq!(check(&theirs, ISSUER), Some(SignInRefusal::Signature));
    assert!(
        TokenIssuers::new(vec![one.clone(), one]).is_err(),
        "configured twice"
    );
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let right = config("/keys.json".into());
    assert!(TokenIssuers::new(vec![right.clone()]).is_ok());
    let check = |change: &dyn Fn(&mut TokenIssuerConfig), what: &str| {
        let mut config = right.clone();
        change(&mut config);
        let error = TokenIssuers::new(vec![config]).unwrap_err();
        assert!(error.message().contains(what), "{error}");
    };
    check(&|config| config.issuer = "id.example".into(), "URL");
    check(
        &|config| config.issuer = "https://id.example#x".into(),
        "without `#`",
    );
    check(&|config| config.audiences.clear(), "audience");
    check(&|config| config.algorithms.clear(), "no algorithm");
    check(&|config| config.leeway_seconds = 301, "leeway");
    check(&|config| config.jwks_file = None, "either jwks_file or jwks_url");
    check(
        &|config| config.jwks_url = Some("https://id.example".into()),
        "either jwks_file or jwks_url",
    );
    check(&|config| config.grants[0].value.clear(), "claim or value");
    for algorithm in ["none", "HS256", "rs256"] {
        assert!(serde_json::from_value::<TokenAlgorithm>(algorithm.into()).is_err());
    }
}
