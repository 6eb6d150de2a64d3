//! The pieces of one message or file, joined without a seam: each keeps its own address.

use std::ops::Range;

use loci_engine::view::DrawerView;
use maud::{Markup, PreEscaped, Render as _, html};

use super::fit::cut_text;
use crate::parts::links::{anchor_name, place_link, whole_drawer_link};
use crate::parts::shown;
use crate::parts::syntax::{SyntaxRules, SyntaxToken, find_tokens};

/// A drawer and as much of its text as a page shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownPiece<'a> {
    pub(super) drawer: &'a DrawerView,
    pub(super) text: &'a str,
    /// The bytes of HTML that the text takes without colors.
    pub(super) cost: usize,
    /// Whether it is the drawer that was asked for.
    pub(super) is_here: bool,
}

impl<'a> ShownPiece<'a> {
    /// Takes as much of a drawer as fits.
    pub(super) fn from_drawer(drawer: &'a DrawerView, has_lines: bool, is_here: bool) -> Self {
        let (text, cost) = cut_text(drawer.whole_text(), has_lines);
        Self {
            drawer,
            text,
            cost,
            is_here,
        }
    }

    /// Returns whether the text goes on behind what is shown.
    pub(super) fn is_cut(&self) -> bool {
        self.text.len() < self.drawer.whole_text().len()
    }
}

/// How the pieces of a message or file are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct PieceLayout {
    /// The language, for colors.
    pub(super) rules: Option<&'static SyntaxRules>,
    /// Whether lines have numbers, and pieces can be chosen one by one.
    pub(super) has_lines: bool,
}

/// Shows the text of pieces that follow each other.
pub(super) fn text(pieces: &[ShownPiece<'_>], layout: PieceLayout) -> Markup {
    let joined: String = pieces.iter().map(|piece| piece.text).collect();
    let tokens = layout
        .rules
        .map(|rules| find_tokens(&joined, rules))
        .unwrap_or_default();
    let seals = find_labels(pieces);
    let mut writer = PieceWriter {
        joined: &joined,
        tokens: keep_labels_whole(tokens, &seals),
        seals,
        has_lines: layout.has_lines,
        line: 0,
        is_line_start: true,
        html: String::with_capacity(joined.len() * 2),
    };
    let mut at = 0;
    for piece in pieces {
        let end = at + piece.text.len();
        writer.push_piece(piece, at..end);
        at = end;
    }
    PreEscaped(writer.html)
}

/// A label that stands for a secret: its place in the joined text, and what it tells.
#[derive(Debug)]
struct LabelMark {
    range: Range<usize>,
    meaning: String,
}

fn find_labels(pieces: &[ShownPiece<'_>]) -> Vec<LabelMark> {
    let mut labels = Vec::new();
    let mut at = 0;
    for piece in pieces {
        let in_text = piece.drawer.seals.iter().filter(|seal| seal.field.is_none());
        for seal in in_text.filter(|seal| seal.end <= piece.text.len()) {
            labels.push(LabelMark {
                range: at + seal.start..at + seal.end,
                meaning: format!(
                    "a secret of {}, which was sealed and is not shown here",
                    shown::count(seal.length as u64, "byte")
                ),
            });
        }
        at += piece.text.len();
    }
    labels.sort_by_key(|label| label.range.start);
    labels
}

/// Leaves out the tokens that would cut a label in two.
fn keep_labels_whole(tokens: Vec<SyntaxToken>, labels: &[LabelMark]) -> Vec<SyntaxToken> {
    let cuts = |token: &SyntaxToken| {
        let first = labels.partition_point(|label| label.range.end <= token.range.start);
        let met = labels
            .iter()
            .skip(first)
            .take_while(|label| label.range.start < token.range.end);
        let mut met = met.map(|label| &label.range);
        met.any(|label| label.start < token.range.start || label.end > token.range.end)
    };
    tokens.into_iter().filter(|token| !cuts(token)).collect()
}

/// Writes the HTML of a joined text, from its beginning to its end.
#[derive(Debug)]
struct PieceWriter<'a> {
    joined: &'a str,
    tokens: Vec<SyntaxToken>,
    seals: Vec<LabelMark>,
    has_lines: bool,
    /// The number of the line that is being written.
    line: u64,
    /// Whether the next character begins a line, whose number is still to be written.
    is_line_start: bool,
    html: String,
}

impl PieceWriter<'_> {
    fn push_piece(&mut self, piece: &ShownPiece<'_>, range: Range<usize>) {
        let drawer = piece.drawer;
        // Counted anew by every piece: what was sealed or left out may have had lines.
        match drawer.span.map(|span| span.line_start) {
            Some(line) if line > 0 && self.is_line_start => self.line = line,
            _ => self.line = self.line.max(1),
        }
        let class = if piece.is_here { "piece here" } else { "piece" };
        let opening = html! {
            @if self.has_lines {
                a.mark-place href=[drawer.source.as_deref().map(|source| place_link(source, &drawer.id))] aria-label="This place" { "¶" }
            }
        };
        self.html.push_str("<span class=\"");
        self.html.push_str(class);
        self.html.push_str("\" id=\"");
        self.html.push_str(&anchor_name(&drawer.id));
        if self.has_lines {
            self.html.push_str("\" tabindex=\"-1\" data-item data-id=\"");
            drawer.id.as_str().render_to(&mut self.html);
        }
        self.html.push_str("\">");
        opening.render_to(&mut self.html);
        self.push_tokens(range);
        self.html.push_str("</span>");
        if piece.is_cut() {
            self.push_cut(piece);
        }
    }

    fn push_cut(&mut self, piece: &ShownPiece<'_>) {
        let left = (piece.drawer.whole_text().len() - piece.text.len()) as u64;
        let link = html! {
            span.cut { " … " } a.cut-link href=(whole_drawer_link(&piece.drawer.id)) { "Show the whole text, " (shown::bytes(left)) " more" } "\n"
        };
        link.render_to(&mut self.html);
        self.is_line_start = true;
    }

    /// Writes a range with its colors.
    fn push_tokens(&mut self, range: Range<usize>) {
        let first = self
            .tokens
            .partition_point(|token| token.range.end <= range.start);
        let tokens: Vec<SyntaxToken> = self
            .tokens
            .iter()
            .skip(first)
            .take_while(|token| token.range.start < range.end)
            .cloned()
            .collect();
        let mut at = range.start;
        for token in tokens {
            // A token that goes on in the next piece is opened there again.
            let (start, end) = (token.range.start.max(range.start), token.range.end.min(range.end));
            self.push_labels(at..start);
            self.html.push_str("<span class=\"");
            self.html.push_str(token.class);
            self.html.push_str("\">");
            self.push_labels(start..end);
            self.html.push_str("</span>");
            at = end;
        }
        self.push_labels(at..range.end);
    }

    /// Writes a range with the labels in it.
    fn push_labels(&mut self, range: Range<usize>) {
        let mut at = range.start;
        let first = self
            .seals
            .partition_point(|label| label.range.start < range.start);
        for number in first..self.seals.len() {
            let Some(label) = self
                .seals
                .get(number)
                .filter(|label| label.range.end <= range.end)
            else {
                break;
            };
            let (label, meaning) = (label.range.clone(), label.meaning.clone());
            self.push_lines(at..label.start);
            let opening = html! { span.visually-hidden { " (" (meaning) ") " } };
            self.html.push_str("<span class=\"sealed\" title=\"");
            meaning.render_to(&mut self.html);
            self.html.push_str("\">");
            self.push_lines(label.clone());
            opening.render_to(&mut self.html);
            self.html.push_str("</span>");
            at = label.end;
        }
        self.push_lines(at..range.end);
    }

    /// Writes a range, with the numbers of the lines that begin in it.
    fn push_lines(&mut self, range: Range<usize>) {
        let text = self.joined.get(range.clone()).unwrap_or_default();
        let follows = self.joined.get(range.end..).unwrap_or_default();
        // The halves of a line break may lie on both sides of a seam.
        let text = match text.strip_suffix('\r') {
            Some(before) if follows.starts_with('\n') => before,
            _ => text,
        };
        if !self.has_lines {
            shown::push_text(text, &mut self.html);
            return;
        }
        for line in text.split_inclusive('\n') {
            if self.is_line_start {
                self.html.push_str("<b data-n=\"");
                self.html.push_str(&self.line.to_string());
                self.html.push_str("\"></b>");
            }
            shown::push_text(line, &mut self.html);
            self.is_line_start = line.ends_with('\n');
            self.line = self.line.saturating_add(u64::from(self.is_line_start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_around_a_label_or_gives_way_to_it() {
        let token = |range| SyntaxToken { range, class: "tn" };
        let label = |range| LabelMark {
            range,
            meaning: String::new(),
        };
        let labels = [label(10..20), label(30..40)];
        let tokens = [2..5, 5..11, 12..15, 20..30, 28..42, 30..40, 33..50, 50..60].map(token);
        let kept = keep_labels_whole(tokens.to_vec(), &labels);
        let kept: Vec<Range<usize>> = kept.into_iter().map(|token| token.range).collect();
        assert_eq!(kept, [2..5, 20..30, 28..42, 30..40, 50..60]);
    }
}
