//! Private keys as blocks of lines: PEM of every flavour, OpenSSH, PGP and PuTTY.

use std::ops::Range;

use crate::byte_set::{BASE64, ByteSet, DIGITS};
use crate::judge;
use crate::kind::SecretKind;
use crate::probe::TextProbe;

/// The beginning of a block's first line.
pub(crate) const BEGIN: &str = "-----BEGIN ";
/// The line before the private part of a PuTTY key.
pub(crate) const PUTTY: &str = "Private-Lines: ";

const DASHES: &str = "-----";
/// The longest label of a block, such as `OPENSSH PRIVATE KEY`.
const LONGEST_LABEL: usize = 64;
/// The fewest characters of base64 in a key; the shortest keys, on elliptic curves, have about 64.
const SHORTEST_BODY: usize = 40;

/// Returns the private key whose block begins at an anchor.
///
/// The search for the END line stops at the next five hyphens, wherever they are, so that no byte is read for two blocks.
/// A block without an END line ends with its base64, because texts are cut off.
pub(crate) fn find_block(probe: &TextProbe, anchor: &Range<usize>) -> Option<(Range<usize>, SecretKind)> {
    let label_bytes = probe.ahead(anchor.end, LONGEST_LABEL);
    let label_length = position(label_bytes, DASHES.as_bytes())?;
    let label = label_bytes.get(..label_length)?;
    judge::contains(label, b"PRIVATE KEY").then_some(())?;
    let body_start = anchor.end + label_length + DASHES.len();
    let body = probe.until(body_start, DASHES);
    let body_end = body_start + body.len();
    let base64 = body.iter().filter(|byte| BASE64.contains(**byte)).count();
    (base64 >= SHORTEST_BODY && judge::is_varied(body) && !judge::contains_label(body)).then_some(())?;
    let end = match end_line(probe, body_end) {
        Some(end) => {
            // Prose that mentions both lines is not a key.
            let words = body.iter().filter(|byte| **byte == b' ').count();
            (words * 8 <= body.len()).then_some(end)?
        }
        None => body_start + cut_off_body(body)?,
    };
    Some((anchor.start..end, block_kind(probe, anchor.start)))
}

/// Returns the end of the END line that begins here.
fn end_line(probe: &TextProbe, at: usize) -> Option<usize> {
    probe.starts_with(at, "-----END ").then_some(())?;
    let label = at + "-----END ".len();
    let length = position(probe.ahead(label, LONGEST_LABEL), DASHES.as_bytes())?;
    Some(label + length + DASHES.len())
}

/// Returns the length of the lines of base64 at the start of a body that was cut off, if they are long enough.
fn cut_off_body(body: &[u8]) -> Option<usize> {
    let set = BASE64.or(ByteSet::from_text("\\\r\n \t"));
    let headers = position(body, b"\n\n").filter(|end| *end < 200 && body.contains(&b':'));
    let start = headers.unwrap_or(0);
    let rest = body.get(start..)?;
    let run = rest.iter().take_while(|byte| set.contains(**byte)).count();
    let lines = rest.get(..run)?;
    let longest = lines
        .split(|byte| !BASE64.contains(*byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    // Words that follow the last line of the key stay in the text.
    let end = lines
        .split_inclusive(|byte| b"\n".contains(byte))
        .take_while(|line| !line.trim_ascii().contains(&b' '))
        .map(<[u8]>::len)
        .sum::<usize>();
    let trimmed = lines.get(..end)?.trim_ascii_end().len();
    (longest >= SHORTEST_BODY && trimmed >= SHORTEST_BODY).then_some(start + trimmed)
}

/// Returns the kind of a key by the name before it: service-account files of Google Cloud call it `private_key`.
fn block_kind(probe: &TextProbe, start: usize) -> SecretKind {
    if judge::contains(probe.behind(start, 24), b"private_key") {
        SecretKind::GcpServiceAccountKey
    } else {
        SecretKind::PrivateKey
    }
}

/// Returns the private lines of a PuTTY key, whose number the anchor's line gives.
pub(crate) fn find_putty_lines(
    probe: &TextProbe,
    anchor: &Range<usize>,
) -> Option<(Range<usize>, SecretKind)> {
    let number_end = probe.run_end(anchor.end, DIGITS, 3);
    let number: usize = std::str::from_utf8(probe.slice(anchor.end..number_end))
        .ok()?
        .parse()
        .ok()?;
    let start = next_line(probe, number_end)?;
    let (mut line, mut end) = (start, start);
    // A key of 4096 bits has 38 lines.
    for _ in 0..number.min(80) {
        end = probe.run_end(line, BASE64, 64);
        match next_line(probe, end).filter(|_| end > line) {
            Some(next) => line = next,
            None => break,
        }
    }
    (end >= start + SHORTEST_BODY).then_some((start..end, SecretKind::PrivateKey))
}

/// Returns the start of the next line if this one ends here.
fn next_line(probe: &TextProbe, at: usize) -> Option<usize> {
    ["\r\n", "\n"]
        .into_iter()
        .find(|end| probe.starts_with(at, end))
        .map(|end| at + end.len())
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
