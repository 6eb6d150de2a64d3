//! The drawers of a file: its text from the first byte to the last.

use loci_core::{DrawerContext, DrawerId, DrawerPlace, Metadata, NewDrawer, SourceSpan};

use loci_mine::FileDocument;
use loci_mine::cut::{self, TextPiece};
use loci_mine::decode::{TextEncoding, piece_strays, write_strays};

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
}

impl FileBody {
    /// Wraps a document of a file that has the path `label` within its project.
    pub(crate) fn new(document: FileDocument, label: String) -> Self {
        Self { document, label }
    }

    /// Returns the texts of the pieces, in order.
    pub(crate) fn piece_texts(&self) -> impl Iterator<Item = &str> {
        self.document.pieces.iter().map(|piece| self.piece_text(piece))
    }

    fn piece_text(&self, piece: &TextPiece) -> &str {
        self.document
            .decoded
            .text
            .get(piece.start..piece.end)
            .unwrap_or_default()
    }

    /// Builds drawer number `n`, without source, wing and room.
    pub(crate) fn make_drawer(&self, n: usize, id: DrawerId) -> Option<NewDrawer> {
        let piece = self.document.pieces.get(n)?;
        let mut drawer = NewDrawer::new(id, self.piece_text(piece));
        drawer.context = Some(self.piece_context(piece));
        drawer.metadata = self.piece_metadata(piece);
        drawer.place = DrawerPlace {
            span: Some(SourceSpan {
                start: piece.start as u64,
                end: piece.end as u64,
                line_start: piece.line_start,
                line_end: piece.line_end,
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
        if let Some(heading) = &piece.heading {
            before.push_str(" > ");
            before.push_str(heading);
        }
        let edge = cut::edge_before(text, piece.start, EDGE);
        if !edge.is_empty() {
            before.push('\n');
            before.push_str(edge);
        }
        DrawerContext {
            before,
            after: cut::edge_after(text, piece.end, EDGE).to_owned(),
        }
    }

    fn piece_metadata(&self, piece: &TextPiece) -> Metadata {
        let mut metadata = Metadata::new().with_entry("format", self.document.shape.name());
        if self.document.decoded.encoding != TextEncoding::Utf8 {
            // With the encoding and the stray bytes, `loci cat` can give the file back byte for byte.
            metadata.insert("encoding", self.document.decoded.encoding.name());
        }
        let strays = piece_strays(&self.document.decoded.strays, piece.start..piece.end);
        if !strays.is_empty() {
            metadata.insert("strays", write_strays(&strays));
        }
        metadata
    }
}
