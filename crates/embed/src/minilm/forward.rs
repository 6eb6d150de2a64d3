//! The model itself: from tokens to one vector for each sequence, without padding.
//!
//! The rows of all sequences of a run stand in one matrix, so that a matrix of weights is read once for all of them;
//! only attention looks at each sequence alone.
#![allow(
    clippy::indexing_slicing,
    reason = "slices of buffers that are sized for the run at its head"
)]

use super::kernel::{Onto, Product, Rows, gelu, multiply, normalise, softmax};
use super::weights::{Layer, Linear, Weights};
use crate::wordpiece::{CLS, SEP};

/// How many rows of scores are held at once.
const SCORE_ROWS: usize = 48;

/// What one run needs, sized once for the largest of its runs.
#[derive(Debug)]
pub(super) struct Space {
    hidden: Vec<f32>,
    next: Vec<f32>,
    joined: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    scores: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Space {
    /// Room for runs of at most `tokens` tokens in sequences of at most `longest`, special ones included.
    pub(super) fn new(weights: &Weights, tokens: usize, longest: usize) -> Self {
        let (shape, panel) = (weights.shape, weights.level.panel());
        let (wide, size) = (shape.hidden, shape.hidden / shape.heads);
        let across = longest.next_multiple_of(panel);
        let room = |size| vec![0.0; size];
        Self {
            hidden: room(tokens * wide),
            next: room(tokens * wide),
            joined: room(tokens * wide * 3),
            context: room(tokens * wide),
            inner: room(tokens * wide.min(shape.inner)),
            scores: room(across * SCORE_ROWS.min(longest)),
            keys: room(across * size),
            values: room(longest * size.next_multiple_of(panel)),
        }
    }

    /// How many bytes it holds.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let rows = [&self.hidden, &self.next, &self.joined, &self.context, &self.inner];
        let attention = [&self.scores, &self.keys, &self.values];
        rows.iter()
            .chain(&attention)
            .map(|held| held.capacity() * 4)
            .sum()
    }
}

/// How many tokens a sequence has with its special ones.
pub(super) fn length(ids: &[u16]) -> usize {
    ids.len() + 2
}

/// Runs the model over sequences and gives for each the mean of its last rows, at length one.
pub(super) fn run(weights: &Weights, sequences: &[&[u16]], space: &mut Space) -> Vec<Vec<f32>> {
    let wide = weights.shape.hidden;
    let total: usize = sequences.iter().map(|ids| length(ids)).sum();
    let hidden = &mut space.hidden[..total * wide];
    let mut rows = hidden.chunks_exact_mut(wide);
    for ids in sequences {
        let whole = [CLS].into_iter().chain(ids.iter().copied()).chain([SEP]);
        for ((position, token), to) in whole.enumerate().zip(&mut rows) {
            weights.embed(token, position, to);
        }
    }
    let norm = &weights.norm;
    normalise(weights.level, hidden, &weights.kind, &norm.weight, &norm.shift);
    for layer in &weights.layers {
        attend(weights, layer, sequences, total, space);
        widen(weights, layer, total, space);
    }
    let mut rest = space.hidden.as_slice();
    let mut vectors = Vec::with_capacity(sequences.len());
    for ids in sequences {
        let (rows, after) = rest.split_at(length(ids) * wide);
        vectors.push(mean(rows, wide));
        rest = after;
    }
    vectors
}

/// The product of whole rows with a packed matrix.
fn linear<'a>(left: &'a [f32], by: &'a Linear, onto: Onto<'a>) -> Product<'a> {
    let (values, stride) = (left, by.depth);
    Product {
        left: Rows { values, stride },
        rows: left.len() / by.depth,
        depth: by.depth,
        packed: &by.packed,
        columns: by.columns,
        onto,
    }
}

/// Lets each row look at its sequence, and adds what it saw.
fn attend(weights: &Weights, layer: &Layer, sequences: &[&[u16]], total: usize, space: &mut Space) {
    let (level, wide) = (weights.level, weights.shape.hidden);
    let product = linear(
        &space.hidden[..total * wide],
        &layer.attention,
        Onto::Bias(&layer.attention.bias),
    );
    multiply(level, product, &mut space.joined, 3 * wide);
    let mut start = 0;
    for ids in sequences {
        for head in 0..weights.shape.heads {
            look(weights, head, start, length(ids), space);
        }
        start += length(ids);
    }
    let product = linear(&space.context[..total * wide], &layer.output, Onto::Held);
    let hidden = &mut space.hidden[..total * wide];
    multiply(level, product, hidden, wide);
    let norm = &layer.output_norm;
    normalise(level, hidden, &layer.output.bias, &norm.weight, &norm.shift);
}

/// What the rows of one sequence, `many` from `start` on, see by one head.
fn look(weights: &Weights, head: usize, start: usize, many: usize, space: &mut Space) {
    let (level, wide) = (weights.level, weights.shape.hidden);
    let (panel, size, stride) = (level.panel(), wide / weights.shape.heads, 3 * wide);
    let across = many.next_multiple_of(panel);
    let joined = &space.joined[start * stride..(start + many) * stride];
    let context = &mut space.context[start * wide..(start + many) * wide];
    let [asked, keys, values] = [0, 1, 2].map(|part| part * wide + head * size);
    pack_keys(
        &joined[keys..],
        stride,
        size,
        panel,
        &mut space.keys[..across * size],
    );
    pack_values(&joined[values..], stride, size, panel, many, &mut space.values);
    for first in (0..many).step_by(SCORE_ROWS) {
        let rows = SCORE_ROWS.min(many - first);
        let scores = &mut space.scores[..rows * across];
        let product = Product {
            left: Rows {
                values: &joined[first * stride + asked..],
                stride,
            },
            rows,
            depth: size,
            packed: &space.keys,
            columns: across,
            onto: Onto::Zero,
        };
        multiply(level, product, scores, across);
        softmax(level, scores, across, many, 1.0 / (size as f32).sqrt());
        let product = Product {
            left: Rows {
                values: scores,
                stride: across,
            },
            rows,
            depth: many,
            packed: &space.values,
            columns: size,
            onto: Onto::Zero,
        };
        multiply(level, product, &mut context[first * wide + head * size..], wide);
    }
}

/// Packs keys, each of which is a column; what fills up the last panel may be anything, for its scores count nothing.
fn pack_keys(from: &[f32], stride: usize, size: usize, panel: usize, to: &mut [f32]) {
    for (to, keys) in to.chunks_exact_mut(panel * size).zip(from.chunks(panel * stride)) {
        for (column, key) in keys.chunks(stride).enumerate() {
            for (to, value) in to.chunks_exact_mut(panel).zip(&key[..size]) {
                to[column] = *value;
            }
        }
    }
}

/// Packs values, each of which is a row.
fn pack_values(from: &[f32], stride: usize, size: usize, panel: usize, many: usize, to: &mut [f32]) {
    for (row, value) in from.chunks(stride).enumerate() {
        for (part, value) in value[..size].chunks(panel).enumerate() {
            let start = (part * many + row) * panel;
            to[start..start + value.len()].copy_from_slice(value);
        }
    }
}

/// Widens each row, bends it and narrows it again, a block of the inner width at a time, and adds what comes out.
fn widen(weights: &Weights, layer: &Layer, total: usize, space: &mut Space) {
    let (level, wide) = (weights.level, weights.shape.hidden);
    let hidden = &space.hidden[..total * wide];
    let next = &mut space.next[..total * wide];
    next.copy_from_slice(hidden);
    for [first, second] in &layer.blocks {
        let inner = &mut space.inner[..total * first.columns];
        multiply(
            level,
            linear(hidden, first, Onto::Bias(&first.bias)),
            inner,
            first.columns,
        );
        gelu(level, inner);
        multiply(level, linear(inner, second, Onto::Held), next, wide);
    }
    normalise(
        level,
        next,
        &layer.last_bias,
        &layer.last_norm.weight,
        &layer.last_norm.shift,
    );
    std::mem::swap(&mut space.hidden, &mut space.next);
}

/// The mean of rows, at length one.
fn mean(rows: &[f32], wide: usize) -> Vec<f32> {
    let mut sums = vec![0.0f32; wide];
    for row in rows.chunks_exact(wide) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    unit(&mut sums);
    sums
}

/// Brings a vector to length one.
pub(super) fn unit(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    if square > 0.0 {
        let scale = 1.0 / square.sqrt();
        for value in vector {
            *value = (f64::from(*value) * scale) as f32;
        }
    }
}
