//! Windows-1252 as a bijection: every byte is one character and goes back to the same byte.

/// The characters of the bytes 0x80 to 0x9F; the five undefined ones are control characters.
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Decodes a byte.
pub(super) fn decode_byte(byte: u8) -> char {
    let place = usize::from(byte.wrapping_sub(0x80));
    HIGH.get(place).copied().unwrap_or(char::from(byte))
}

/// Encodes a character, if the code page has it.
pub(super) fn encode_character(character: char) -> Option<u8> {
    match u8::try_from(character) {
        // U+0080 to U+009F fit a byte, but most of these bytes mean another character.
        Ok(byte) if self::decode_byte(byte) == character => Some(byte),
        _ => {
            let place = HIGH.iter().position(|high| *high == character)?;
            u8::try_from(place + 0x80).ok()
        }
    }
}
