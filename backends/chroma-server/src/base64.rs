//! Vectors as Base64 text, bit for bit.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes the little-endian bytes of `vector`.
pub(crate) fn encode_vector(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            // A group of n bytes has n + 1 digits; the rest is padding.
            let shown = (digit <= group.len()).then(|| {
                let value = (bits >> (18 - 6 * digit)) & 63;
                DIGITS.get(value as usize).copied().unwrap_or_default()
            });
            text.push(char::from(shown.unwrap_or(b'=')));
        }
    }
    text
}

/// Reads such a text; `None` if it is not one.
pub(crate) fn decode_vector(text: &str) -> Option<Vec<f32>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            let value = DIGITS.iter().position(|known| known == digit)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        bits <<= 6 * (4 - group.len());
        let [_, a, b, c] = bits.to_be_bytes();
        bytes.extend([a, b, c].into_iter().take(group.len() * 3 / 4));
    }
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty()
        .then(|| numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_comes_back_bit_for_bit() {
        let values = [0.1, -0.0, f32::MIN_POSITIVE, f32::MAX, 1e-45, -3.25, 7.0];
        for n in 1..=values.len() {
            let vector = &values[..n];
            let text = encode_vector(vector);
            assert_eq!(text.len() % 4, 0, "{text}");
            let back = decode_vector(&text).unwrap();
            let bits = |vector: &[f32]| vector.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&back), bits(vector));
        }
        assert_eq!(encode_vector(&[1.0]), "AACAPw==");
        for odd in ["*", "AACAP", "AAC"] {
            assert_eq!(decode_vector(odd), None, "{odd}");
        }
    }
}
