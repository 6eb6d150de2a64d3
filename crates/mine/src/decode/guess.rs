//! Guesses how bytes spell text. Any guess is safe: whatever is read goes back to the same bytes.

use super::Encoding;
use super::windows;

/// How many bytes the look for UTF-16 takes in.
const LOOK: usize = 64 << 10;

/// UTF-16, if it begins with its mark or is clearly so without.
pub(super) fn wide(bytes: &[u8]) -> Option<Encoding> {
    if bytes.starts_with(b"\xff\xfe") {
        return Some(Encoding::Utf16Le);
    }
    if bytes.starts_with(b"\xfe\xff") {
        return Some(Encoding::Utf16Be);
    }
    let (units, rest) = bytes.get(..LOOK).unwrap_or(bytes).as_chunks::<2>();
    if !rest.is_empty() || !bytes.len().is_multiple_of(2) || units.len() < 4 {
        return None;
    }
    if is_wide(units.iter().map(|[low, high]| (*high, *low))) {
        return Some(Encoding::Utf16Le);
    }
    is_wide(units.iter().map(|[high, low]| (*high, *low))).then_some(Encoding::Utf16Be)
}

/// Whether nearly every unit is ASCII or of the one script that is most frequent, and at least a twentieth is
/// ASCII. Those have a NUL for their high byte, which no other text has at every other place only.
fn is_wide(units: impl Iterator<Item = (u8, u8)>) -> bool {
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

/// A control character that text has no use for. Escape is one that logs of terminals are full of.
fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}

fn controls(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| is_control(**byte)).count()
}

/// Whether so many of these bytes are control characters that they are no text. A single one never says so, unless
/// there is nothing else; nor do zeros at the end, which a crash leaves behind a file that was being written.
pub(super) fn is_noise(bytes: &[u8]) -> bool {
    let written = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let bytes = bytes.get(..written).unwrap_or(bytes);
    let controls = controls(bytes);
    controls == bytes.len() || (controls > 1 && controls * 20 > bytes.len())
}

/// UTF-8 with strays, Windows-1252, or neither, for bytes that are not UTF-8.
pub(super) fn narrow(bytes: &[u8]) -> Option<Encoding> {
    let counts = Counts::of(bytes);
    if is_noise(bytes) {
        return None;
    }
    let mostly = counts.sequences * 4 >= counts.invalid && counts.sequences > 0;
    let rarely = counts.invalid * 50 <= bytes.len() && counts.legacy * 2 < counts.runs;
    // Half of what is no text in a short file may be one cut-off character at its end.
    let cut_off =
        counts.runs == 1 && counts.legacy == 0 && counts.invalid < 4 && counts.invalid < bytes.len();
    if mostly || rarely || cut_off {
        return Some(Encoding::Utf8);
    }
    let clean = !bytes.contains(&0) && controls(bytes) * 200 <= bytes.len();
    clean.then_some(Encoding::Windows1252)
}

/// What there is for and against UTF-8.
#[derive(Default)]
struct Counts {
    /// Valid sequences of several bytes.
    sequences: usize,
    /// Bytes that are not UTF-8.
    invalid: usize,
    /// Places where bytes are not UTF-8.
    runs: usize,
    /// Such places that make sense in Windows-1252.
    legacy: usize,
}

impl Counts {
    fn of(bytes: &[u8]) -> Self {
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

/// Whether bytes are a letter of western Europe beside another letter, or a mark that is typed in running text.
fn is_legacy(before: Option<u8>, bytes: &[u8], after: Option<u8>) -> bool {
    let beside = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic());
    let near_letters = beside(before) || beside(after);
    bytes.iter().all(|byte| match byte {
        0x80 | 0x82 | 0x84 | 0x85 | 0x91..=0x97 | 0x99 => true,
        0xa0 | 0xa3 | 0xa7 | 0xa9 | 0xab | 0xae | 0xb0..=0xb5 | 0xb7 | 0xbb | 0xbf => true,
        0xff => false,
        _ => near_letters && windows::character(*byte).is_alphabetic(),
    })
}
