//! Seams of rows (CSV, TSV): the ends of rows, under the header. A newline in a quoted field does not end a row.

use super::line::text_lines;
use super::pack::PiecePacker;
use super::seam::{EnclosingHeading, SeamRank, nest_heading};

/// Reports the seams of rows.
pub(super) fn scan_rows(text: &str, packer: &mut PiecePacker<'_>) {
    let mut header: EnclosingHeading = None;
    let mut delimiter = None;
    // The start of the line in which the open quoted field began.
    let mut quoted = None;
    for line in text_lines(text) {
        if line.text.is_empty() {
            continue;
        }
        let rank = if quoted.is_some() {
            SeamRank::Inside
        } else {
            SeamRank::Line(0)
        };
        packer.add_seam(line.start, rank, &header);
        if delimiter.is_none() {
            header = nest_heading(&None, 1, line.text);
        }
        let delimiter = *delimiter.get_or_insert_with(|| delimiter_of(line.text));
        let open = ends_inside_quotes(line.text, delimiter, quoted.is_some());
        // A quotation mark that stays open this long was a typo or an inch sign; cutting at lines must go on.
        let since = quoted.unwrap_or(line.start);
        quoted = (open && line.start - since <= packer.whole_limit()).then_some(since);
    }
}

fn delimiter_of(header: &str) -> u8 {
    let count = |mark: u8| header.bytes().filter(|byte| *byte == mark).count();
    b",\t;|"
        .iter()
        .copied()
        // `max_by_key` returns the last of equal counts, so reversing makes the comma win ties.
        .rev()
        .max_by_key(|mark| count(*mark))
        .unwrap_or(b',')
}

/// Returns whether a quoted field is open at the end of a line. A quotation mark opens one only at the start of a
/// field.
fn ends_inside_quotes(line: &str, delimiter: u8, mut open: bool) -> bool {
    let mut fresh = true;
    for byte in line.bytes() {
        if open {
            open = byte != b'"';
        } else {
            // A doubled mark inside a field is an escaped mark: the first closes the field, the second reopens it.
            open = byte == b'"' && fresh;
        }
        fresh = byte == delimiter || byte == b'"';
    }
    open
}
