//! Key sets: what is refused in them, files that change, and servers that answer, hang or are gone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use loci_core::ErrorKind;

use super::*;
use crate::issuer::jwks::IssuerKeys;

fn refusal_of(set: &Value) -> String {
    IssuerKeys::parse(set.to_string().as_bytes())
        .err()
        .unwrap_or_default()
}

#[test]
fn a_set_with_a_key_that_should_be_secret_is_refused_as_a_whole() {
    let good = TestKey::ed25519().jwk("k1");
    for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        let mut leaked = TestKey::p256().jwk("k2");
        leaked[member] = "AAAA".into();
        assert_eq!(
            refusal_of(&json!({"keys": [good, leaked]})),
            "holds a private key",
            "{member}"
        );
    }
    let shared = json!({"kty": "oct", "kid": "k2", "k": "c2VjcmV0"});
    assert_eq!(
        refusal_of(&json!({"keys": [good, shared]})),
        "holds a shared secret"
    );
}

#[test]
fn keys_that_are_not_for_signatures_are_left_out_and_wrong_ones_are_named() {
    let key = TestKey::ed25519();
    let mut for_encryption = key.jwk("k1");
    for_encryption["use"] = "enc".into();
    let mut for_signing = key.jwk("k1");
    for_signing["key_ops"] = json!(["sign"]);
    let unknown = json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA"});
    let other_curve = json!({"kty": "OKP", "crv": "X25519", "x": "AAAA"});
    let test = TestIssuer::with_keys(&[for_encryption, for_signing, unknown, other_curve]);
    assert_eq!(
        test.refusal(&key.token("k1", &good_claims())),
        Some(SignInRefusal::UnknownKey)
    );

    let mut short = key.jwk("k1");
    short["x"] = "AAAA".into();
    assert!(refusal_of(&json!({"keys": [short]})).contains("\"x\" is missing or wrong"));
    let weak = json!({"kty": "RSA", "kid": "k", "n": encode([0xff; 128]), "e": "AQAB"});
    assert!(refusal_of(&json!({"keys": [weak]})).contains("1024 bits"));
    assert!(refusal_of(&json!({"keys": [1]})).contains("not an object"));
    assert!(refusal_of(&json!({"key": []})).contains("no list"));
    assert!(refusal_of(&json!({"keys": vec![key.jwk("k"); 201]})).contains("more than 200"));
    let doubled = format!(r#"{{"keys":[],"keys":[{}]}}"#, key.jwk("k1"));
    assert!(IssuerKeys::parse(doubled.as_bytes()).is_err());
}

#[test]
fn an_rsa_modulus_with_leading_zeros_is_the_same_key() {
    let key = TestKey::rsa();
    let mut jwk = key.jwk("k1");
    let modulus = URL_SAFE_NO_PAD.decode(jwk["n"].as_str().unwrap()).unwrap();
    jwk["n"] = encode([vec![0], modulus].concat()).into();
    let test = TestIssuer::with_keys(&[jwk]);
    assert_eq!(test.refusal(&key.token("k1", &good_claims())), None);
}

#[test]
fn a_file_of_keys_is_read_again_when_it_changes() {
    let (old, new) = (TestKey::ed25519(), TestKey::ed25519());
    let test = TestIssuer::with_keys(&[old.jwk("k1")]);
    assert_eq!(test.refusal(&old.token("k1", &good_claims())), None);
    write_keys(&test.file(), &json!({"keys": [new.jwk("k1")]}).to_string());
    assert_eq!(
        test.refusal(&old.token("k1", &good_claims())),
        Some(SignInRefusal::Signature)
    );
    assert_eq!(test.refusal(&new.token("k1", &good_claims())), None);
    let token = new.token("k1", &good_claims());
    let error_of = || test.issuers.check_token(&token, now()).unwrap_err();
    fs::set_permissions(test.file(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(error_of().message().contains("can be written by other users"));
    write_keys(&test.file(), "{");
    assert_eq!(error_of().kind(), ErrorKind::Format);
    fs::remove_file(test.file()).unwrap();
    assert_eq!(error_of().kind(), ErrorKind::NotFound);
    assert_eq!(test.issuers.load_keys().len(), 1);
}

/// A server of key sets on this machine that counts its requests.
struct KeyServer {
    address: String,
    answer: Arc<Mutex<Vec<u8>>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    fn start(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/keys", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::new(AtomicUsize::new(0));
        let server = Self {
            address,
            answer: answer.clone(),
            asked: asked.clone(),
        };
        server.publish(keys);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                asked.fetch_add(1, Ordering::SeqCst);
                serve_one(&stream, &answer.lock().unwrap().clone());
            }
        });
        server
    }

    fn publish(&self, keys: &[Value]) {
        let body = json!({"keys": keys}).to_string();
        self.answer_with("200 OK", body.as_bytes());
    }

    fn answer_with(&self, status: &str, body: &[u8]) {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        *self.answer.lock().unwrap() = [head.as_bytes(), body].concat();
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn issuers(&self) -> TokenIssuers {
        let config = TokenIssuerConfig {
            jwks_file: None,
            jwks_url: Some(self.address.clone()),
            ..config("/unused".into())
        };
        TokenIssuers::new(vec![config]).unwrap()
    }
}

fn serve_one(mut stream: &TcpStream, answer: &[u8]) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        line.clear();
    }
    let _ = stream.write_all(answer);
}

fn check_at(issuers: &TokenIssuers, token: &str, instant: Instant) -> Option<SignInRefusal> {
    issuers.check_token_at(token, now(), instant).unwrap().refusal()
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn keys_are_fetched_once_and_again_for_a_new_key_at_most_once_a_minute() {
    let (old, new) = (TestKey::ed25519(), TestKey::ed25519());
    let server = KeyServer::start(&[old.jwk("k1")]);
    let issuers = server.issuers();
    let begun = Instant::now();
    for _ in 0..5 {
        assert_eq!(check_at(&issuers, &old.token("k1", &good_claims()), begun), None);
    }
    assert_eq!(server.asked(), 1);
    server.publish(&[old.jwk("k1"), new.jwk("k2")]);
    let token = new.token("k2", &good_claims());
    for _ in 0..5 {
        assert_eq!(
            check_at(&issuers, &token, begun + MINUTE / 2),
            Some(SignInRefusal::UnknownKey)
        );
    }
    assert_eq!(server.asked(), 1);
    assert_eq!(check_at(&issuers, &token, begun + MINUTE), None);
    assert_eq!(server.asked(), 2);
    for nth in 0..20 {
        let made_up = new.token(&format!("x{nth}"), &good_claims());
        assert_eq!(
            check_at(&issuers, &made_up, begun + MINUTE),
            Some(SignInRefusal::UnknownKey)
        );
    }
    assert_eq!(server.asked(), 2);
    // A key that is withdrawn is gone after ten minutes, without a new one being asked for.
    server.publish(&[new.jwk("k2")]);
    assert_eq!(
        check_at(&issuers, &old.token("k1", &good_claims()), begun + 9 * MINUTE),
        None
    );
    let later = begun + 12 * MINUTE;
    assert_eq!(
        check_at(&issuers, &old.token("k1", &good_claims()), later),
        Some(SignInRefusal::UnknownKey)
    );
}

#[test]
fn keys_are_kept_for_a_day_while_their_server_fails() {
    let key = TestKey::ed25519();
    let server = KeyServer::start(&[key.jwk("k1")]);
    let issuers = server.issuers();
    let begun = Instant::now();
    let token = key.token("k1", &good_claims());
    assert_eq!(check_at(&issuers, &token, begun), None);
    let private = json!({"keys": [{"kty": "oct", "k": "AAAA"}]}).to_string();
    let big = vec![b' '; 600 * 1024];
    let failures: [(&str, &[u8]); 4] = [
        ("500 Oops", b"{}"),
        ("302 Found\r\nLocation: http://127.0.0.1:1/", b""),
        ("200 OK", private.as_bytes()),
        ("200 OK", &big),
    ];
    for (nth, (status, body)) in failures.into_iter().enumerate() {
        server.answer_with(status, body);
        let instant = begun + MINUTE * (20 * (u32::try_from(nth).unwrap() + 1));
        assert_eq!(check_at(&issuers, &token, instant), None, "{status}");
        assert_eq!(server.asked(), nth + 2);
    }
    assert_eq!(check_at(&issuers, &token, begun + MINUTE * (24 * 60 - 1)), None);
    let error = issuers
        .check_token_at(&token, now(), begun + MINUTE * (24 * 60))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    server.publish(&[key.jwk("k1")]);
    assert_eq!(check_at(&issuers, &token, begun + MINUTE * (24 * 60 + 2)), None);
}

#[test]
fn a_server_of_keys_that_is_not_there_is_an_error_and_is_not_asked_again_and_again() {
    let key = TestKey::ed25519();
    let server = KeyServer::start(&[key.jwk("k1")]);
    server.answer_with("503 Later", b"");
    let issuers = server.issuers();
    assert_eq!(issuers.load_keys()[0].0, ISSUER);
    let (begun, token) = (Instant::now(), key.token("k1", &good_claims()));
    for _ in 0..3 {
        let error = issuers.check_token_at(&token, now(), begun).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
    assert_eq!(server.asked(), 1);
    server.publish(&[key.jwk("k1")]);
    assert_eq!(check_at(&issuers, &token, begun + MINUTE), None);
}

#[test]
fn tokens_with_known_keys_do_not_wait_for_a_fetch() {
    let key = TestKey::ed25519();
    let server = KeyServer::start(&[key.jwk("k1")]);
    let issuers = server.issuers();
    let begun = Instant::now();
    assert_eq!(check_at(&issuers, &key.token("k1", &good_claims()), begun), None);
    // The server hangs: whoever holds its answer keeps it from being sent.
    let held = server.answer.lock().unwrap();
    let unknown = key.token("x", &good_claims());
    std::thread::scope(|scope| {
        let fetching = scope.spawn(|| check_at(&issuers, &unknown, begun + MINUTE));
        while server.asked() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(
            check_at(&issuers, &key.token("k1", &good_claims()), begun + MINUTE),
            None
        );
        assert_eq!(
            check_at(&issuers, &key.token("y", &good_claims()), begun + 3 * MINUTE),
            Some(SignInRefusal::UnknownKey)
        );
        drop(held);
        assert_eq!(fetching.join().unwrap(), Some(SignInRefusal::UnknownKey));
    });
}
