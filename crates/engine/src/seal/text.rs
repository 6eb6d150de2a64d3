//! A text with labels in place of its secrets, and the way back to the places of the original.

use std::ops::Range;

use loci_mine::cut::TextPiece;
use loci_secrets::SecretKind;

use super::span::SealedSpan;

/// A label in a text, and the secret it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SealMark {
    /// The label in the sealed text.
    pub(super) label: Range<usize>,
    /// The secret in the original text.
    pub(super) plain: Range<usize>,
    /// The number of line ends in this secret and all before it.
    pub(super) lines: u64,
    /// The kind of the secret.
    pub(super) kind: SecretKind,
    /// Its tag.
    pub(super) tag: String,
    /// The encrypted secret.
    pub(super) sealed: String,
}

/// Finds ranges in a text; the function moves places of the text with labels to it.
type FindRanges<'f> = dyn FnMut(&str, &dyn Fn(usize) -> usize) -> Vec<Range<usize>> + 'f;

/// A text whose secrets are sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SealedText {
    /// The text with labels.
    pub(crate) text: String,
    /// The text as it was.
    pub(crate) plain: String,
    /// The labels, in order.
    pub(super) marks: Vec<SealMark>,
}

impl SealedText {
    /// Returns the place in the original text of a place in the sealed one; within a label, the start of the secret.
    pub(crate) fn to_plain(&self, at: usize) -> usize {
        match self.marks_before(at).last() {
            Some(last) if at < last.label.end => last.plain.start,
            Some(last) => last.plain.end + (at - last.label.end),
            None => at,
        }
    }

    /// Returns the place in the sealed text of a place in the original; within a secret, the start of its label.
    pub(crate) fn to_sealed(&self, at: usize) -> usize {
        let before = self.marks.partition_point(|mark| mark.plain.start < at);
        match self.marks.get(..before).and_then(<[SealMark]>::last) {
            Some(last) if at < last.plain.end => last.label.start,
            Some(last) => last.label.end + (at - last.plain.end),
            None => at,
        }
    }

    /// Returns the smallest range of the sealed text that covers a range of the original.
    pub(crate) fn cover_sealed(&self, range: &Range<usize>) -> Range<usize> {
        let before = self.marks.partition_point(|mark| mark.plain.start < range.end);
        let last = self.marks.get(..before).and_then(<[SealMark]>::last);
        let cut = last.filter(|mark| range.end < mark.plain.end);
        let end = cut.map_or_else(|| self.to_sealed(range.end), |mark| mark.label.end);
        self.to_sealed(range.start)..end
    }

    /// Finds ranges with `find` in the text, which is this one unless it has no labels, and in the original; returns
    /// all of them as ranges of the text, in order and without overlaps. `find` gets a function that moves places of
    /// the text to the one it searches.
    pub(crate) fn find_in_both(&self, text: &str, find: &mut FindRanges<'_>) -> Vec<Range<usize>> {
        let mut found = find(text, &|at| at);
        if self.marks.is_empty() {
            return found;
        }
        // Words that were deleted before their secrets were sealed are known by what they were.
        let before = find(&self.plain, &|at| self.to_plain(at));
        found.extend(before.iter().map(|range| self.cover_sealed(range)));
        found.sort_by_key(|range| (range.start, range.end));
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in found {
            match joined.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => joined.push(range),
            }
        }
        joined
    }

    /// Returns the original of a range of the text; `None` if it has no labels.
    pub(crate) fn plain_text(&self, range: &Range<usize>) -> Option<&str> {
        let plain = self.to_plain(range.start)..self.to_plain(range.end);
        self.plain.get(plain).filter(|_| !self.marks.is_empty())
    }

    /// Returns the number of line ends in the secrets before a place of the sealed text.
    pub(crate) fn hidden_lines(&self, at: usize) -> u64 {
        let before = self.marks.partition_point(|mark| mark.label.end <= at);
        let last = self.marks.get(..before).and_then(<[SealMark]>::last);
        last.map_or(0, |mark| mark.lines)
    }

    fn marks_before(&self, at: usize) -> &[SealMark] {
        let before = self.marks.partition_point(|mark| mark.label.start < at);
        self.marks.get(..before).unwrap_or_default()
    }

    /// Returns the spans of the labels in a part of the sealed text, counted from the start of the part.
    pub(crate) fn spans_in(&self, part: Range<usize>) -> Vec<SealedSpan> {
        let first = self.marks.partition_point(|mark| mark.label.start < part.start);
        let behind = self.marks.partition_point(|mark| mark.label.end <= part.end);
        let inside = self.marks.get(first..behind).unwrap_or_default();
        inside
            .iter()
            .map(|mark| SealedSpan {
                field: None,
                nth: None,
                start: mark.label.start - part.start,
                end: mark.label.end - part.start,
                kind: mark.kind.name().to_owned(),
                tag: mark.tag.clone(),
                length: mark.plain.len(),
                sealed: Some(mark.sealed.clone()),
            })
            .collect()
    }

    /// Returns the place that a label of the original text has in this one.
    pub(crate) fn move_span(&self, span: &SealedSpan) -> SealedSpan {
        let start = self.to_sealed(span.start);
        SealedSpan {
            start,
            end: start + (span.end - span.start),
            ..span.clone()
        }
    }

    /// Adds the labels of this text, the value of a metadata field, to the spans of its drawer. Those that the field had
    /// before are moved to where they are now.
    pub(super) fn add_field_spans(&self, spans: &mut Vec<SealedSpan>, key: &str, nth: Option<usize>) {
        for span in spans.iter_mut() {
            if span.field.as_deref() == Some(key) && span.nth == nth {
                *span = self.move_span(span);
            }
        }
        spans.extend(self.spans().into_iter().map(|span| SealedSpan {
            nth,
            ..span.in_field(key)
        }));
    }

    /// Returns the spans of all labels.
    pub(crate) fn spans(&self) -> Vec<SealedSpan> {
        self.spans_in(0..self.text.len())
    }

    /// Returns the secrets, as they were.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&str, SecretKind)> {
        let secret = |mark: &SealMark| Some((self.plain.get(mark.plain.clone())?, mark.kind));
        self.marks.iter().filter_map(secret)
    }
}

/// Moves every cut inside a label to the start of the label.
pub(crate) fn keep_labels_whole(sealed: &SealedText, pieces: &mut Vec<TextPiece>) {
    let cut_label = |at: usize| {
        let label = sealed.marks_before(at).last().map(|mark| &mark.label);
        label.filter(|label| at < label.end).map(|label| label.start)
    };
    for piece in pieces.iter_mut() {
        piece.start = cut_label(piece.start).unwrap_or(piece.start);
        let Some(end) = cut_label(piece.end) else {
            continue;
        };
        piece.end = end;
        // A label has no line end, so that lines change only if the piece now ends with the line before.
        if sealed
            .text
            .get(..end)
            .is_some_and(|before| before.ends_with('\n'))
        {
            piece.line_end = piece.line_end.saturating_sub(1).max(piece.line_start);
        }
    }
    pieces.retain(|piece| piece.start < piece.end);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text in which `[…]` are labels for secrets of these lengths, with these numbers of line ends so far.
    fn sealed(text: &str, secrets: &[(usize, u64)]) -> SealedText {
        let mut marks = Vec::new();
        let (mut from, mut shift) = (0, 0_isize);
        for (length, lines) in secrets {
            let start = from + text[from..].find('[').unwrap();
            let end = start + text[start..].find(']').unwrap() + 1;
            let plain = start.saturating_add_signed(shift);
            marks.push(SealMark {
                label: start..end,
                plain: plain..plain + length,
                lines: *lines,
                kind: SecretKind::Password,
                tag: "t".into(),
                sealed: String::new(),
            });
            shift += *length as isize - (end - start) as isize;
            from = end;
        }
        SealedText {
            text: text.into(),
            plain: String::new(),
            marks,
        }
    }

    #[test]
    fn places_are_found_in_both_texts() {
        // The original: "ab" + 10 bytes + "cd" + 1 byte + "e".
        let text = sealed("ab[xx]cd[yy]e", &[(10, 2), (1, 2)]);
        assert_eq!(
            [0, 2, 6, 8, 12, 13].map(|at| text.to_plain(at)),
            [0, 2, 12, 14, 15, 16]
        );
        assert_eq!(
            [0, 2, 12, 14, 15, 16].map(|at| text.to_sealed(at)),
            [0, 2, 6, 8, 12, 13]
        );
        assert_eq!((text.to_plain(4), text.to_sealed(7)), (2, 2));
        assert_eq!(text.cover_sealed(&(1..5)), 1..6, "half a secret is its label");
        assert_eq!(text.cover_sealed(&(5..13)), 2..7);
        assert_eq!([0, 2, 5, 6, 13].map(|at| text.hidden_lines(at)), [0, 0, 0, 2, 2]);
    }

    #[test]
    fn spans_are_counted_from_the_start_of_their_part() {
        let text = sealed("ab[xx]cd[yy]e", &[(10, 2), (1, 2)]);
        let spans = text.spans_in(6..13);
        assert_eq!(
            (spans.len(), spans[0].start, spans[0].end, spans[0].length),
            (1, 2, 6, 1)
        );
        assert_eq!(text.spans().len(), 2);
        assert_eq!(text.spans_in(3..8), [], "a cut label is no label");
    }

    #[test]
    fn no_cut_falls_inside_a_label() {
        let text = sealed("ab[xxxxxx]cd", &[(3, 0)]);
        let pieces = |cuts: &[usize]| {
            let ends = cuts.iter().copied().chain([12]);
            let starts = std::iter::once(0).chain(cuts.iter().copied());
            let pieces = starts.zip(ends).map(|(start, end)| TextPiece {
                start,
                end,
                line_start: 1,
                line_end: 1,
                heading: None,
            });
            let mut pieces: Vec<_> = pieces.collect();
            keep_labels_whole(&text, &mut pieces);
            pieces
                .iter()
                .map(|piece| (piece.start, piece.end))
                .collect::<Vec<_>>()
        };
        assert_eq!(pieces(&[2, 10]), [(0, 2), (2, 10), (10, 12)]);
        assert_eq!(pieces(&[5]), [(0, 2), (2, 12)]);
        assert_eq!(pieces(&[4, 6]), [(0, 2), (2, 12)]);
        assert_eq!(pieces(&[2, 5, 11]), [(0, 2), (2, 11), (11, 12)]);
    }
}
