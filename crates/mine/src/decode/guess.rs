//! Guesses the encoding of bytes. Any guess is safe, because decoding with it is reversible.

use super::TextEncoding;
use super::windows;

/// The number of bytes examined for UTF-16.
const LOOK: usize = 64 << 10;

/// Returns the UTF-16 variant if the bytes begin with a byte order mark or are clearly UTF-16 without one.
pub(super) fn guess_utf16(bytes: &[u8]) -> Option<TextEncoding> {
    if bytes.starts_with(b"\xff\xfe") {
        return Some(TextEncoding::Utf16Le);
    }
    if bytes.starts_with(b"\xfe\xff") {
        return Some(TextEncoding::Utf16Be);
    }
    let (units, rest) = bytes.get(..LOOK).unwrap_or(bytes).as_chunks::<2>();
    // Without a mark, an odd length rules UTF-16 out, and fewer than four units are too little evidence.
    if !rest.is_empty() || !bytes.len().is_multiple_of(2) || units.len() < 4 {
        return None;
    }
    if looks_like_utf16(units.iter().map(|[low, high]| (*high, *low))) {
        return Some(TextEncoding::Utf16Le);
    }
    looks_like_utf16(units.iter().map(|[high, low]| (*high, *low))).then_some(TextEncoding::Utf16Be)
}

/// Returns whether nearly every unit is ASCII or of the most frequent script, and at least a twentieth is ASCII. ASCII
/// units have a NUL as their high byte, and no other encoding of text has a NUL in every other place only.
fn looks_like_utf16(units: impl Iterator<Item = (u8, u8)>) -> bool {
    let mut high_bytes = [0usize; 256];
    let (mut all, mut plain, mut broken) = (0usize, 0usize, 0usize);
    for (high, low) in units {
        all += 1;
        plain += usize::from(high == 0 && is_plain(low));
        broken += usize::from(low == 0 || (high == 0 && is_control(low)));
        if let Some(count) = high_bytes.get_mut(usize::from(high)) {
            *count += 1;
        }
    }
    let script = high_bytes.iter().skip(1).max().copied().unwrap_or(0);
    let latin = high_bytes.first().copied().unwrap_or(0);
    plain * 20 >= all && broken * 50 <= all && (latin + script) * 20 >= all * 19
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Returns whether this control character does not occur in text. Escape does: terminal logs are full of it.
fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}

fn count_controls(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| is_control(**byte)).count()
}

/// Returns whether these bytes hold too many control characters to be text. A single one is allowed unless there is
/// nothing else, and so are zeros at the end, which a crash leaves in a file that was being written.
pub(super) fn is_noise(bytes: &[u8]) -> bool {
    let written = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let bytes = bytes.get(..written).unwrap_or(bytes);
    let controls = count_controls(bytes);
    controls == bytes.len() || (controls > 1 && controls * 20 > bytes.len())
}

/// Chooses between UTF-8 with strays, Windows-1252 and binary for bytes that are not valid UTF-8.
pub(super) fn guess_byte_encoding(bytes: &[u8]) -> Option<TextEncoding> {
    let counts = Utf8Evidence::gather(bytes);
    if is_noise(bytes) {
        return None;
    }
    // Valid sequences of several bytes hardly ever occur by chance, so a few of them outweigh four times the
    // errors.
    let mostly = counts.sequences * 4 >= counts.invalid && counts.sequences > 0;
    let rarely = counts.invalid * 50 <= bytes.len() && counts.legacy * 2 < counts.runs;
    // A program that truncates a log by bytes leaves one cut-off character, which in a short file is a large share.
    let cut_off =
        counts.runs == 1 && counts.legacy == 0 && counts.invalid < 4 && counts.invalid < bytes.len();
    if mostly || rarely || cut_off {
        return Some(TextEncoding::Utf8);
    }
    // Windows-1252 gives every byte a character, so it would accept any binary; stricter limits apply.
    let clean = !bytes.contains(&0) && count_controls(bytes) * 200 <= bytes.len();
    clean.then_some(TextEncoding::Windows1252)
}

/// The evidence for and against UTF-8.
#[derive(Default)]
struct Utf8Evidence {
    /// Valid sequences of several bytes.
    sequences: usize,
    /// Bytes that are not UTF-8.
    invalid: usize,
    /// Runs of bytes that are not UTF-8.
    runs: usize,
    /// Runs that make sense in Windows-1252.
    legacy: usize,
}

impl Utf8Evidence {
    fn gather(bytes: &[u8]) -> Self {
        let mut counts = Self::default();
        let mut done = 0;
        for chunk in bytes.utf8_chunks() {
            let valid = chunk.valid();
            counts.sequences += valid.chars().filter(|c| !c.is_ascii()).count();
            done += valid.len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                let after = bytes.get(done).copied();
                counts.invalid += chunk.invalid().len();
                counts.runs += 1;
                counts.legacy += usize::from(is_legacy(valid.bytes().last(), chunk.invalid(), after));
            }
        }
        counts
    }
}

/// Returns whether bytes are a western European letter beside another letter, or a sign used in running text.
fn is_legacy(before: Option<u8>, bytes: &[u8], after: Option<u8>) -> bool {
    let beside = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic());
    let near_letters = beside(before) || beside(after);
    bytes.iter().all(|byte| match byte {
        0x80 | 0x82 | 0x84 | 0x85 | 0x91..=0x97 | 0x99 => true,
        0xa0 | 0xa3 | 0xa7 | 0xa9 | 0xab | 0xae | 0xb0..=0xb5 | 0xb7 | 0xbb | 0xbf => true,
        0xff => false,
        _ => near_letters && windows::decode_byte(*byte).is_alphabetic(),
    })
}
