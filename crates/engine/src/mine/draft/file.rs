//! The drawers of a file: its text from first byte to last.

use loci_core::{Context, DrawerId, Metadata, NewDrawer, Place, Span, Timestamp};

use crate::mine::cut::{self, Cutting, Piece, Shape};
use crate::mine::decode::{Decoded, Encoding, piece_strays, write_strays};

/// How much of its neighbours is indexed with a piece, in characters.
const EDGE: usize = 120;

/// What kind of drawer a piece of a file is.
pub(crate) const KIND: &str = "file";

/// A file's text and where it is cut.
#[derive(Debug)]
pub(crate) struct FileBody {
    decoded: Decoded,
    pieces: Vec<Piece>,
    /// What it is called within its project.
    label: String,
    /// What its text is shaped like.
    shape: Shape,
    /// When it was last changed.
    modified: Option<Timestamp>,
}

impl FileBody {
    /// Cuts a file's text.
    pub(crate) fn new(
        decoded: Decoded,
        shape: Shape,
        label: String,
        modified: Option<Timestamp>,
        how: &Cutting,
    ) -> Self {
        let pieces = cut::cut(&decoded.text, shape, how);
        Self {
            decoded,
            pieces,
            label,
            shape,
            modified,
        }
    }

    /// The texts of the pieces, in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().map(|piece| self.text_of(piece))
    }

    fn text_of(&self, piece: &Piece) -> &str {
        self.decoded.text.get(piece.start..piece.end).unwrap_or_default()
    }

    /// Drawer number `n`, not yet filed anywhere.
    pub(crate) fn drawer(&self, n: usize, id: DrawerId) -> Option<NewDrawer> {
        let piece = self.pieces.get(n)?;
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
            said_at: self.modified,
            ..Place::default()
        };
        Some(drawer)
    }

    fn context(&self, piece: &Piece) -> Context {
        let text = &self.decoded.text;
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
        let mut metadata = Metadata::new().with("format", self.shape.name());
        if self.decoded.encoding != Encoding::Utf8 {
            metadata.insert("encoding", self.decoded.encoding.name());
        }
        let strays = piece_strays(&self.decoded.strays, piece.start..piece.end);
        if !strays.is_empty() {
            metadata.insert("strays", write_strays(&strays));
        }
        metadata
    }
}
