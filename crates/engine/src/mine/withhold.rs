//! Withholding: what was deleted of a source is taken out of its draft, and nothing else.
//!
//! A piece that is stored is never withheld, whatever the list says: the same words may have been deleted in one place
//! and kept in another.

use std::collections::HashSet;
use std::ops::Range;

use loci_core::{Collection, DrawerId, Result};
use loci_mine::cut::TextPiece;

use super::draft::{DraftBody, SourceDraft};
use super::stored::StoredSource;
use crate::deletions::{DeletionKeys, SourceDeletions};

/// Takes out of a draft what was deleted; returns the number of places it was in.
pub(crate) fn withhold_deleted(
    collection: &dyn Collection,
    keys: &DeletionKeys,
    stored: &StoredSource<'_>,
    draft: &mut SourceDraft,
) -> Result<u64> {
    let deleted = look_up(collection, keys, draft)?;
    if deleted.is_empty() {
        return Ok(0);
    }
    let mut ids = HashSet::new();
    stored.for_each_drawer(&mut |drawer| {
        ids.insert(drawer.id.clone());
    })?;
    Ok(take_out(draft, &deleted, &ids))
}

/// Returns the records that say what was deleted of a draft, with their revisions.
pub(crate) fn find_restored(
    collection: &dyn Collection,
    keys: &DeletionKeys,
    draft: &SourceDraft,
) -> Result<Vec<(String, u64)>> {
    Ok(look_up(collection, keys, draft)?.records)
}

fn look_up(collection: &dyn Collection, keys: &DeletionKeys, draft: &SourceDraft) -> Result<SourceDeletions> {
    match &draft.body {
        DraftBody::File(_) => keys.look_up(collection, &draft.source, std::iter::empty()),
        DraftBody::Talk(talk) => keys.look_up(collection, &draft.source, talk.own_ids()),
    }
}

fn take_out(draft: &mut SourceDraft, deleted: &SourceDeletions, stored: &HashSet<DrawerId>) -> u64 {
    let kept: Vec<bool> = draft.ids.iter().map(|id| stored.contains(id)).collect();
    let withheld = match &mut draft.body {
        DraftBody::File(file) => file.withhold(deleted, &kept),
        DraftBody::Talk(talk) => talk.withhold(deleted, &kept),
    };
    if withheld > 0 {
        draft.name_pieces();
    }
    withheld
}

/// The pieces of one text without what was deleted of it.
#[derive(Debug)]
pub(crate) struct WithheldText {
    /// The pieces and parts of pieces that are left, each with the number of the piece it is from.
    pub(crate) left: Vec<(usize, TextPiece)>,
    /// The ranges that were taken out.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// Takes ranges out of the pieces of a text; `kept` says which of them are stored and stay whole.
pub(crate) fn cut_out(
    text: &str,
    pieces: &[(usize, TextPiece)],
    kept: &[bool],
    deleted: &[Range<usize>],
) -> WithheldText {
    let mut left = Vec::new();
    let mut ranges = Vec::new();
    for (number, piece) in pieces {
        let is_kept = kept.get(*number).copied().unwrap_or(false);
        let gone: Vec<Range<usize>> = deleted
            .iter()
            .map(|range| range.start.max(piece.start)..range.end.min(piece.end))
            .filter(|range| range.start < range.end && !is_kept)
            .collect();
        if gone.is_empty() {
            left.push((*number, piece.clone()));
            continue;
        }
        let ends = std::iter::once(piece.start).chain(gone.iter().map(|range| range.end));
        let begins = gone.iter().map(|range| range.start).chain([piece.end]);
        for (start, end) in ends.zip(begins) {
            left.extend(part_of(text, piece, start, end).map(|part| (*number, part)));
        }
        ranges.extend(gone);
    }
    WithheldText { left, ranges }
}

/// Returns a part of a piece, unless it is blank.
fn part_of(text: &str, piece: &TextPiece, start: usize, end: usize) -> Option<TextPiece> {
    let part = text.get(start..end).filter(|part| !part.trim().is_empty())?;
    let lines = |text: &str| text.matches('\n').count() as u64;
    let line_start = piece.line_start + lines(text.get(piece.start..start)?);
    // A newline at the end belongs to the line it ends.
    let within = lines(part.strip_suffix('\n').unwrap_or(part));
    Some(TextPiece {
        start,
        end,
        line_start,
        line_end: line_start + within,
        heading: piece.heading.clone(),
    })
}

/// Returns the part of a text between `at` and the nearest withheld range before it.
pub(crate) fn visible_before<'t>(text: &'t str, withheld: &[Range<usize>], at: usize) -> &'t str {
    let from = withheld
        .iter()
        .map(|range| range.end)
        .filter(|end| *end <= at)
        .max();
    text.get(from.unwrap_or(0)..at).unwrap_or_default()
}

/// Returns the part of a text between `at` and the nearest withheld range behind it.
pub(crate) fn visible_after<'t>(text: &'t str, withheld: &[Range<usize>], at: usize) -> &'t str {
    let to = withheld
        .iter()
        .map(|range| range.start)
        .filter(|start| *start >= at)
        .min();
    text.get(at..to.unwrap_or(text.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: usize, end: usize, line: u64, last: u64) -> TextPiece {
        TextPiece {
            start,
            end,
            line_start: line,
            line_end: last,
            heading: None,
        }
    }

    #[test]
    fn what_is_left_of_a_piece_keeps_its_place_and_its_lines() {
        let text = "one\ntwo\nthree\nfour\n";
        let pieces = [(0, piece(0, 19, 1, 4))];
        let cut = cut_out(text, &pieces, &[false], std::slice::from_ref(&(4..8)));
        assert_eq!(cut.left, [(0, piece(0, 4, 1, 1)), (0, piece(8, 19, 3, 4))]);
        assert_eq!(cut.ranges, std::slice::from_ref(&(4..8)));
        let all = cut_out(text, &pieces, &[false], std::slice::from_ref(&(0..18)));
        assert_eq!(all.left, [], "a blank rest is not filed");
        let stored = cut_out(text, &pieces, &[true], std::slice::from_ref(&(4..8)));
        assert_eq!((stored.left.len(), stored.ranges.len()), (1, 0));
    }

    #[test]
    fn a_deleted_range_may_reach_over_pieces() {
        let text = "aaaa\nbbbb\ncccc\n";
        let pieces = [
            (0, piece(0, 5, 1, 1)),
            (1, piece(5, 10, 2, 2)),
            (2, piece(10, 15, 3, 3)),
        ];
        let cut = cut_out(text, &pieces, &[false; 3], std::slice::from_ref(&(2..12)));
        assert_eq!(cut.left, [(0, piece(0, 2, 1, 1)), (2, piece(12, 15, 3, 3))]);
        assert_eq!(visible_before(text, &cut.ranges, 12), "");
        assert_eq!(visible_before(text, &cut.ranges, 15), "cc\n");
        assert_eq!(visible_after(text, &cut.ranges, 2), "");
        assert_eq!(visible_after(text, &cut.ranges, 0), "aa");
    }
}
