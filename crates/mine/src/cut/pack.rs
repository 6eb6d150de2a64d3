//! The packer: takes seams in order and decides which of them separate two pieces.
//!
//! It looks ahead by at most the longest piece, so its memory does not grow with the text.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::seam::{
    CutSeam, EnclosingHeading, SeamRank, TextPlace, common_heading, hash_text_from, heading_path,
};
use super::{PieceLengths, TextPiece, inline, slice_text};

/// The number of 8-byte words after a seam that decide between it and another of the same rank.
const WORDS: usize = 8;
/// One in this many short sections begins a piece. In a text of short sections, this brings the cuts after an edit
/// back to where they were.
const LUCKY: u64 = 4;

/// Lengths in characters.
#[derive(Debug, Clone, Copy)]
struct PieceSizes {
    quarter: usize,
    half: usize,
    target: usize,
    most: usize,
    whole: usize,
}

impl PieceSizes {
    fn from_lengths(how: &PieceLengths) -> Self {
        // The bounds keep the sums below from overflowing and every piece longer than nothing, for any
        // caller's numbers.
        let target = how.target.clamp(8, usize::MAX / 8);
        let most = target + target / 2;
        let whole = how.whole.clamp(2 * target, usize::MAX / 4);
        Self {
            quarter: target / 4,
            half: target / 2,
            target,
            most,
            whole,
        }
    }
}

/// Turns seams into pieces.
pub(super) struct PiecePacker<'a> {
    text: &'a str,
    sizes: PieceSizes,
    /// The start of the piece that is being filled.
    start: TextPlace,
    /// The heading that the start is under.
    under: EnclosingHeading,
    /// The seams after it, in order.
    ahead: VecDeque<CutSeam>,
    /// The place of the last seam.
    last: TextPlace,
    line: u64,
    pieces: Vec<TextPiece>,
    /// The last heading that was written out, and its path.
    written: Option<(EnclosingHeading, Option<Arc<str>>)>,
}

impl<'a> PiecePacker<'a> {
    pub(super) fn new(text: &'a str, how: &PieceLengths) -> Self {
        Self {
            text,
            sizes: PieceSizes::from_lengths(how),
            start: TextPlace::default(),
            under: None,
            ahead: VecDeque::new(),
            last: TextPlace::default(),
            line: 1,
            pieces: Vec::new(),
            written: None,
        }
    }

    /// Returns the length below which text counts as short.
    pub(super) fn short_length(&self) -> usize {
        self.sizes.quarter
    }

    /// Returns the length up to which a block stays whole.
    pub(super) fn whole_limit(&self) -> usize {
        self.sizes.whole
    }

    /// Adds a seam at a grapheme boundary. A seam that is not after the last one is ignored.
    pub(super) fn add_seam(&mut self, at: usize, rank: SeamRank, under: &EnclosingHeading) {
        if at == 0 {
            self.under = under.clone();
        }
        if at <= self.last.at {
            return;
        }
        let chars = self.last.chars + slice_text(self.text, self.last.at, at).chars().count();
        self.last = TextPlace { at, chars };
        self.ahead.push_back(CutSeam {
            place: self.last,
            rank,
            under: under.clone(),
        });
        // Past this length no later seam can change where the current piece ends, so it is decided now.
        while self.length_to(self.last) > self.sizes.whole + self.sizes.half {
            self.end_piece();
        }
    }

    /// Puts the last seam under another heading.
    pub(super) fn retitle_last_seam(&mut self, under: &EnclosingHeading) {
        match self.ahead.back_mut() {
            Some(seam) => seam.under = under.clone(),
            None => self.under = under.clone(),
        }
    }

    /// Ends the text and returns the pieces.
    pub(super) fn finish(mut self) -> Vec<TextPiece> {
        let end = self.text.len();
        let under = self.ahead.back().map_or(&self.under, |seam| &seam.under).clone();
        match self.ahead.back_mut() {
            Some(seam) if seam.place.at == end => seam.rank = SeamRank::End,
            _ => self.add_seam(end, SeamRank::End, &under),
        }
        while self.start.at < end {
            self.end_piece();
        }
        self.pieces
    }

    fn length_to(&self, place: TextPlace) -> usize {
        place.chars - self.start.chars
    }

    /// Ends the current piece at the best place.
    fn end_piece(&mut self) {
        let end = self.choose_end();
        let mut under = self.under.clone();
        let mut common = self.under.clone();
        while let Some(seam) = self.ahead.pop_front_if(|seam| seam.place.at <= end.at) {
            // The seam at the end belongs to the next piece; its heading does not count for this one.
            if seam.place.at < end.at {
                common = common_heading(&common, &seam.under);
            }
            under = seam.under;
        }
        self.push_piece(end, &common);
        self.start = end;
        self.under = under;
    }

    fn push_piece(&mut self, end: TextPlace, under: &EnclosingHeading) {
        let bytes = slice_text(self.text, self.start.at, end.at).as_bytes();
        let newlines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        // A newline belongs to the line it ends, so a trailing one does not reach into the next line.
        let ended = u64::from(bytes.last() == Some(&b'\n'));
        let heading = self.shared_heading_path(under);
        self.pieces.push(TextPiece {
            start: self.start.at,
            end: end.at,
            line_start: self.line,
            line_end: self.line + newlines - ended,
            heading,
        });
        self.line += newlines;
    }

    /// Returns the path of a heading; pieces under the same heading share the string.
    fn shared_heading_path(&mut self, under: &EnclosingHeading) -> Option<Arc<str>> {
        let heading = under.as_ref()?;
        match &self.written {
            Some((Some(last), path)) if Rc::ptr_eq(last, heading) => path.clone(),
            _ => {
                let path = heading_path(under).map(Arc::from);
                self.written = Some((under.clone(), path.clone()));
                path
            }
        }
    }

    /// Returns the best end for the piece that begins at `start`.
    fn choose_end(&self) -> TextPlace {
        let near = self
            .ahead
            .iter()
            .take_while(|seam| self.length_to(seam.place) <= self.sizes.most);
        if let Some(seam) = near.into_iter().find(|seam| self.starts_new_piece(seam)) {
            return seam.place;
        }
        let most = self.longest_allowed();
        let best = self.best_seam(most, |rank| rank > SeamRank::Inside);
        let kept = || self.end_around_whole_block(most);
        best.or_else(kept)
            .unwrap_or_else(|| inline::split_long_line(self.text, self.start, self.split_window(most)))
    }

    fn split_window(&self, most: usize) -> inline::PieceWindow {
        inline::PieceWindow {
            least: self.sizes.half,
            target: self.sizes.target,
            most,
        }
    }

    /// Returns whether a piece begins at this seam regardless of the text after it.
    fn starts_new_piece(&self, seam: &CutSeam) -> bool {
        let enough = match seam.rank {
            SeamRank::End => return true,
            SeamRank::Chapter => self.sizes.quarter,
            SeamRank::Section => self.sizes.half,
            _ => return false,
        };
        let length = self.length_to(seam.place);
        // Depends on the section's own text only, so the same section is lucky in every version of the
        // document.
        let lucky = || hash_text_from(self.text, seam.place.at, WORDS).is_multiple_of(LUCKY);
        length >= enough || (length * 2 >= enough && lucky())
    }

    /// Returns the maximum length of this piece: less than usual if only a crumb would be left before the next section.
    fn longest_allowed(&self) -> usize {
        let PieceSizes { quarter, most, .. } = self.sizes;
        let behind = self
            .ahead
            .iter()
            .map(|seam| (seam.rank, self.length_to(seam.place)));
        let mut parts = behind.filter(|(rank, length)| *rank >= SeamRank::Section && *length > most);
        match parts.next() {
            Some((_, length)) if length < most + quarter => length - quarter,
            _ => most,
        }
    }

    /// Returns the best seam for a piece of usual length: the highest rank, and among equals the one with the smallest
    /// hash of the text after it.
    fn best_seam(&self, most: usize, usable: impl Fn(SeamRank) -> bool) -> Option<TextPlace> {
        let within = || {
            let long = self
                .ahead
                .iter()
                .skip_while(|seam| self.length_to(seam.place) < self.sizes.half);
            long.take_while(|seam| self.length_to(seam.place) <= most)
        };
        let best = within()
            .map(|seam| seam.rank)
            .filter(|rank| usable(*rank))
            .max()?;
        // The hash comes before the length: the same seam then wins in an edited text, and the vectors of the
        // pieces behind it are kept (decision 012).
        let key = |seam: &&CutSeam| {
            let off = self.length_to(seam.place).abs_diff(self.sizes.target);
            (hash_text_from(self.text, seam.place.at, WORDS), off)
        };
        let equals = within().filter(|seam| seam.rank == best);
        equals.min_by_key(key).map(|seam| seam.place)
    }

    /// Chooses an end if the only seams in reach are lines of a block that should stay whole: after the block, before
    /// it, or at one of its lines if it is too long to stay whole. `None` if there is no such block.
    fn end_around_whole_block(&self, most: usize) -> Option<TextPlace> {
        let is_free = |seam: &&CutSeam| seam.rank > SeamRank::Inside;
        let early = |seam: &&CutSeam| self.length_to(seam.place) <= most;
        let before = self.ahead.iter().take_while(early).filter(is_free).last();
        let after = self
            .ahead
            .iter()
            .skip_while(early)
            .find(is_free)
            .map(|seam| seam.place);
        let from = before.map_or(self.start, |seam| seam.place);
        let is_inner =
            |seam: &CutSeam| seam.place.at > from.at && after.is_none_or(|end| seam.place.at < end.at);
        let mut inner = self.ahead.iter().filter(|seam| seam.rank == SeamRank::Inside);
        if !inner.any(is_inner) {
            return None;
        }
        let fits = |end: &TextPlace, start: TextPlace| end.chars - start.chars <= self.sizes.whole;
        if let Some(end) = after.filter(|end| fits(end, self.start)) {
            return Some(end);
        }
        // The block fits alone but not together with the text before it, so that text becomes a short piece.
        if before.is_some() && after.is_some_and(|end| fits(&end, from)) {
            return Some(from);
        }
        self.best_seam(most, |rank| rank == SeamRank::Inside)
    }
}
