//! Seams of rows (CSV, TSV): line ends that end a row, under the header.

use super::line::lines;
use super::pack::Packer;
use super::seam::{Rank, Under, heading};

/// Reports the seams of rows.
pub(super) fn scan(text: &str, packer: &mut Packer<'_>) {
    let mut header: Under = None;
    let mut delimiter = None;
    // Where the quoted field that is still open began.
    let mut quoted = None;
    for line in lines(text) {
        if line.text.is_empty() {
            continue;
        }
        let rank = if quoted.is_some() {
            Rank::Inside
        } else {
            Rank::Line(0)
        };
        packer.seam(line.start, rank, &header);
        if delimiter.is_none() {
            header = heading(&None, 1, line.text);
        }
        let delimiter = *delimiter.get_or_insert_with(|| delimiter_of(line.text));
        let open = ends_quoted(line.text, delimiter, quoted.is_some());
        // A quotation mark that is not closed for so long was no quotation.
        let since = quoted.unwrap_or(line.start);
        quoted = (open && line.start - since <= packer.whole()).then_some(since);
    }
}

fn delimiter_of(header: &str) -> u8 {
    let count = |mark: u8| header.bytes().filter(|byte| *byte == mark).count();
    b",\t;|"
        .iter()
        .copied()
        .rev()
        .max_by_key(|mark| count(*mark))
        .unwrap_or(b',')
}

/// Whether a quoted field is open at the end of a line. A quotation mark opens one only where a field begins.
fn ends_quoted(line: &str, delimiter: u8, mut open: bool) -> bool {
    let mut fresh = true;
    for byte in line.bytes() {
        if open {
            open = byte != b'"';
        } else {
            // After a closing mark, a second one means the mark itself and opens the field again.
            open = byte == b'"' && fresh;
        }
        fresh = byte == delimiter || byte == b'"';
    }
    open
}
