//! How much of a passage fits on a page, measured in the bytes of its HTML.
//!
//! Texts grow when they are escaped: a text of control characters becomes sixty times as long. So a page is bounded by
//! what the browser gets, and not only by what the palace holds.

use std::ops::Range;

use loci_engine::invisible::is_invisible;

/// The most bytes of HTML that the drawers of a page take.
pub(super) const MOST_HTML: usize = 96_000;
/// The most bytes of HTML that one text takes; it is cut behind them.
const MOST_TEXT: usize = 40_000;

/// The bytes of the sign that stands for a character that cannot be seen.
const SIGN: usize = 70;
/// The bytes of the number of a line.
const LINE_NUMBER: usize = 26;

/// Which drawers of a page stay if not all fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptPart {
    /// The first ones.
    First,
    /// The last ones.
    Last,
    /// Those around this one.
    Around(usize),
}

/// Returns the beginning of a text that fits on a page, and the bytes of its HTML.
pub(super) fn cut_text(text: &str, has_lines: bool) -> (&str, usize) {
    let mut cost = 0;
    for (at, c) in text.char_indices() {
        cost += char_cost(c, has_lines);
        if cost > MOST_TEXT {
            return (text.get(..at).unwrap_or_default(), cost);
        }
    }
    (text, cost)
}

fn char_cost(c: char, has_lines: bool) -> usize {
    match c {
        '\n' if has_lines => 1 + LINE_NUMBER,
        '\n' | '\t' => 1,
        '&' => 5,
        '<' | '>' => 4,
        '"' => 6,
        c if c.is_control() || is_invisible(c) => SIGN,
        c => c.len_utf8(),
    }
}

/// Chooses the drawers that fit together into `most` bytes of HTML, and at least one.
pub(super) fn choose_drawers(costs: &[usize], most: usize, kept: KeptPart) -> Range<usize> {
    let first = match kept {
        KeptPart::First => 0,
        KeptPart::Last => costs.len().saturating_sub(1),
        KeptPart::Around(at) => at.min(costs.len().saturating_sub(1)),
    };
    let cost = |at: usize| costs.get(at).copied().unwrap_or(usize::MAX);
    let mut chosen = first..(first + 1).min(costs.len());
    let mut left = most.saturating_sub(cost(first));
    loop {
        let mut grown = false;
        // Two below for each one above, so that the drawer asked for stands in the upper half.
        for _ in 0..2 {
            if chosen.end < costs.len() && cost(chosen.end) <= left {
                left -= cost(chosen.end);
                chosen.end += 1;
                grown = true;
            }
        }
        if chosen.start > 0 && cost(chosen.start - 1) <= left {
            chosen.start -= 1;
            left -= cost(chosen.start);
            grown = true;
        }
        if !grown {
            return chosen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_its_html_is_too_long_and_between_characters() {
        assert_eq!(cut_text("a<é", false), ("a<é", 7));
        let signs = "\u{202e}".repeat(10_000);
        let (shown, _) = cut_text(&signs, false);
        assert_eq!(shown.chars().count(), MOST_TEXT / SIGN);
        let lines = "\n".repeat(10_000);
        assert!(cut_text(&lines, true).0.len() < 2_000 && cut_text(&lines, false).0.len() == 10_000);
        let wide = "抽".repeat(20_000);
        assert_eq!(cut_text(&wide, false).0.len(), MOST_TEXT / 3 * 3);
    }

    #[test]
    fn the_drawers_that_fit_stand_around_the_one_that_is_kept() {
        let large = MOST_HTML / 4;
        assert_eq!(choose_drawers(&[large; 9], MOST_HTML, KeptPart::First), 0..4);
        assert_eq!(choose_drawers(&[large; 9], MOST_HTML, KeptPart::Last), 5..9);
        assert_eq!(choose_drawers(&[large; 9], MOST_HTML, KeptPart::Around(4)), 3..7);
        assert_eq!(choose_drawers(&[large; 3], MOST_HTML, KeptPart::Around(1)), 0..3);
        assert_eq!(
            choose_drawers(&[MOST_HTML * 2; 3], MOST_HTML, KeptPart::Around(1)),
            1..2
        );
        assert_eq!(choose_drawers(&[], MOST_HTML, KeptPart::Last), 0..0);
    }
}
