//! A file as it was: its pieces joined without a seam, with the numbers of its lines.

use loci_engine::passage::are_joined;
use maud::{Markup, html};

use super::part::ShownSourcePart;
use super::pieces::{self, PieceLayout, ShownPiece};
use crate::parts::shown;
use crate::parts::syntax::rules_for;

/// Shows the lines of a part.
pub(super) fn lines(part: &ShownSourcePart<'_>) -> Markup {
    let rules = rules_for(part.source).filter(|_| part.has_colors);
    let layout = PieceLayout {
        rules,
        has_lines: true,
    };
    let blocks: Vec<&[ShownPiece<'_>]> = part
        .pieces
        .chunk_by(|first, second| !first.is_cut() && are_joined(first.drawer, second.drawer))
        .collect();
    html! {
        @for (at, block) in blocks.iter().enumerate() {
            @if let Some(before) = at.checked_sub(1).and_then(|before| blocks.get(before)) { (gap(before, block)) }
            pre.lines dir="auto" { (pieces::text(block, layout)) }
            @for damage in block.iter().flat_map(|piece| &piece.drawer.damage) { p.warning.small { "Damaged: " (shown::text(damage)) } }
        }
    }
}

/// Tells that something between two blocks is not filed.
fn gap(before: &[ShownPiece<'_>], after: &[ShownPiece<'_>]) -> Markup {
    let end = before.last().filter(|piece| !piece.is_cut());
    let spans = end
        .and_then(|piece| piece.drawer.span)
        .zip(after.first().and_then(|piece| piece.drawer.span));
    let missing = spans.map_or(0, |(end, start)| start.start.saturating_sub(end.end));
    html! { @if missing > 0 { p.gap.small.muted { (shown::bytes(missing)) " of the file are not filed here" } } }
}
