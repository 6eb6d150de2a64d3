//! The drawers of a file: its text from first byte to last.

use loci_core::{Context, DrawerId, Metadata, NewDrawer, Place, Span};

use loci_mine::FileDocument;
use loci_mine::cut::{self, Piece};
use loci_mine::decode::{Encoding, piece_strays, write_strays};

/// How much of its neighbours is indexed with a piece, in characters.
const EDGE: usize = 120;

/// What kind of drawer a piece of a file is.
pub(crate) const KIND: &str = "file";

/// A file's text, where it is cut, and what it is called.
#[derive(Debug)]
pub(crate) struct FileBody {
    document: FileDocument,
    /// What it is called within its project.
    label: String,
}

impl FileBody {
    /// The drawers of a file that is called `label` within its project.
    pub(crate) fn new(document: FileDocument, label: String) -> Self {
        Self { document, label }
    }

    /// The texts of the pieces, in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.document.pieces.iter().map(|piece| self.text_of(piece))
    }

    fn text_of(&self, piece: &Piece) -> &str {
        self.document
            .decoded
            .text
            .get(piece.start..piece.end)
            .unwrap_or_default()
    }

    /// Drawer number `n`, not yet filed anywhere.
    pub(crate) fn drawer(&self, n: usize, id: DrawerId) -> Option<NewDrawer> {
        let piece = self.document.pieces.get(n)?;
        let mut drawer = NewDrawer::new(id, self.text_of(piece));
        drawer.context = Some(self.context(piece));
        drawer.metadata = self.metadata(piece);
        drawer.place = Place {
            span: Some(Span {
                start: piece.start as u64,
                end: piece.end as u64,
                line_start: piece.line_start,
                line_end: piece.line_end,
            }),
            kind: Some(KIND.into()),
            said_at: self.document.modified,
            ..Place::default()
        };
        Some(drawer)
    }

    fn context(&self, piece: &Piece) -> Context {
        let text = &self.document.decoded.text;
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
        Context {
            before,
            after: cut::edge_after(text, piece.end, EDGE).to_owned(),
        }
    }

    fn metadata(&self, piece: &Piece) -> Metadata {
        let mut metadata = Metadata::new().with("format", self.document.shape.name());
        if self.document.decoded.encoding != Encoding::Utf8 {
            metadata.insert("encoding", self.document.decoded.encoding.name());
        }
        let strays = piece_strays(&self.document.decoded.strays, piece.start..piece.end);
        if !strays.is_empty() {
            metadata.insert("strays", write_strays(&strays));
        }
        metadata
    }
}
