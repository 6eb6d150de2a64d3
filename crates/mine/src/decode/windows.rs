//! Windows-1252 as a bijection: every byte is one character and goes back to the same byte.

/// The characters of the bytes 0x80 to 0x9F; the five that the code page leaves open are controls.
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The character of a byte.
pub(super) fn character(byte: u8) -> char {
    let place = usize::from(byte.wrapping_sub(0x80));
    HIGH.get(place).copied().unwrap_or(char::from(byte))
}

/// The byte of a character, if it has one.
pub(super) fn byte(character: char) -> Option<u8> {
    match u8::try_from(character) {
        Ok(byte) if self::character(byte) == character => Some(byte),
        _ => {
            let place = HIGH.iter().position(|high| *high == character)?;
            u8::try_from(place + 0x80).ok()
        }
    }
}
