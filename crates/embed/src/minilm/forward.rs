//! The forward pass: from tokens to one vector per sequence, without padding.
//!
//! The rows of all sequences of a run form one matrix, so that each weight matrix is read once for all of them;
//! only attention treats each sequence alone. A run may be shared by several cores, each with a part of the rows.
#![allow(
    clippy::indexing_slicing,
    reason = "slices of buffers that are sized for the run at its head"
)]

use std::ops::Range;

use super::cores;
use super::kernel::{MatrixProduct, MatrixRows, ProductAddend, gelu, multiply, normalise, raise};
use super::weights::{EncoderLayer, ModelWeights, PackedLinear};
use crate::wordpiece::{CLS, SEP};

/// The number of score rows held at once.
const SCORE_ROWS: usize = 48;

/// The buffers of runs, sized once for the largest of them.
#[derive(Debug)]
pub(super) struct ForwardBuffers {
    /// Query, key and value of every row.
    joined: Vec<f32>,
    parts: Vec<ForwardPart>,
}

/// The buffers of one core for its rows.
#[derive(Debug)]
struct ForwardPart {
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

impl ForwardBuffers {
    /// Allocates buffers for runs of at most `tokens` tokens in sequences of at most `longest`, shared by `cores`.
    pub(super) fn new(weights: &ModelWeights, tokens: usize, longest: usize, cores: usize) -> Self {
        let rows = tokens.div_ceil(cores);
        Self {
            joined: vec![0.0; tokens * weights.shape.hidden * 3],
            parts: (0..cores)
                .map(|_| ForwardPart::new(weights, rows, longest))
                .collect(),
        }
    }

    /// Returns the size in bytes.
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

/// Returns the number of tokens of a sequence, special ones included.
pub(super) fn sequence_length(ids: &[u16]) -> usize {
    ids.len() + 2
}

/// Runs the model over sequences and returns the normalised mean of the last rows of each.
pub(super) fn run_model(
    weights: &ModelWeights,
    sequences: &[&[u16]],
    space: &mut ForwardBuffers,
) -> Vec<Vec<f32>> {
    let total: usize = sequences.iter().map(|ids| sequence_length(ids)).sum();
    let joined = &mut space.joined[..total * 3 * weights.shape.hidden];
    let parts = &mut space.parts;
    let many = parts.len();
    for (at, part) in parts.iter_mut().enumerate() {
        // Even shares of rows, whatever the sequences: only attention cares where one ends.
        part.rows = total * at / many..total * (at + 1) / many;
    }
    run_parts(with_rows(parts, joined, weights), |(part, joined)| {
        part.embed_tokens(weights, sequences);
        part.project_attention(weights, weights.layers.first(), joined);
    });
    for (at, layer) in weights.layers.iter().enumerate() {
        // Rows attend to rows of other parts, so all of these must be complete, and none may change meanwhile.
        run_parts(parts.iter_mut(), |part| {
            part.attend_sequences(weights, sequences, joined)
        });
        run_parts(with_rows(parts, joined, weights), |(part, joined)| {
            part.finish_layer(weights, layer);
            part.project_attention(weights, weights.layers.get(at + 1), joined);
        });
    }
    let wide = weights.shape.hidden;
    let mut rows = parts
        .iter()
        .flat_map(|part| part.hidden[..part.rows.len() * wide].chunks_exact(wide));
    let means = sequences
        .iter()
        .map(|ids| average_rows(rows.by_ref().take(sequence_length(ids)), wide));
    means.collect()
}

/// Pairs each part with its rows of the joined matrix.
fn with_rows<'a>(
    parts: &'a mut [ForwardPart],
    mut joined: &'a mut [f32],
    weights: &ModelWeights,
) -> impl ExactSizeIterator<Item = (&'a mut ForwardPart, &'a mut [f32])> + Send {
    let wide = 3 * weights.shape.hidden;
    parts.iter_mut().map(move |part| {
        let (own, rest) = std::mem::take(&mut joined).split_at_mut(part.rows.len() * wide);
        joined = rest;
        (part, own)
    })
}

/// Does the work for every part, each on a separate core.
fn run_parts<T: Send>(parts: impl ExactSizeIterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    cores::spread_work(parts.len(), parts, || (), |(), part| work(part));
}

/// Describes the product of whole rows with a packed matrix.
fn linear_product<'a>(left: &'a [f32], by: &'a PackedLinear, onto: ProductAddend<'a>) -> MatrixProduct<'a> {
    let (values, stride) = (left, by.depth);
    MatrixProduct {
        left: MatrixRows { values, stride },
        rows: left.len() / by.depth,
        depth: by.depth,
        packed: &by.packed,
        columns: by.columns,
        onto,
    }
}

impl ForwardPart {
    fn new(weights: &ModelWeights, rows: usize, longest: usize) -> Self {
        let (shape, panel) = (weights.shape, weights.level.panel_width());
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

    /// Fills the rows with the embeddings of the tokens.
    fn embed_tokens(&mut self, weights: &ModelWeights, sequences: &[&[u16]]) {
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
            weights.embed_token(token, position, to);
        }
        let norm = &weights.norm;
        normalise(weights.level, hidden, &weights.kind, &norm.weight, &norm.shift);
    }

    /// Computes query, key and value for the next layer.
    fn project_attention(
        &mut self,
        weights: &ModelWeights,
        layer: Option<&EncoderLayer>,
        joined: &mut [f32],
    ) {
        let Some(EncoderLayer { attention, .. }) = layer else {
            return;
        };
        let hidden = &self.hidden[..self.rows.len() * weights.shape.hidden];
        let product = linear_product(hidden, attention, ProductAddend::Bias(&attention.bias));
        multiply(weights.level, product, joined, attention.columns);
    }

    /// Computes attention of each row over the rows of its sequence.
    fn attend_sequences(&mut self, weights: &ModelWeights, sequences: &[&[u16]], joined: &[f32]) {
        let stride = 3 * weights.shape.hidden;
        let mut start = 0;
        for ids in sequences {
            let all = start..start + sequence_length(ids);
            start = all.end;
            let own = all.start.max(self.rows.start)..all.end.min(self.rows.end);
            if !own.is_empty() {
                let seen = &joined[all.start * stride..all.end * stride];
                for head in 0..weights.shape.heads {
                    self.attend_head(weights, head, seen, own.start - all.start, own.clone());
                }
            }
        }
    }

    /// Computes one head's attention for the rows `own`, the first of which is row `first` of its sequence.
    fn attend_head(
        &mut self,
        weights: &ModelWeights,
        head: usize,
        seen: &[f32],
        first: usize,
        own: Range<usize>,
    ) {
        let (level, wide) = (weights.level, weights.shape.hidden);
        let (panel, size, stride) = (level.panel_width(), wide / weights.shape.heads, 3 * wide);
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
        // In slices of rows: the scores of a whole window would not stay in the cache between the two
        // products.
        for row in own.clone().step_by(SCORE_ROWS) {
            let rows = SCORE_ROWS.min(own.end - row);
            let scores = &mut self.scores[..rows * across];
            let asking = &seen[(first + row - own.start) * stride + asked..];
            let product = MatrixProduct {
                left: MatrixRows {
                    values: asking,
                    stride,
                },
                rows,
                depth: size,
                packed: &self.keys,
                columns: across,
                onto: ProductAddend::Zero,
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
            let product = MatrixProduct {
                left: MatrixRows {
                    values: scores,
                    stride: across,
                },
                rows,
                depth: many,
                packed: &self.values,
                columns: size,
                onto: ProductAddend::Zero,
            };
            let context = &mut self.context[(row - self.rows.start) * wide + head * size..];
            multiply(level, product, context, wide);
            // Softmax divides here, on the short context rows, instead of on every score.
            for (context, share) in context.chunks_mut(wide).zip(&self.shares).take(rows) {
                context[..size].iter_mut().for_each(|value| *value *= share);
            }
        }
    }

    /// Adds the attention output to each row, then the feed-forward network (widen, GELU, narrow), one block of the
    /// inner width at a time.
    fn finish_layer(&mut self, weights: &ModelWeights, layer: &EncoderLayer) {
        let (level, wide) = (weights.level, weights.shape.hidden);
        let rows = self.rows.len();
        let (hidden, next) = (&mut self.hidden[..rows * wide], &mut self.next[..rows * wide]);
        let seen = linear_product(&self.context[..rows * wide], &layer.output, ProductAddend::Held);
        // Onto what is held: the residual connection costs no separate pass.
        multiply(level, seen, hidden, wide);
        let norm = &layer.output_norm;
        normalise(level, hidden, &layer.output.bias, &norm.weight, &norm.shift);
        // The residual of the feed-forward network, onto which every block below adds its part.
        next.copy_from_slice(hidden);
        for [first, second] in &layer.blocks {
            let inner = &mut self.inner[..rows * first.columns];
            let widened = linear_product(hidden, first, ProductAddend::Bias(&first.bias));
            multiply(level, widened, inner, first.columns);
            gelu(level, inner);
            multiply(
                level,
                linear_product(inner, second, ProductAddend::Held),
                next,
                wide,
            );
        }
        let norm = &layer.last_norm;
        normalise(level, next, &layer.last_bias, &norm.weight, &norm.shift);
        std::mem::swap(&mut self.hidden, &mut self.next);
    }
}

/// Packs keys as columns; the padding of the last panel may be anything, since its scores do not count.
fn pack_keys(from: &[f32], stride: usize, size: usize, panel: usize, to: &mut [f32]) {
    for (to, keys) in to.chunks_exact_mut(panel * size).zip(from.chunks(panel * stride)) {
        for (column, key) in keys.chunks(stride).enumerate() {
            for (to, value) in to.chunks_exact_mut(panel).zip(&key[..size]) {
                to[column] = *value;
            }
        }
    }
}

/// Packs values as rows.
fn pack_values(from: &[f32], stride: usize, size: usize, panel: usize, many: usize, to: &mut [f32]) {
    for (row, value) in from.chunks(stride).enumerate() {
        for (part, value) in value[..size].chunks(panel).enumerate() {
            let start = (part * many + row) * panel;
            to[start..start + value.len()].copy_from_slice(value);
        }
    }
}

/// Returns the normalised mean of rows.
fn average_rows<'a>(rows: impl Iterator<Item = &'a [f32]>, wide: usize) -> Vec<f32> {
    let mut sums = vec![0.0f32; wide];
    for row in rows {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    scale_to_unit(&mut sums);
    sums
}

/// Scales a vector to length one.
pub(super) fn scale_to_unit(vector: &mut [f32]) {
    // In `f64`, so that the length is one to the last bit of an `f32`.
    let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    if square > 0.0 {
        let scale = 1.0 / square.sqrt();
        for value in vector {
            *value = (f64::from(*value) * scale) as f32;
        }
    }
}
