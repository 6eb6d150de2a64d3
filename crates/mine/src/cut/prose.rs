//! Seams of prose: paragraphs, then lines, those that end a sentence first.

use super::line::lines;
use super::pack::Packer;
use super::seam::Rank;

/// Reports the seams of prose.
pub(super) fn scan(text: &str, packer: &mut Packer<'_>) {
    let (mut blank, mut sentence) = (true, false);
    for line in lines(text) {
        let inner = line.text.trim_end();
        if inner.is_empty() {
            blank = true;
            continue;
        }
        let rank = if blank {
            Rank::Block
        } else {
            Rank::Line(u8::from(sentence))
        };
        packer.seam(line.start, rank, &None);
        blank = false;
        sentence = inner.ends_with(['.', '!', '?', '…', ':', '"', '”', '。', '！', '？', '」']);
    }
}
