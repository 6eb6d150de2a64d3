//! Percent-encoding in the parts of a URL.

use loci_core::{Error, Result};

/// Decodes `text`; `part` names it in errors, which never repeat the text itself.
pub(super) fn decode(text: &str, part: &str) -> Result<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digits = (bytes.next().and_then(hex_digit), bytes.next().and_then(hex_digit));
        let (Some(high), Some(low)) = digits else {
            return Err(refuse(part, "has a `%` without two hexadecimal digits behind it")
                .with_hint("write a percent sign as `%25`"));
        };
        decoded.push(high * 16 + low);
    }
    if decoded.contains(&0) {
        return Err(refuse(part, "contains a NUL character").with_hint("remove `%00`"));
    }
    String::from_utf8(decoded)
        .map_err(|_| refuse(part, "is not UTF-8 after decoding").with_hint("percent-encode it as UTF-8"))
}

fn refuse(part: &str, reason: &str) -> Error {
    Error::invalid(format!("{part} in the URL {reason}; nothing was changed"))
}

fn hex_digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

/// Encodes everything but the characters that mean themselves in every part of a URL.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_and_decoding_give_the_text_back() {
        for text in ["", "plain", "a b/c?d&e=f%g@h:i", "Träume 夢", "\u{1}\u{7f}"] {
            assert_eq!(decode(&encode(text), "the text").unwrap(), text);
        }
    }

    #[test]
    fn a_bad_encoding_is_refused_without_repeating_the_text() {
        for text in ["hush%", "hush%2", "hush%zz", "hush%00", "hush%ff"] {
            let error = decode(text, "the password").unwrap_err();
            assert!(
                error.to_string().starts_with("the password in the URL "),
                "{error}"
            );
            assert!(!format!("{error:?}").contains("hush"), "{error:?}");
        }
    }
}
