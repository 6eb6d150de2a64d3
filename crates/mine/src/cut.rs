//! Cuts text into pieces that tile it: contiguous, in order, never cut inside a grapheme, and cut where a reader would.
//!
//! One scanner for each shape of text reports seams in order, and the packer decides which of them separate two
//! pieces. Strong seams (a heading, an item of code) begin a new piece if the one before is long enough. Between
//! equal seams the text after each decides, so that an edit moves only the cuts near it.

mod code;
mod config;
mod edge;
mod inline;
mod line;
mod markdown;
mod markup;
mod notebook;
mod pack;
mod prose;
mod rows;
mod seam;
mod shape;

use std::sync::Arc;

pub use edge::{edge_after, edge_before};
use pack::PiecePacker;
pub use shape::{TextShape, shape_of};

/// The lengths of pieces, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceLengths {
    /// The usual length; pieces have half to one and a half times as many characters if the text allows it.
    pub target: usize,
    /// The length up to which fenced blocks, tables and the like stay whole. No piece is longer than this or twice the
    /// target, whichever is more, unless it is a single grapheme.
    pub whole: usize,
}

impl PieceLengths {
    /// Creates the lengths for pieces of about `target` characters.
    pub fn from_target(target: usize) -> Self {
        Self {
            target,
            whole: target.saturating_mul(4),
        }
    }
}

impl Default for PieceLengths {
    fn default() -> Self {
        Self {
            target: 800,
            whole: 3200,
        }
    }
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPiece {
    /// The byte offset of its start.
    pub start: usize,
    /// The byte offset of its end.
    pub end: usize,
    /// The line of its first character, from 1. Lines end at `\n`.
    pub line_start: u64,
    /// The line of its last character, even if that is the newline that ends the line.
    pub line_end: u64,
    /// The headings above all of it, "Guide > Install > Linux"; for code the first line of the enclosing item.
    pub heading: Option<Arc<str>>,
}

/// Cuts a text into pieces that, joined in order, are the text. An empty text has none.
pub fn cut_text(text: &str, shape: TextShape, how: &PieceLengths) -> Vec<TextPiece> {
    // Scanners only report seams; the packer alone guarantees that the pieces tile the text, for any shape.
    let mut packer = PiecePacker::new(text, how);
    match shape {
        TextShape::Prose => prose::scan_prose(text, &mut packer),
        TextShape::Markdown => markdown::scan_markdown(text, &mut packer),
        TextShape::Code => code::scan_code(text, &mut packer),
        TextShape::Markup => markup::scan_markup(text, &mut packer),
        TextShape::Rows => rows::scan_rows(text, &mut packer),
        TextShape::Config => config::scan_config(text, &mut packer),
        TextShape::Notebook => notebook::scan_notebook(text, &mut packer),
    }
    packer.finish()
}

/// Returns the part of a text between two offsets that are known to be character boundaries.
fn slice_text(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod locality;
#[cfg(test)]
mod seen;
