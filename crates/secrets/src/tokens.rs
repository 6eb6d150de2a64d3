//! Tokens whose provider publishes their form: a fixed beginning, then runs of known alphabets and lengths.

mod cloud;
mod models;
mod services;
mod software;

use std::ops::Range;

use crate::byte_set::{ALNUM, ByteSet, HEX};
use crate::judge;
use crate::kind::SecretKind;
use crate::probe::TextProbe;

/// The tables of all rules for tokens.
pub(crate) const TOKEN_TABLES: [&[TokenRule]; 4] =
    [cloud::TOKENS, models::TOKENS, services::TOKENS, software::TOKENS];

/// A part of a token's form.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TokenPart {
    /// Exactly these bytes.
    Text(&'static str),
    /// A run of bytes of an alphabet, of at least and at most so many. A run that is longer is a different token.
    Run(ByteSet, usize, usize),
}

use TokenPart::{Run, Text};

/// The form of a UUID.
pub(crate) const UUID_PARTS: &[TokenPart] = &[
    Run(HEX, 8, 8),
    Text("-"),
    Run(HEX, 4, 4),
    Text("-"),
    Run(HEX, 4, 4),
    Text("-"),
    Run(HEX, 4, 4),
    Text("-"),
    Run(HEX, 12, 12),
];

/// The place where the secret begins within the text that a rule matches.
#[derive(Debug, Clone, Copy)]
enum SecretStart {
    Token,
    AfterAnchor,
    LastPart,
}

/// A rule for one form of token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenRule {
    kind: SecretKind,
    pub(crate) anchors: &'static [&'static str],
    /// The run before the anchor, if the anchor stands within the token.
    before: Option<(ByteSet, usize, usize)>,
    parts: &'static [TokenPart],
    start: SecretStart,
    /// Whether the token also occurs by chance in long base64, where it is none.
    alone: bool,
}

impl TokenRule {
    /// Makes a rule for tokens that begin with one of the anchors and continue with these parts.
    const fn new(kind: SecretKind, anchors: &'static [&'static str], parts: &'static [TokenPart]) -> Self {
        Self {
            kind,
            anchors,
            before: None,
            parts,
            start: SecretStart::Token,
            alone: false,
        }
    }

    /// Expects a run of these bytes before the anchor.
    const fn with_run_before(mut self, set: ByteSet, least: usize, most: usize) -> Self {
        self.before = Some((set, least, most));
        self
    }

    /// Leaves the anchor out of the secret.
    const fn without_anchor(mut self) -> Self {
        self.start = SecretStart::AfterAnchor;
        self
    }

    /// Rejects tokens within longer base64.
    const fn outside_base64(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Takes only the last part as the secret.
    const fn only_last_part(mut self) -> Self {
        self.start = SecretStart::LastPart;
        self
    }

    /// Returns the secret at an anchor and its kind.
    pub(crate) fn find(
        &self,
        probe: &TextProbe,
        anchor: &Range<usize>,
    ) -> Option<(Range<usize>, SecretKind)> {
        let token_start = match self.before {
            Some((set, least, most)) => {
                let start = probe.run_start(anchor.start, set, most);
                (anchor.start - start >= least).then_some(start)?
            }
            None => anchor.start,
        };
        // An anchor that begins with a symbol, such as a path, follows letters.
        let inside = probe.byte(token_start).is_some_and(|byte| !ALNUM.contains(byte));
        (inside || probe.begins_token(token_start)).then_some(())?;
        let (last_part, end) = match_parts(probe, anchor.end, self.parts)?;
        if self.alone && is_within_base64(probe, token_start..end) {
            return None;
        }
        let start = match self.start {
            SecretStart::Token => token_start,
            SecretStart::AfterAnchor => anchor.end,
            SecretStart::LastPart => last_part,
        };
        // What every token of the form begins with says nothing about this one.
        let varied_from = if start == anchor.start { anchor.end } else { start };
        judge::is_varied(probe.slice(varied_from..end)).then_some((start..end, self.kind))
    }
}

/// Matches a sequence of parts that begins here and is not followed by more of the same; returns the start of the last
/// part and the end of all.
pub(crate) fn match_parts(probe: &TextProbe, from: usize, parts: &[TokenPart]) -> Option<(usize, usize)> {
    let (mut last, mut at) = (from, from);
    for (index, part) in parts.iter().enumerate() {
        last = at;
        at = match *part {
            Text(text) => probe.starts_with(at, text).then_some(at + text.len())?,
            Run(set, least, most) => {
                let is_last = index + 1 == parts.len();
                let longest = probe.run_end(at, set, most + usize::from(is_last));
                // A full stop after a token ends the sentence, not the token.
                let dots = if is_last {
                    trailing_dots(probe, at..longest)
                } else {
                    0
                };
                let end = longest - dots;
                (least..=most).contains(&(end - at)).then_some(end)?
            }
        };
    }
    probe.ends_token(at).then_some((last, at))
}

/// Returns whether base64 continues on either side of a token.
fn is_within_base64(probe: &TextProbe, token: Range<usize>) -> bool {
    matches!(probe.byte_before(token.start), Some(b'+' | b'/'))
        || matches!(probe.byte(token.end), Some(b'+' | b'/' | b'='))
}

fn trailing_dots(probe: &TextProbe, run: Range<usize>) -> usize {
    let run = probe.slice(run.end.saturating_sub(3).max(run.start)..run.end);
    run.iter().rev().take_while(|byte| **byte == b'.').count()
}
