//! Turns runs into tokens: words are stemmed, dense scripts become characters and pairs.

use super::fold::fold_run;
use super::runs::{WordRun, WordRuns, is_apostrophe};
use super::script::ScriptClass;
use super::stem::StemCache;
use super::{LONGEST, TokenPurpose};

/// Turns text into tokens, reusing its buffers from run to run.
pub(super) struct Tokeniser<'a> {
    purpose: TokenPurpose,
    sink: &'a mut dyn FnMut(&str),
    stems: &'a mut StemCache,
    joined: String,
    folded: String,
    word: String,
}

impl<'a> Tokeniser<'a> {
    /// Creates a tokeniser that passes its tokens to `sink`.
    pub(super) fn new(
        purpose: TokenPurpose,
        stems: &'a mut StemCache,
        sink: &'a mut dyn FnMut(&str),
    ) -> Self {
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

    /// Emits every token of `text`.
    pub(super) fn read(&mut self, text: &str) {
        for run in WordRuns::in_text(text) {
            match run {
                WordRun::Plain(run) => self.emit_ascii_word(run),
                WordRun::Rich(run) => self.emit_rich_run(run),
            }
        }
    }

    /// Emits one word of ASCII letters and digits in either case.
    fn emit_ascii_word(&mut self, run: &str) {
        self.word.clear();
        self.word.push_str(run.get(..LONGEST).unwrap_or(run));
        self.word.make_ascii_lowercase();
        // A cut word has lost its ending, so a stem of it would be of some other word.
        let whole = run.len() <= LONGEST;
        if whole && self.word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            (self.sink)(self.stems.stem_word(&self.word));
        } else {
            (self.sink)(&self.word);
        }
    }

    /// Emits the tokens of a run with apostrophes or characters beyond ASCII.
    fn emit_rich_run(&mut self, run: &str) {
        // Taken out and put back, so that the buffer is reused while `self` emits tokens.
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend(
            without_possessive(run)
                .chars()
                .filter(|&character| !is_apostrophe(character)),
        );
        if joined.is_ascii() {
            self.emit_ascii_word(&joined);
        } else {
            let mut folded = std::mem::take(&mut self.folded);
            folded.clear();
            fold_run(&joined, &mut folded);
            self.split_scripts(&folded);
            self.folded = folded;
        }
        self.joined = joined;
    }

    /// Splits a folded run where its script changes between spaced and dense.
    fn split_scripts(&mut self, folded: &str) {
        let mut rest = folded;
        while let Some(first) = rest.chars().next() {
            let class = ScriptClass::classify(first);
            let belongs = |character| {
                matches!(ScriptClass::classify(character), ScriptClass::Mark)
                    || ScriptClass::classify(character) == class
            };
            let end = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
            let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            rest = after;
            match class {
                ScriptClass::Spaced if piece.is_ascii() => self.emit_ascii_word(piece),
                ScriptClass::Spaced => (self.sink)(cut_token(piece)),
                ScriptClass::Dense => self.emit_dense_piece(piece),
                ScriptClass::Mark | ScriptClass::Separator => {}
            }
        }
    }

    /// Emits the characters and pairs of a dense script, each character with the marks that follow it.
    fn emit_dense_piece(&mut self, piece: &str) {
        let mut before: Option<&str> = None;
        let mut rest = piece;
        let mut position = 0;
        while !rest.is_empty() {
            let end = rest
                .char_indices()
                .skip(1)
                .find(|(_, next)| ScriptClass::classify(*next) != ScriptClass::Mark);
            let (unit, after) = rest
                .split_at_checked(end.map_or(rest.len(), |(at, _)| at))
                .unwrap_or((rest, ""));
            rest = after;
            if let Some(before) = before {
                let pair = piece
                    .get(position - before.len()..position + unit.len())
                    .unwrap_or_default();
                (self.sink)(cut_token(pair));
            }
            // A query asks for pairs, which are far rarer than single characters; one that is a single
            // character has nothing else to ask for.
            let alone = before.is_none() && rest.is_empty();
            if alone || self.purpose == TokenPurpose::Index {
                (self.sink)(cut_token(unit));
            }
            position += unit.len();
            before = Some(unit);
        }
    }
}

/// Returns the run without a final apostrophe and `s`.
fn without_possessive(run: &str) -> &str {
    let bare = run
        .strip_suffix(['s', 'S'])
        .and_then(|bare| bare.strip_suffix(is_apostrophe));
    bare.unwrap_or(run)
}

/// Returns at most [`LONGEST`] bytes of a token, cut between characters.
fn cut_token(token: &str) -> &str {
    token.get(..token.floor_char_boundary(LONGEST)).unwrap_or(token)
}
