//! The work is linear: a text twice as long makes the rules read twice as many bytes, however hostile it is.

use super::SCANNER;
use crate::probe::TextProbe;

/// Texts that repeat what rules look for.
const HOSTILE: &[&str] = &[
    "password=",
    "password = \"",
    "password: \\\"",
    "token=sk-",
    "sk-ant-",
    "eyJ",
    "eyJhbGciOiJIUzI1NiJ9.",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx9Kq27VzpLqx9Kq27VzpLqx9Kq27VzpLq\n",
    "-----BEGIN ",
    "-",
    "A",
    "://a:",
    "://a:b@",
    "Bearer ",
    "Basic AAAA",
    "curl -u a:",
    "mysql -p",
    "Private-Lines: 9999\n",
    "HEROKU_API_KEY heroku ",
    "login password ",
    "<password>",
    "glpat-.",
    "ghs_",
    "密码：",
    "⟦sealed password=",
    "secret_key_base = Some(\"",
];

/// The most bytes that rules may read for each byte of a text.
const MOST_READS: u64 = 400;

fn reads(text: &str) -> u64 {
    let probe = TextProbe::new(text);
    SCANNER.scan_with(text, &probe);
    probe.reads()
}

#[test]
fn rules_read_no_more_of_a_longer_text_than_its_share() {
    for hostile in HOSTILE {
        let text = hostile.repeat(40_000 / hostile.len());
        let (once, fourfold) = (reads(&text), reads(&text.repeat(4)));
        assert!(
            fourfold <= 4 * once + 100_000,
            "{hostile:?}: {once} bytes read, then {fourfold}"
        );
        let limit = MOST_READS * text.len() as u64;
        assert!(
            once <= limit,
            "{hostile:?}: {} bytes read per byte",
            once / text.len() as u64
        );
    }
}

#[test]
fn rules_read_little_of_ordinary_text() {
    let text =
        "The quick brown fox jumps over the lazy dog, and fn main() { let x = 1; } follows. ".repeat(1_000);
    assert!(reads(&text) < text.len() as u64 / 100);
}
