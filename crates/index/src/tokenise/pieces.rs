//! From runs to tokens: words are stemmed, dense scripts become characters and pairs.

use super::fold::fold;
use super::runs::{Run, Runs, is_apostrophe};
use super::script::Class;
use super::stem::Stems;
use super::{LONGEST, Purpose};

/// Turns text into tokens, reusing its buffers from run to run.
pub(super) struct Tokeniser<'a> {
    purpose: Purpose,
    sink: &'a mut dyn FnMut(&str),
    stems: &'a mut Stems,
    joined: String,
    folded: String,
    word: String,
}

impl<'a> Tokeniser<'a> {
    /// Makes a tokeniser that hands its tokens to `sink`.
    pub(super) fn new(purpose: Purpose, stems: &'a mut Stems, sink: &'a mut dyn FnMut(&str)) -> Self {
        let (joined, folded, word) = (String::new(), String::new(), String::new());
        Self {
            purpose,
            sink,
            stems,
            joined,
            folded,
            word,
        }
    }

    /// Hands out every token of `text`.
    pub(super) fn read(&mut self, text: &str) {
        for run in Runs::of(text) {
            match run {
                Run::Plain(run) => self.ascii(run),
                Run::Rich(run) => self.rich(run),
            }
        }
    }

    /// One word of ASCII letters and digits in either case.
    fn ascii(&mut self, run: &str) {
        self.word.clear();
        self.word.push_str(run.get(..LONGEST).unwrap_or(run));
        self.word.make_ascii_lowercase();
        let whole = run.len() <= LONGEST;
        if whole && self.word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            (self.sink)(self.stems.stem(&self.word));
        } else {
            (self.sink)(&self.word);
        }
    }

    /// A run with apostrophes or characters beyond ASCII.
    fn rich(&mut self, run: &str) {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend(
            without_possessive(run)
                .chars()
                .filter(|&character| !is_apostrophe(character)),
        );
        if joined.is_ascii() {
            self.ascii(&joined);
        } else {
            let mut folded = std::mem::take(&mut self.folded);
            folded.clear();
            fold(&joined, &mut folded);
            self.split(&folded);
            self.folded = folded;
        }
        self.joined = joined;
    }

    /// Splits a folded run where its script changes between spaced and dense.
    fn split(&mut self, folded: &str) {
        let mut rest = folded;
        while let Some(first) = rest.chars().next() {
            let class = Class::of(first);
            let belongs =
                |character| matches!(Class::of(character), Class::Mark) || Class::of(character) == class;
            let end = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
            let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            rest = after;
            match class {
                Class::Spaced if piece.is_ascii() => self.ascii(piece),
                Class::Spaced => (self.sink)(cut(piece)),
                Class::Dense => self.dense(piece),
                Class::Mark | Class::Separator => {}
            }
        }
    }

    /// Characters of a dense script, each with the marks that follow it.
    fn dense(&mut self, piece: &str) {
        let mut before: Option<&str> = None;
        let mut rest = piece;
        let mut position = 0;
        while !rest.is_empty() {
            let end = rest
                .char_indices()
                .skip(1)
                .find(|(_, next)| Class::of(*next) != Class::Mark);
            let (unit, after) = rest
                .split_at_checked(end.map_or(rest.len(), |(at, _)| at))
                .unwrap_or((rest, ""));
            rest = after;
            if let Some(before) = before {
                let pair = piece
                    .get(position - before.len()..position + unit.len())
                    .unwrap_or_default();
                (self.sink)(cut(pair));
            }
            let alone = before.is_none() && rest.is_empty();
            if alone || self.purpose == Purpose::Index {
                (self.sink)(cut(unit));
            }
            position += unit.len();
            before = Some(unit);
        }
    }
}

/// The run without a final apostrophe and `s`.
fn without_possessive(run: &str) -> &str {
    let bare = run
        .strip_suffix(['s', 'S'])
        .and_then(|bare| bare.strip_suffix(is_apostrophe));
    bare.unwrap_or(run)
}

/// At most [`LONGEST`] bytes of a token, cut between characters.
fn cut(token: &str) -> &str {
    token.get(..token.floor_char_boundary(LONGEST)).unwrap_or(token)
}
