//! One pass over a text: anchors, the rules at each, and one span for secrets that overlap.

use std::ops::Range;

use crate::anchor_index::AnchorIndex;
use crate::anchors::{AnchorRule, all_anchors};
use crate::judge;
use crate::kind::SecretKind;
use crate::probe::TextProbe;

/// A secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretSpan {
    /// Its first byte.
    pub start: usize,
    /// The first byte after it.
    pub end: usize,
    /// Its kind.
    pub kind: SecretKind,
}

/// Finds secrets in texts. Cheap to build; build one and use it for every text.
#[derive(Debug, Clone)]
pub struct SecretScanner {
    index: AnchorIndex,
    /// The rule of each anchor.
    rules: Vec<AnchorRule>,
}

impl Default for SecretScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl SecretScanner {
    /// Indexes the anchors of all rules.
    pub fn new() -> Self {
        let (anchors, rules): (Vec<_>, Vec<_>) = all_anchors().into_iter().unzip();
        Self {
            index: AnchorIndex::new(&anchors),
            rules,
        }
    }

    /// Returns the secrets of a text: sorted, disjoint, on character boundaries. The time is linear in the text.
    pub fn scan(&self, text: &str) -> Vec<SecretSpan> {
        self.scan_with(text, &TextProbe::new(text))
    }

    /// Scans a text through a probe, which counts the bytes that the rules read.
    pub(crate) fn scan_with(&self, text: &str, probe: &TextProbe) -> Vec<SecretSpan> {
        let mut found = Vec::new();
        self.index.find_all(text.as_bytes(), |number, anchor| {
            let secret = self.rules.get(number).and_then(|rule| rule.find(probe, &anchor));
            found.extend(secret.filter(|(range, _)| is_span(text, range)));
        });
        merge_overlaps(found)
    }
}

/// Returns whether a range is text of its own: not empty, on character boundaries, and outside of labels.
fn is_span(text: &str, range: &Range<usize>) -> bool {
    let Some(secret) = text.get(range.clone()) else {
        return false;
    };
    !secret.is_empty() && !judge::contains_label(secret.as_bytes()) && !is_within_label(text, range.start)
}

/// Returns whether a place lies between the brackets of a label. An opening bracket alone is none: it would hide what
/// follows it.
fn is_within_label(text: &str, at: usize) -> bool {
    const LONGEST_LABEL: usize = 120;
    let bytes = text.as_bytes();
    let from = at.saturating_sub(LONGEST_LABEL);
    let before = bytes.get(from..at).unwrap_or_default();
    let begin = judge::LABEL_BEGIN.as_bytes();
    let opening = before.windows(begin.len()).rposition(|window| window == begin);
    opening.is_some_and(|start| {
        let label = bytes.get(from + start..).unwrap_or_default();
        judge::label_length(label).is_some_and(|length| at < from + start + length)
    })
}

/// Joins secrets that overlap; the span gets the kind that says the most, and among equals that of the longest.
fn merge_overlaps(mut found: Vec<(Range<usize>, SecretKind)>) -> Vec<SecretSpan> {
    found.sort_by_key(|(range, kind)| (range.start, range.end, *kind));
    let mut spans: Vec<(SecretSpan, usize)> = Vec::with_capacity(found.len());
    for (range, kind) in found {
        let length = range.len();
        match spans.last_mut().filter(|(last, _)| range.start < last.end) {
            Some((last, longest)) => {
                last.end = last.end.max(range.end);
                if (kind.rank(), length) > (last.kind.rank(), *longest) {
                    last.kind = kind;
                    *longest = length;
                }
            }
            None => spans.push((
                SecretSpan {
                    start: range.start,
                    end: range.end,
                    kind,
                },
                length,
            )),
        }
    }
    spans.into_iter().map(|(span, _)| span).collect()
}
