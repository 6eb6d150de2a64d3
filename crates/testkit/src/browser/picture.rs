//! Pictures as the browser sends them: bytes in base 64.

/// Decodes base 64 with padding; `None` if it is something else.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').bytes().map(|byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    });
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for digit in digits {
        held = (held << 6 | u32::from(digit?)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("TQ==", b"M"),
            ("TWE=", b"Ma"),
            ("TWFu", b"Man"),
            ("/+8A", b"\xff\xef\0"),
        ] {
            assert_eq!(decode_base64(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(decode_base64("a b"), None);
    }
}
