//! The packer: takes seams in order and decides which of them part two pieces.
//!
//! It looks no farther ahead than the longest piece, so its memory does not grow with the text.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::seam::{Place, Rank, Seam, Under, fingerprint, path, shared};
use super::{Cutting, Piece, inline, part};

/// How many words behind a seam decide between it and another of the same rank.
const WORDS: usize = 8;
/// One in this many short parts begins a piece of its own, so that texts of short parts fall into step again
/// behind an edit.
const LUCKY: u64 = 4;

/// Lengths in characters.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    quarter: usize,
    half: usize,
    target: usize,
    most: usize,
    whole: usize,
}

impl Sizes {
    fn of(how: &Cutting) -> Self {
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

/// Takes seams and gives pieces.
pub(super) struct Packer<'a> {
    text: &'a str,
    sizes: Sizes,
    /// Where the piece that is being filled begins.
    start: Place,
    /// What that place stands under.
    under: Under,
    /// Seams behind it, in order.
    ahead: VecDeque<Seam>,
    /// The last place a seam was taken at.
    last: Place,
    line: u64,
    pieces: Vec<Piece>,
    /// The path of the last heading that was written out.
    written: Option<(Under, Option<Arc<str>>)>,
}

impl<'a> Packer<'a> {
    pub(super) fn new(text: &'a str, how: &Cutting) -> Self {
        Self {
            text,
            sizes: Sizes::of(how),
            start: Place::default(),
            under: None,
            ahead: VecDeque::new(),
            last: Place::default(),
            line: 1,
            pieces: Vec::new(),
            written: None,
        }
    }

    /// How many characters are few.
    pub(super) fn few(&self) -> usize {
        self.sizes.quarter
    }

    /// How many characters may stay whole.
    pub(super) fn whole(&self) -> usize {
        self.sizes.whole
    }

    /// Takes a seam. It must lie at a grapheme boundary behind those taken before, or it is passed over.
    pub(super) fn seam(&mut self, at: usize, rank: Rank, under: &Under) {
        if at == 0 {
            self.under = under.clone();
        }
        if at <= self.last.at {
            return;
        }
        let chars = self.last.chars + part(self.text, self.last.at, at).chars().count();
        self.last = Place { at, chars };
        self.ahead.push_back(Seam {
            place: self.last,
            rank,
            under: under.clone(),
        });
        while self.length(self.last) > self.sizes.whole + self.sizes.half {
            self.fill();
        }
    }

    /// Says that the last seam taken stands under something else.
    pub(super) fn put_under(&mut self, under: &Under) {
        match self.ahead.back_mut() {
            Some(seam) => seam.under = under.clone(),
            None => self.under = under.clone(),
        }
    }

    /// Ends the text and gives the pieces.
    pub(super) fn finish(mut self) -> Vec<Piece> {
        let end = self.text.len();
        let under = self.ahead.back().map_or(&self.under, |seam| &seam.under).clone();
        match self.ahead.back_mut() {
            Some(seam) if seam.place.at == end => seam.rank = Rank::End,
            _ => self.seam(end, Rank::End, &under),
        }
        while self.start.at < end {
            self.fill();
        }
        self.pieces
    }

    fn length(&self, place: Place) -> usize {
        place.chars - self.start.chars
    }

    /// Ends a piece at the best place.
    fn fill(&mut self) {
        let end = self.choose();
        let mut under = self.under.clone();
        let mut common = self.under.clone();
        while let Some(seam) = self.ahead.pop_front_if(|seam| seam.place.at <= end.at) {
            if seam.place.at < end.at {
                common = shared(&common, &seam.under);
            }
            under = seam.under;
        }
        self.emit(end, &common);
        self.start = end;
        self.under = under;
    }

    fn emit(&mut self, end: Place, under: &Under) {
        let bytes = part(self.text, self.start.at, end.at).as_bytes();
        let newlines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let ended = u64::from(bytes.last() == Some(&b'\n'));
        let heading = self.write_path(under);
        self.pieces.push(Piece {
            start: self.start.at,
            end: end.at,
            line_start: self.line,
            line_end: self.line + newlines - ended,
            heading,
        });
        self.line += newlines;
    }

    /// The path of a heading; pieces that stand under the same one share it.
    fn write_path(&mut self, under: &Under) -> Option<Arc<str>> {
        let heading = under.as_ref()?;
        match &self.written {
            Some((Some(last), path)) if Rc::ptr_eq(last, heading) => path.clone(),
            _ => {
                let path = path(under).map(Arc::from);
                self.written = Some((under.clone(), path.clone()));
                path
            }
        }
    }

    /// Where the piece that begins at `start` ends best.
    fn choose(&self) -> Place {
        let near = self
            .ahead
            .iter()
            .take_while(|seam| self.length(seam.place) <= self.sizes.most);
        if let Some(seam) = near.into_iter().find(|seam| self.begins_anew(seam)) {
            return seam.place;
        }
        let most = self.most();
        let best = self.best(most, |rank| rank > Rank::Inside);
        let kept = || self.around_what_is_whole(most);
        best.or_else(kept)
            .unwrap_or_else(|| inline::split(self.text, self.start, self.window(most)))
    }

    fn window(&self, most: usize) -> inline::Window {
        inline::Window {
            least: self.sizes.half,
            target: self.sizes.target,
            most,
        }
    }

    /// Whether a piece begins at this seam, whatever comes behind it.
    fn begins_anew(&self, seam: &Seam) -> bool {
        let enough = match seam.rank {
            Rank::End => return true,
            Rank::Chapter => self.sizes.quarter,
            Rank::Section => self.sizes.half,
            _ => return false,
        };
        let length = self.length(seam.place);
        let lucky = || fingerprint(self.text, seam.place.at, WORDS).is_multiple_of(LUCKY);
        length >= enough || (length * 2 >= enough && lucky())
    }

    /// The longest this piece may be: less than usual where only a crumb would be left before the next part.
    fn most(&self) -> usize {
        let Sizes { quarter, most, .. } = self.sizes;
        let behind = self.ahead.iter().map(|seam| (seam.rank, self.length(seam.place)));
        let mut parts = behind.filter(|(rank, length)| *rank >= Rank::Section && *length > most);
        match parts.next() {
            Some((_, length)) if length < most + quarter => length - quarter,
            _ => most,
        }
    }

    /// The best seam for a piece of a usual length: the highest rank, and among equals the one that the text
    /// behind it chooses.
    fn best(&self, most: usize, usable: impl Fn(Rank) -> bool) -> Option<Place> {
        let within = || {
            let long = self
                .ahead
                .iter()
                .skip_while(|seam| self.length(seam.place) < self.sizes.half);
            long.take_while(|seam| self.length(seam.place) <= most)
        };
        let best = within()
            .map(|seam| seam.rank)
            .filter(|rank| usable(*rank))
            .max()?;
        let key = |seam: &&Seam| {
            let off = self.length(seam.place).abs_diff(self.sizes.target);
            (fingerprint(self.text, seam.place.at, WORDS), off)
        };
        let equals = within().filter(|seam| seam.rank == best);
        equals.min_by_key(key).map(|seam| seam.place)
    }

    /// Where nothing but the lines of a block that is to stay whole offer themselves: behind the block, or before
    /// it, or where it is too long for that, at one of its lines.
    fn around_what_is_whole(&self, most: usize) -> Option<Place> {
        let is_free = |seam: &&Seam| seam.rank > Rank::Inside;
        let early = |seam: &&Seam| self.length(seam.place) <= most;
        let before = self.ahead.iter().take_while(early).filter(is_free).last();
        let after = self
            .ahead
            .iter()
            .skip_while(early)
            .find(is_free)
            .map(|seam| seam.place);
        let from = before.map_or(self.start, |seam| seam.place);
        let is_inner =
            |seam: &Seam| seam.place.at > from.at && after.is_none_or(|end| seam.place.at < end.at);
        let mut inner = self.ahead.iter().filter(|seam| seam.rank == Rank::Inside);
        if !inner.any(is_inner) {
            return None;
        }
        let fits = |end: &Place, start: Place| end.chars - start.chars <= self.sizes.whole;
        if let Some(end) = after.filter(|end| fits(end, self.start)) {
            return Some(end);
        }
        if before.is_some() && after.is_some_and(|end| fits(&end, from)) {
            return Some(from);
        }
        self.best(most, |rank| rank == Rank::Inside)
    }
}
