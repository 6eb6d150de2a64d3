//! The wake-up page: lines under three headings, within a budget of tokens.

use loci_core::DrawerId;
use loci_mine::recalled::{WAKE_UP_HEADING, WAKE_UP_TITLES};

use crate::tokens::estimate_tokens;

/// The first line of a page. Quoting as data is a guard against stored text that reads like instructions.
pub(super) const HEADING: &str = WAKE_UP_HEADING;

/// The parts of a page, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeUpPart {
    Identity,
    Important,
    Newest,
}

impl WakeUpPart {
    fn title(self) -> &'static str {
        let [identity, important, newest] = WAKE_UP_TITLES;
        match self {
            Self::Identity => identity,
            Self::Important => important,
            Self::Newest => newest,
        }
    }
}

/// One line and the drawers it quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WakeUpLine {
    pub(super) text: String,
    pub(super) drawers: Vec<DrawerId>,
}

/// Lines within a budget.
#[derive(Debug)]
pub(super) struct WakeUpPage {
    budget: usize,
    used: usize,
    parts: [(WakeUpPart, Vec<WakeUpLine>); 3],
}

impl WakeUpPage {
    /// Creates a page with only its heading.
    pub(super) fn new(budget: usize) -> Self {
        let empty = |part| (part, Vec::new());
        Self {
            budget,
            used: estimate_tokens(HEADING),
            parts: [
                empty(WakeUpPart::Identity),
                empty(WakeUpPart::Important),
                empty(WakeUpPart::Newest),
            ],
        }
    }

    /// Returns the number of tokens left.
    pub(super) fn tokens_left(&self) -> usize {
        self.budget.saturating_sub(self.used)
    }

    /// Returns the most tokens a new line of `part` may cost if the part may use at most `share` tokens from
    /// now on.
    pub(super) fn room_for_line(&self, part: WakeUpPart, share: usize) -> usize {
        // The first line of a part also pays for its title. Each line break costs one token.
        let title = if self.lines(part).is_empty() {
            estimate_tokens(part.title()) + 1
        } else {
            0
        };
        share.min(self.tokens_left()).saturating_sub(title + 1)
    }

    /// Returns the number of lines of `part`.
    pub(super) fn count_lines(&self, part: WakeUpPart) -> usize {
        self.lines(part).len()
    }

    fn lines(&self, part: WakeUpPart) -> &[WakeUpLine] {
        let found = self.parts.iter().find(|(one, _)| *one == part);
        found.map_or(&[], |(_, lines)| lines)
    }

    /// Adds a line if it fits the budget; returns its cost.
    pub(super) fn set_line(&mut self, part: WakeUpPart, line: WakeUpLine) -> Option<usize> {
        let room = self.room_for_line(part, usize::MAX);
        let cost = estimate_tokens(&line.text);
        if cost > room {
            return None;
        }
        // `left - room` is the line break, and the title where this line is the first of its part.
        let cost = self.tokens_left() - room + cost;
        let (_, lines) = self.parts.iter_mut().find(|(one, _)| *one == part)?;
        lines.push(line);
        self.used += cost;
        Some(cost)
    }

    /// Returns whether a drawer is quoted already.
    pub(super) fn quotes_drawer(&self, id: &DrawerId) -> bool {
        self.quoted_ids().any(|one| one == id)
    }

    fn quoted_ids(&self) -> impl Iterator<Item = &DrawerId> {
        let lines = self.parts.iter().flat_map(|(_, lines)| lines);
        lines.flat_map(|line| &line.drawers)
    }

    /// Returns the quoted drawers, in the order of the page.
    pub(super) fn quoted_drawers(&self) -> Vec<DrawerId> {
        self.quoted_ids().cloned().collect()
    }

    /// Returns the page as text.
    pub(super) fn to_text(&self) -> String {
        let mut text = vec![HEADING];
        for (part, lines) in self.parts.iter().filter(|(_, lines)| !lines.is_empty()) {
            text.push(part.title());
            text.extend(lines.iter().map(|line| line.text.as_str()));
        }
        text.join("\n")
    }
}
