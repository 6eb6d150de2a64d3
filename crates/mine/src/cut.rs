//! Text into pieces that tile it: contiguous, in order, never inside a grapheme, and cut where a reader would.
//!
//! One scanner for each shape of text reports seams as it comes to them, the packer decides which of them part two
//! pieces. Seams that stand for themselves (a heading, an item of code) begin a new piece wherever the one before
//! is long enough, and elsewhere the text behind a seam decides, so that an edit moves only the seams near it.

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
use pack::Packer;
pub use shape::{Shape, shape_of};

/// How long pieces are, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutting {
    /// About this many; half as many to half as many more where the text allows it.
    pub target: usize,
    /// Fenced blocks, tables and the like stay whole up to this many. No piece is longer than this or twice the
    /// target, whichever is more, unless it is a single grapheme.
    pub whole: usize,
}

impl Cutting {
    /// Pieces of about `target` characters.
    pub fn of(target: usize) -> Self {
        Self {
            target,
            whole: target.saturating_mul(4),
        }
    }
}

impl Default for Cutting {
    fn default() -> Self {
        Self {
            target: 800,
            whole: 3200,
        }
    }
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// The line it begins in, from 1. Lines end at `\n`.
    pub line_start: u64,
    /// The line its last character is of, be it the newline that ends that line.
    pub line_end: u64,
    /// What all of it stands under, "Guide > Install > Linux"; for code the first line of the item around it.
    pub heading: Option<Arc<str>>,
}

/// Cuts a text into pieces: together, in order, they are the text. An empty text has none.
pub fn cut(text: &str, shape: Shape, how: &Cutting) -> Vec<Piece> {
    let mut packer = Packer::new(text, how);
    match shape {
        Shape::Prose => prose::scan(text, &mut packer),
        Shape::Markdown => markdown::scan(text, &mut packer),
        Shape::Code => code::scan(text, &mut packer),
        Shape::Markup => markup::scan(text, &mut packer),
        Shape::Rows => rows::scan(text, &mut packer),
        Shape::Config => config::scan(text, &mut packer),
        Shape::Notebook => notebook::scan(text, &mut packer),
    }
    packer.finish()
}

/// The part of a text between two places that are known to lie between characters.
fn part(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod locality;
#[cfg(test)]
mod seen;
