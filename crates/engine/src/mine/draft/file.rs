//! The drawers of a file: its text from the first byte to the last.

use std::ops::Range;

use loci_core::{DrawerContext, DrawerId, DrawerPlace, Metadata, NewDrawer, SourceSpan};

use loci_mine::FileDocument;
use loci_mine::cut::{self, PieceLengths, TextPiece};
use loci_mine::decode::{TextEncoding, piece_strays, write_strays};

use crate::deletions::SourceDeletions;
use crate::mine::withhold::{cut_out, visible_after, visible_before};
use crate::repeats::RepeatFinder;
use crate::seal::{SealedSpan, SealedText, keep_labels_whole};

/// The number of characters of each neighbour that are indexed with a piece.
const EDGE: usize = 120;

/// The kind of drawers that are pieces of a file.
pub(crate) const FILE_KIND: &str = "file";

/// The text of a file, its pieces and its label.
#[derive(Debug)]
pub(crate) struct FileBody {
    document: FileDocument,
    /// The path of the file within its project.
    label: String,
    /// The ranges of the text that were deleted before.
    withheld: Vec<Range<usize>>,
    repeats: RepeatFinder,
    /// The text with labels and the way back, if it holds secrets; the pieces are then cut from it.
    sealed: SealedText,
}

impl FileBody {
    /// Wraps a document of a file that has the path `label` within its project.
    pub(crate) fn new(document: FileDocument, label: String) -> Self {
        Self {
            document,
            label,
            sealed: SealedText::default(),
            withheld: Vec::new(),
            repeats: RepeatFinder::default(),
        }
    }

    /// Replaces the text by one with labels, and cuts it anew.
    pub(crate) fn seal(&mut self, sealed: SealedText, how: &PieceLengths) {
        self.document.pieces = cut::cut_text(&sealed.text, self.document.shape, how);
        keep_labels_whole(&sealed, &mut self.document.pieces);
        self.document.decoded.text.clone_from(&sealed.text);
        self.sealed = sealed;
    }

    /// Returns the spans of the labels in piece `n`.
    pub(crate) fn spans_of(&self, n: usize) -> Vec<SealedSpan> {
        let piece = self.document.pieces.get(n);
        piece.map_or_else(Vec::new, |piece| self.sealed.spans_in(piece.start..piece.end))
    }

    /// Takes out what was deleted, except from pieces that are `kept`; returns the number of places.
    pub(crate) fn withhold(&mut self, deleted: &SourceDeletions, kept: &[bool]) -> u64 {
        let text = &self.document.decoded.text;
        let pieces: Vec<(usize, TextPiece)> = self.document.pieces.drain(..).enumerate().collect();
        let starts = || pieces.iter().map(|(_, piece)| piece.start);
        let found = self.sealed.find_in_both(text, &mut |text, places| {
            deleted.find_in(text, None, starts().map(places))
        });
        let cut = cut_out(text, &pieces, kept, &found);
        self.document.pieces = cut.left.into_iter().map(|(_, piece)| piece).collect();
        self.withheld = cut.ranges;
        let texts = self.withheld.iter().filter_map(|range| text.get(range.clone()));
        self.repeats = RepeatFinder::new(texts.map(str::to_owned));
        self.withheld.len() as u64
    }

    /// Returns the texts of the pieces, in order.
    pub(crate) fn piece_texts(&self) -> impl Iterator<Item = &str> {
        self.document.pieces.iter().map(|piece| self.piece_text(piece))
    }

    /// Returns the text of piece `n`.
    pub(crate) fn piece_text_at(&self, n: usize) -> &str {
        self.document
            .pieces
            .get(n)
            .map_or("", |piece| self.piece_text(piece))
    }

    fn piece_text(&self, piece: &TextPiece) -> &str {
        self.document
            .decoded
            .text
            .get(piece.start..piece.end)
            .unwrap_or_default()
    }

    /// Returns the texts of the file that are filed, between the ranges that are withheld; if it holds secrets, also as
    /// they are before they are sealed.
    pub(crate) fn filed_texts(&self) -> Vec<&str> {
        let text = &self.document.decoded.text;
        let ends = std::iter::once(0).chain(self.withheld.iter().map(|range| range.end));
        let begins = self.withheld.iter().map(|range| range.start).chain([text.len()]);
        let ranges = ends.zip(begins).map(|(start, end)| start..end);
        ranges
            .flat_map(|range| [self.sealed.plain_text(&range), text.get(range)])
            .flatten()
            .collect()
    }

    /// Builds drawer number `n`, without source, wing and room.
    pub(crate) fn make_drawer(&self, n: usize, id: DrawerId) -> Option<NewDrawer> {
        let piece = self.document.pieces.get(n)?;
        let mut drawer = NewDrawer::new(id, self.piece_text(piece));
        drawer.context = Some(self.piece_context(piece));
        drawer.metadata = self.piece_metadata(piece);
        drawer.place = DrawerPlace {
            // Counted in the file as it is, where a reader looks for it.
            span: Some(SourceSpan {
                start: self.sealed.to_plain(piece.start) as u64,
                end: self.sealed.to_plain(piece.end) as u64,
                line_start: piece.line_start + self.sealed.hidden_lines(piece.start),
                line_end: piece.line_end + self.sealed.hidden_lines(piece.end),
            }),
            kind: Some(FILE_KIND.into()),
            said_at: self.document.modified,
            ..DrawerPlace::default()
        };
        Some(drawer)
    }

    fn piece_context(&self, piece: &TextPiece) -> DrawerContext {
        let text = &self.document.decoded.text;
        // Path and headings often hold the very words a question uses, and the piece itself does not.
        let mut before = self.label.clone();
        let heading = piece.heading.as_deref();
        if let Some(heading) = heading.filter(|heading| !self.repeats.repeats_heading(heading)) {
            before.push_str(" > ");
            before.push_str(heading);
        }
        let near = visible_before(text, &self.withheld, piece.start);
        let edge = cut::edge_before(near, near.len(), EDGE);
        if !edge.is_empty() {
            before.push('\n');
            before.push_str(edge);
        }
        DrawerContext {
            before,
            after: cut::edge_after(visible_after(text, &self.withheld, piece.end), 0, EDGE).to_owned(),
        }
    }

    fn piece_metadata(&self, piece: &TextPiece) -> Metadata {
        let mut metadata = Metadata::new().with_entry("format", self.document.shape.name());
        if self.document.decoded.encoding != TextEncoding::Utf8 {
            // With the encoding and the stray bytes, `loci cat` can give the file back byte for byte.
            metadata.insert("encoding", self.document.decoded.encoding.name());
        }
        let range = self.sealed.to_plain(piece.start)..self.sealed.to_plain(piece.end);
        let strays = piece_strays(&self.document.decoded.strays, range);
        if !strays.is_empty() {
            metadata.insert("strays", write_strays(&strays));
        }
        metadata
    }
}
