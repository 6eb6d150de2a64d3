//! Seams of a notebook (JSON): before each cell, then at its lines.

use super::line::{shallowness, text_lines};
use super::pack::PiecePacker;
use super::seam::SeamRank;

/// Reports the seams of a notebook.
pub(super) fn scan_notebook(text: &str, packer: &mut PiecePacker<'_>) {
    let mut rows = text_lines(text).peekable();
    while let Some(line) = rows.next() {
        let inner = line.unindented();
        // Jupyter writes the brace and `cell_type`, its first key, on two lines; other tools put them on one.
        let opens = inner == "{"
            && rows
                .peek()
                .is_some_and(|next| next.unindented().starts_with("\"cell_type\""));
        let rank = match inner.as_bytes().first() {
            _ if opens || begins_cell(inner) => SeamRank::Section,
            Some(b'}' | b']') => SeamRank::Line(0),
            Some(_) => SeamRank::Line(shallowness(line.indent())),
            None => continue,
        };
        packer.add_seam(line.start, rank, &None);
    }
}

fn begins_cell(line: &str) -> bool {
    let inner = line.strip_prefix('{').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with("\"cell_type\""))
}
