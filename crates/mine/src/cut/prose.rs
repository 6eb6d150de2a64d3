//! Seams of prose: paragraphs, then lines; lines after the end of a sentence are better.

use super::line::text_lines;
use super::pack::PiecePacker;
use super::seam::SeamRank;

/// Reports the seams of prose.
pub(super) fn scan_prose(text: &str, packer: &mut PiecePacker<'_>) {
    let (mut blank, mut sentence) = (true, false);
    for line in text_lines(text) {
        let inner = line.text.trim_end();
        if inner.is_empty() {
            blank = true;
            continue;
        }
        let rank = if blank {
            SeamRank::Block
        } else {
            SeamRank::Line(u8::from(sentence))
        };
        packer.add_seam(line.start, rank, &None);
        blank = false;
        sentence = inner.ends_with(['.', '!', '?', '…', ':', '"', '”', '。', '！', '？', '」']);
    }
}
