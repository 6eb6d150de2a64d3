//! A part of a source: as much of a passage as a page holds, with the ways to what comes before and after.

use loci_core::DrawerOrder;
use loci_engine::passage::{PassageAnchor, PassageKind, PassageReport, are_joined};
use loci_engine::view::{DrawerView, cursor_behind};
use maud::{Markup, html};

use super::fit::{KeptPart, MOST_HTML, choose_drawers};
use super::pieces::ShownPiece;
use super::{lines, transcript};
use crate::parts::links::{PageLink, place_link, source_link};

/// The bytes of HTML around the text of a message, besides its links, and around a piece of a file.
const AROUND_MESSAGE: usize = 700;
const AROUND_PIECE: usize = 200;
/// The links to the source on a page besides those of its drawers; some hold its name twice.
const LINKS_AROUND: usize = 20;

/// A part of a source.
#[derive(Debug)]
pub(super) struct ShownSourcePart<'a> {
    pub(super) source: &'a str,
    pub(super) kind: PassageKind,
    pub(super) pieces: Vec<ShownPiece<'a>>,
    /// Whether the first message or file began before the part.
    pub(super) continues_before: bool,
    /// Whether the last one goes on after it.
    pub(super) continues_after: bool,
    /// Whether code has colors.
    pub(super) has_colors: bool,
    /// What a page shows of it.
    content: Markup,
    before: Option<String>,
    after: Option<String>,
}

impl<'a> ShownSourcePart<'a> {
    /// Takes as much of a passage as fits on a page, around the place it was read for.
    pub(super) fn fit(report: &'a PassageReport, source: &'a str, anchor: &PassageAnchor) -> Self {
        // The ways to other parts and pages name the source, too.
        let room = MOST_HTML.saturating_sub(LINKS_AROUND * source_link(source).len());
        let mut most = room;
        loop {
            let mut part = Self::choose(report, source, anchor, most);
            part.content = part.show();
            // Colors take room, too, and are the first to go.
            if part.content.0.len() > room * 5 / 4 {
                part.has_colors = false;
                part.content = part.show();
            }
            // Names and summaries can grow as texts do, which shows only now.
            if part.content.0.len() <= room * 5 / 4 || part.pieces.len() <= 1 {
                return part;
            }
            most /= 2;
        }
    }

    /// Chooses the drawers whose texts fit.
    fn choose(report: &'a PassageReport, source: &'a str, anchor: &PassageAnchor, most: usize) -> Self {
        let kind = report.kind.unwrap_or(PassageKind::Conversation);
        let has_lines = kind == PassageKind::File;
        let all: Vec<ShownPiece<'_>> = (0..)
            .zip(&report.drawers)
            .map(|(at, drawer)| ShownPiece::from_drawer(drawer, has_lines, report.at == Some(at)))
            .collect();
        let costs: Vec<usize> = all
            .iter()
            .map(|piece| whole_cost(piece, source, has_lines))
            .collect();
        let kept = match (report.at, anchor) {
            (Some(at), _) => KeptPart::Around(at),
            (None, PassageAnchor::End | PassageAnchor::Before(_)) => KeptPart::Last,
            (None, _) => KeptPart::First,
        };
        let chosen = choose_drawers(&costs, most, kept);
        let is_first = chosen.start == 0;
        let is_last = chosen.end == all.len();
        let cursor = |drawer: &DrawerView| cursor_behind(DrawerOrder::Source, drawer);
        let joins = |second: usize| {
            let first = second.checked_sub(1).and_then(|first| report.drawers.get(first));
            let joined = first.zip(report.drawers.get(second));
            joined.is_some_and(|(first, second)| are_joined(first, second))
        };
        let pieces: Vec<ShownPiece<'_>> = all.get(chosen.clone()).unwrap_or_default().to_vec();
        let (first, last) = (pieces.first(), pieces.last());
        Self {
            source,
            kind,
            continues_before: if is_first {
                report.continues_before
            } else {
                joins(chosen.start)
            },
            continues_after: if is_last {
                report.continues_after
            } else {
                joins(chosen.end)
            },
            has_colors: true,
            content: html! {},
            before: if is_first {
                report.before.clone()
            } else {
                first.map(|piece| cursor(piece.drawer))
            },
            after: if is_last {
                report.after.clone()
            } else {
                last.map(|piece| cursor(piece.drawer))
            },
            pieces,
        }
    }

    /// Shows the part as an element that a page can take in.
    pub(super) fn render(&self) -> Markup {
        html! {
            section.part data-earlier=[self.earlier()] data-later=[self.later()] { (self.content) }
        }
    }

    fn show(&self) -> Markup {
        match self.kind {
            PassageKind::File => lines::lines(self),
            PassageKind::Conversation => transcript::messages(self),
        }
    }

    /// Returns the address of the part before this one.
    pub(super) fn earlier(&self) -> Option<String> {
        self.neighbour("before", self.before.as_ref())
    }

    /// Returns the address of the part after this one.
    pub(super) fn later(&self) -> Option<String> {
        self.neighbour("after", self.after.as_ref())
    }

    fn neighbour(&self, side: &str, cursor: Option<&String>) -> Option<String> {
        let link = PageLink::to("/source").with("source", self.source);
        cursor.map(|cursor| link.with(side, cursor).href())
    }
}

/// The bytes of HTML that a drawer takes with what stands around its text.
fn whole_cost(piece: &ShownPiece<'_>, source: &str, has_lines: bool) -> usize {
    let drawer = piece.drawer;
    let link = place_link(source, &drawer.id).len();
    let damage: usize = drawer.damage.iter().map(|damage| 6 * damage.len() + 60).sum();
    let seals = drawer.seals.len() * 280;
    let around = if has_lines { AROUND_PIECE } else { AROUND_MESSAGE };
    piece.cost + around + 4 * link + damage + seals
}
