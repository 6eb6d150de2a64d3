//! Seams of a notebook (JSON): before each cell, then its lines.

use super::line::{lines, shallow};
use super::pack::Packer;
use super::seam::Rank;

/// Reports the seams of a notebook.
pub(super) fn scan(text: &str, packer: &mut Packer<'_>) {
    let mut rows = lines(text).peekable();
    while let Some(line) = rows.next() {
        let inner = line.inner();
        let opens = inner == "{"
            && rows
                .peek()
                .is_some_and(|next| next.inner().starts_with("\"cell_type\""));
        let rank = match inner.as_bytes().first() {
            _ if opens || begins_cell(inner) => Rank::Section,
            Some(b'}' | b']') => Rank::Line(0),
            Some(_) => Rank::Line(shallow(line.indent())),
            None => continue,
        };
        packer.seam(line.start, rank, &None);
    }
}

fn begins_cell(line: &str) -> bool {
    let inner = line.strip_prefix('{').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with("\"cell_type\""))
}
