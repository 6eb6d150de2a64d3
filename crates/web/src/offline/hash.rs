//! Hashes of scripts and style sheets, as a content security policy names them.

use sha2::{Digest as _, Sha256};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the source expression that allows exactly this content.
pub(super) fn name_content(content: &str) -> String {
    format!(
        "'sha256-{}'",
        encode_base64(Sha256::digest(content.as_bytes()).as_slice())
    )
}

/// Encodes bytes in base 64 with padding.
fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place > three.len() {
                text.push('=');
                continue;
            }
            let digit = bits >> (18 - 6 * place) & 63;
            text.push(char::from(DIGITS.get(digit as usize).copied().unwrap_or(b'=')));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded_as_browsers_do_it() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"M", "TQ=="),
            (b"Ma", "TWE="),
            (b"Man", "TWFu"),
            (b"\xff\xef\0", "/+8A"),
        ] {
            assert_eq!(encode_base64(bytes), text);
        }
        // The hash that browsers print for this script in their own documentation of the policy.
        assert_eq!(
            name_content("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }
}
