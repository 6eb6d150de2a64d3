//! The model itself: from tokens to one vector for each sequence, without padding.
//!
//! The rows of all sequences of a run stand in one matrix, so that a matrix of weights is read once for all of them;
//! only attention looks at each sequence alone. A run may be shared by several cores, each with its part of the rows.
#![allow(
    clippy::indexing_slicing,
    reason = "slices of buffers that are sized for the run at its head"
)]

use std::ops::Range;

use super::cores;
use super::kernel::{Onto, Product, Rows, gelu, multiply, normalise, raise};
use super::weights::{Layer, Linear, Weights};
use crate::wordpiece::{CLS, SEP};

/// How many rows of scores are held at once.
const SCORE_ROWS: usize = 48;

/// What runs need, sized once for the largest of them.
#[derive(Debug)]
pub(super) struct Space {
    /// Query, key and value of every row.
    joined: Vec<f32>,
    parts: Vec<Part>,
}

/// What one core needs for its rows.
#[derive(Debug)]
struct Part {
    rows: Range<usize>,
    hidden: Vec<f32>,
    next: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    scores: Vec<f32>,
    shares: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Space {
    /// Room for runs of at most `tokens` tokens in sequences of at most `longest`, shared by `cores`.
    pub(super) fn new(weights: &Weights, tokens: usize, longest: usize, cores: usize) -> Self {
        let rows = tokens.div_ceil(cores);
        Self {
            joined: vec![0.0; tokens * weights.shape.hidden * 3],
            parts: (0..cores).map(|_| Part::new(weights, rows, longest)).collect(),
        }
    }

    /// How many bytes it holds.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let parts = self.parts.iter().flat_map(|part| {
            let rows = [&part.hidden, &part.next, &part.context, &part.inner];
            rows.into_iter()
                .chain([&part.scores, &part.shares, &part.keys, &part.values])
        });
        parts.chain([&self.joined]).map(|held| held.capacity() * 4).sum()
    }
}

/// How many tokens a sequence has with its special ones.
pub(super) fn length(ids: &[u16]) -> usize {
    ids.len() + 2
}

/// Runs the model over sequences and gives for each the mean of its last rows, at length one.
pub(super) fn run(weights: &Weights, sequences: &[&[u16]], space: &mut Space) -> Vec<Vec<f32>> {
    let total: usize = sequences.iter().map(|ids| length(ids)).sum();
    let joined = &mut space.joined[..total * 3 * weights.shape.hidden];
    let parts = &mut space.parts;
    let many = parts.len();
    for (at, part) in parts.iter_mut().enumerate() {
        part.rows = total * at / many..total * (at + 1) / many;
    }
    together(with_rows(parts, joined, weights), |(part, joined)| {
        part.embed(weights, sequences);
        part.join(weights, weights.layers.first(), joined);
    });
    for (at, layer) in weights.layers.iter().enumerate() {
        // Rows look at rows of other parts, so these must all be there, and none may change meanwhile.
        together(parts.iter_mut(), |part| {
            part.look_around(weights, sequences, joined)
        });
        together(with_rows(parts, joined, weights), |(part, joined)| {
            part.settle(weights, layer);
            part.join(weights, weights.layers.get(at + 1), joined);
        });
    }
    let wide = weights.shape.hidden;
    let mut rows = parts
        .iter()
        .flat_map(|part| part.hidden[..part.rows.len() * wide].chunks_exact(wide));
    let means = sequences
        .iter()
        .map(|ids| mean(rows.by_ref().take(length(ids)), wide));
    means.collect()
}

/// Each part with its rows of the joined matrix.
fn with_rows<'a>(
    parts: &'a mut [Part],
    mut joined: &'a mut [f32],
    weights: &Weights,
) -> impl ExactSizeIterator<Item = (&'a mut Part, &'a mut [f32])> + Send {
    let wide = 3 * weights.shape.hidden;
    parts.iter_mut().map(move |part| {
        let (own, rest) = std::mem::take(&mut joined).split_at_mut(part.rows.len() * wide);
        joined = rest;
        (part, own)
    })
}

/// Does the work for every part, each on a core of its own.
fn together<T: Send>(parts: impl ExactSizeIterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    cores::each(parts.len(), parts, || (), |(), part| work(part));
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

impl Part {
    fn new(weights: &Weights, rows: usize, longest: usize) -> Self {
        let (shape, panel) = (weights.shape, weights.level.panel());
        let (wide, size) = (shape.hidden, shape.hidden / shape.heads);
        let across = longest.next_multiple_of(panel);
        let score_rows = SCORE_ROWS.min(longest);
        let room = |size| vec![0.0; size];
        Self {
            rows: 0..0,
            hidden: room(rows * wide),
            next: room(rows * wide),
            context: room(rows * wide),
            inner: room(rows * wide.min(shape.inner)),
            scores: room(score_rows * across),
            shares: room(score_rows),
            keys: room(across * size),
            values: room(longest * size.next_multiple_of(panel)),
        }
    }

    /// Begins with the embeddings of the tokens.
    fn embed(&mut self, weights: &Weights, sequences: &[&[u16]]) {
        let wide = weights.shape.hidden;
        let hidden = &mut self.hidden[..self.rows.len() * wide];
        let tokens = sequences.iter().flat_map(|ids| {
            [CLS]
                .into_iter()
                .chain(ids.iter().copied())
                .chain([SEP])
                .enumerate()
        });
        let rows = tokens.skip(self.rows.start).zip(hidden.chunks_exact_mut(wide));
        for ((position, token), to) in rows {
            weights.embed(token, position, to);
        }
        let norm = &weights.norm;
        normalise(weights.level, hidden, &weights.kind, &norm.weight, &norm.shift);
    }

    /// Makes query, key and value for the layer that comes next.
    fn join(&mut self, weights: &Weights, layer: Option<&Layer>, joined: &mut [f32]) {
        let Some(Layer { attention, .. }) = layer else {
            return;
        };
        let hidden = &self.hidden[..self.rows.len() * weights.shape.hidden];
        let product = linear(hidden, attention, Onto::Bias(&attention.bias));
        multiply(weights.level, product, joined, attention.columns);
    }

    /// Lets each row look at the rows of its sequence.
    fn look_around(&mut self, weights: &Weights, sequences: &[&[u16]], joined: &[f32]) {
        let stride = 3 * weights.shape.hidden;
        let mut start = 0;
        for ids in sequences {
            let all = start..start + length(ids);
            start = all.end;
            let own = all.start.max(self.rows.start)..all.end.min(self.rows.end);
            if !own.is_empty() {
                let seen = &joined[all.start * stride..all.end * stride];
                for head in 0..weights.shape.heads {
                    self.look(weights, head, seen, own.start - all.start, own.clone());
                }
            }
        }
    }

    /// What the rows `own` see of their sequence by one head; the first of them is row `first` of the sequence.
    fn look(&mut self, weights: &Weights, head: usize, seen: &[f32], first: usize, own: Range<usize>) {
        let (level, wide) = (weights.level, weights.shape.hidden);
        let (panel, size, stride) = (level.panel(), wide / weights.shape.heads, 3 * wide);
        let many = seen.len() / stride;
        let across = many.next_multiple_of(panel);
        let [asked, keys, values] = [0, 1, 2].map(|part| part * wide + head * size);
        pack_keys(
            &seen[keys..],
            stride,
            size,
            panel,
            &mut self.keys[..across * size],
        );
        pack_values(&seen[values..], stride, size, panel, many, &mut self.values);
        for row in own.clone().step_by(SCORE_ROWS) {
            let rows = SCORE_ROWS.min(own.end - row);
            let scores = &mut self.scores[..rows * across];
            let asking = &seen[(first + row - own.start) * stride + asked..];
            let product = Product {
                left: Rows {
                    values: asking,
                    stride,
                },
                rows,
                depth: size,
                packed: &self.keys,
                columns: across,
                onto: Onto::Zero,
            };
            multiply(level, product, scores, across);
            raise(
                level,
                scores,
                across,
                many,
                1.0 / (size as f32).sqrt(),
                &mut self.shares,
            );
            let product = Product {
                left: Rows {
                    values: scores,
                    stride: across,
                },
                rows,
                depth: many,
                packed: &self.values,
                columns: size,
                onto: Onto::Zero,
            };
            let context = &mut self.context[(row - self.rows.start) * wide + head * size..];
            multiply(level, product, context, wide);
            for (context, share) in context.chunks_mut(wide).zip(&self.shares).take(rows) {
                context[..size].iter_mut().for_each(|value| *value *= share);
            }
        }
    }

    /// Adds what each row saw; then widens it, bends it and narrows it again, a block of the inner width at a time,
    /// and adds that too.
    fn settle(&mut self, weights: &Weights, layer: &Layer) {
        let (level, wide) = (weights.level, weights.shape.hidden);
        let rows = self.rows.len();
        let (hidden, next) = (&mut self.hidden[..rows * wide], &mut self.next[..rows * wide]);
        let seen = linear(&self.context[..rows * wide], &layer.output, Onto::Held);
        multiply(level, seen, hidden, wide);
        let norm = &layer.output_norm;
        normalise(level, hidden, &layer.output.bias, &norm.weight, &norm.shift);
        next.copy_from_slice(hidden);
        for [first, second] in &layer.blocks {
            let inner = &mut self.inner[..rows * first.columns];
            let widened = linear(hidden, first, Onto::Bias(&first.bias));
            multiply(level, widened, inner, first.columns);
            gelu(level, inner);
            multiply(level, linear(inner, second, Onto::Held), next, wide);
        }
        let norm = &layer.last_norm;
        normalise(level, next, &layer.last_bias, &norm.weight, &norm.shift);
        std::mem::swap(&mut self.hidden, &mut self.next);
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

/// The mean of rows, at length one.
fn mean<'a>(rows: impl Iterator<Item = &'a [f32]>, wide: usize) -> Vec<f32> {
    let mut sums = vec![0.0f32; wide];
    for row in rows {
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
