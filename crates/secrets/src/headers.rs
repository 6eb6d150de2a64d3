//! Credentials of HTTP: `Bearer …`, `Basic …`, and JSON Web Tokens.

use std::ops::Range;

use crate::byte_set::{BASE64, BASE64_URL, BLANKS, ByteSet, DOTTED};
use crate::judge;
use crate::kind::SecretKind;
use crate::probe::TextProbe;

/// The schemes of bearer tokens as they are written.
pub(crate) const BEARER: &[&str] = &["Bearer ", "bearer ", "BEARER "];
/// The scheme of basic authentication as it is written.
pub(crate) const BASIC: &[&str] = &["Basic ", "basic ", "BASIC "];
/// The start of each token: `{"` in base64.
pub(crate) const JWT: &str = "eyJ";

const LONGEST_BEARER: usize = 2048;
const LONGEST_BASIC: usize = 400;
/// The most bytes of each of a token's parts.
const LONGEST_PART: usize = 8192;

/// Returns the token after `Bearer`.
pub(crate) fn find_bearer(probe: &TextProbe, anchor: &Range<usize>) -> Option<(Range<usize>, SecretKind)> {
    probe.begins_token(anchor.start).then_some(())?;
    let start = probe.run_end(anchor.end, BLANKS, 8);
    let run = probe.run_end(start, DOTTED.or(ByteSet::from_text("~")), LONGEST_BEARER);
    let token = probe.slice(start..run);
    let dots = token.iter().rev().take_while(|byte| **byte == b'.').count();
    let end = run - dots;
    let token = token.get(..token.len() - dots)?;
    judge::is_secret(token, judge::ValuePlace::Literal).then_some((start..end, SecretKind::BearerToken))
}

/// Returns the base64 after `Basic` if it contains a user name and a password.
pub(crate) fn find_basic(probe: &TextProbe, anchor: &Range<usize>) -> Option<(Range<usize>, SecretKind)> {
    probe.begins_token(anchor.start).then_some(())?;
    let start = probe.run_end(anchor.end, BLANKS, 8);
    let end = probe.run_end(start, BASE64, LONGEST_BASIC);
    let plain = decode_base64(probe.slice(start..end))?;
    let colon = plain.iter().position(|byte| *byte == b':')?;
    let (user, password) = (plain.get(..colon)?, plain.get(colon + 1..)?);
    let printable = std::str::from_utf8(&plain).is_ok_and(|plain| !plain.chars().any(char::is_control));
    let secret =
        (user.len() + password.len() > 5) && !judge::is_placeholder(password) && !contains_example(&plain);
    (printable && secret).then_some((start..end, SecretKind::BasicAuth))
}

/// Returns whether a user name and password are those of manuals.
fn contains_example(plain: &[u8]) -> bool {
    let manual: [&[u8]; 6] = [
        b"user:pass",
        b"username:",
        b"foo:bar",
        b"test:test",
        b"admin:admin",
        b"aladdin:",
    ];
    let lower = plain.to_ascii_lowercase();
    manual.iter().any(|manual| lower.starts_with(manual))
}

/// Returns the JSON Web Token that begins at an anchor: a header that names its algorithm, a payload, a signature.
pub(crate) fn find_jwt(probe: &TextProbe, anchor: &Range<usize>) -> Option<(Range<usize>, SecretKind)> {
    probe.begins_token(anchor.start).then_some(())?;
    let header_end = probe.run_end(anchor.end, BASE64_URL, LONGEST_PART);
    (header_end - anchor.start >= 16 && probe.byte(header_end) == Some(b'.')).then_some(())?;
    let header = decode_base64(probe.slice(anchor.start..header_end))?;
    (judge::contains(&header, b"\"alg\"") || judge::contains(&header, b"\"typ\"")).then_some(())?;
    let mut end = header_end;
    let mut parts = 0;
    // An encrypted token has five parts, and its second may be empty.
    while parts < 4 && probe.byte(end) == Some(b'.') {
        let next = probe.run_end(end + 1, BASE64_URL, LONGEST_PART);
        if next == end + 1 && parts != 0 {
            break;
        }
        end = next;
        parts += 1;
    }
    let long_enough = parts >= 2 && end - header_end >= 24;
    let token = probe.slice(header_end..end);
    (long_enough && judge::is_varied(token)).then_some((anchor.start..end, SecretKind::Jwt))
}

/// Decodes base64 of either alphabet, with padding or without; returns none if it contains anything else.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding)?;
    (digits.len() >= 6 && digits.len() % 4 != 1).then_some(())?;
    let (mut plain, mut bits, mut held) = (Vec::with_capacity(digits.len()), 0_u32, 0);
    for byte in digits {
        bits = bits << 6 | u32::from(base64_digit(*byte)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.push((bits >> held) as u8);
        }
    }
    Some(plain)
}

const fn base64_digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}
