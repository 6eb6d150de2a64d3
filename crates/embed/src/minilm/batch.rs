//! Batches of texts: long ones are cut into windows, windows gathered into runs, runs spread over the cores.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use super::forward::{self, ForwardBuffers, sequence_length};
use super::weights::ModelWeights;
use super::{WINDOW, cores};

/// The most tokens in a run, special ones included; a window always fits.
const RUN: usize = 512;

/// The smallest run, in tokens, that is split off only to give each core one.
const RUN_MIN: usize = 96;

/// The fewest rows for which a core shares a run: it has to read all the weights for them.
const SHARE_MIN: usize = 32;

/// Returns one vector per text, in order; a text is its tokens without special ones.
pub(super) fn embed_texts(weights: &ModelWeights, texts: &[&[u16]], threads: usize) -> Vec<Vec<f32>> {
    let windows: Vec<&[u16]> = texts.iter().flat_map(|ids| split_windows(ids)).collect();
    let mut vectors = embed_windows(weights, &windows, threads).into_iter();
    let joined = texts.iter().map(|ids| average_windows(ids, &mut vectors));
    joined.collect()
}

/// Cuts tokens into as few windows as possible, whose sizes differ by at most one token.
fn split_windows(ids: &[u16]) -> impl Iterator<Item = &[u16]> {
    // Even windows, and not full ones with a remainder: a last window of three tokens would make a poor
    // vector. An empty text still gets one window, its two special tokens.
    let parts = ids.len().div_ceil(WINDOW).max(1);
    (0..parts).map(move |part| {
        let (start, end) = (ids.len() * part / parts, ids.len() * (part + 1) / parts);
        ids.get(start..end).unwrap_or_default()
    })
}

/// Takes the vectors of a text's windows and returns their mean, weighted by tokens.
fn average_windows(ids: &[u16], vectors: &mut impl Iterator<Item = Vec<f32>>) -> Vec<f32> {
    let mut windows = split_windows(ids).zip(vectors);
    let Some((first, mut sum)) = windows.next() else {
        return Vec::new();
    };
    // The usual text fits one window and needs no averaging, whose rounding would change it.
    if first.len() == ids.len() {
        return sum;
    }
    sum.iter_mut().for_each(|value| *value *= first.len() as f32);
    for (window, vector) in windows {
        for (sum, value) in sum.iter_mut().zip(vector) {
            *sum += value * window.len() as f32;
        }
    }
    forward::scale_to_unit(&mut sum);
    sum
}

/// Returns one vector per window, in order.
fn embed_windows(weights: &ModelWeights, windows: &[&[u16]], threads: usize) -> Vec<Vec<f32>> {
    let runs = gather_runs(windows, threads);
    let done = Mutex::new(Vec::with_capacity(windows.len()));
    let begin = || make_buffers(weights, &runs, windows, threads);
    cores::spread_work(threads.min(runs.len()), runs.iter(), begin, |space, run| {
        let taken: Vec<&[u16]> = run.iter().filter_map(|at| windows.get(*at).copied()).collect();
        let vectors = forward::run_model(weights, &taken, space);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.extend(run.iter().copied().zip(vectors));
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Runs finish in any order and hold windows sorted by length; the index brings back the order of the
    // texts.
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, vector)| vector).collect()
}

/// Gathers windows into runs, the longest first, so that each core gets one if there is enough work.
fn gather_runs(windows: &[&[u16]], threads: usize) -> Vec<Vec<usize>> {
    let total = windows.iter().map(|ids| sequence_length(ids)).sum::<usize>();
    let most = total.div_ceil(threads.max(1)).clamp(RUN_MIN, RUN);
    let mut order: Vec<(usize, usize)> = windows
        .iter()
        .map(|ids| sequence_length(ids))
        .enumerate()
        .collect();
    // Long runs first, so that the last core is not left alone with a long one at the end.
    order.sort_by_key(|(_, length)| Reverse(*length));
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut held = 0;
    for (at, length) in order {
        match runs.last_mut() {
            Some(run) if held + length <= most => run.push(at),
            _ => {
                runs.push(vec![at]);
                held = 0;
            }
        }
        held += length;
    }
    runs
}

/// Creates buffers for the largest of the runs; if there are fewer runs than cores, several cores share one.
fn make_buffers(
    weights: &ModelWeights,
    runs: &[Vec<usize>],
    windows: &[&[u16]],
    threads: usize,
) -> ForwardBuffers {
    let lengths = |run: &Vec<usize>| -> usize {
        let windows = run.iter().filter_map(|at| windows.get(*at));
        windows.map(|ids| sequence_length(ids)).sum()
    };
    let tokens = runs.iter().map(lengths).max().unwrap_or(0);
    let longest = windows.iter().map(|ids| sequence_length(ids)).max().unwrap_or(0);
    let cores = (threads / runs.len().max(1)).min(tokens / SHARE_MIN).max(1);
    ForwardBuffers::new(weights, tokens, longest, cores)
}

/// Returns the memory a core uses for its runs over these texts, in bytes.
#[cfg(test)]
pub(super) fn largest(weights: &ModelWeights, texts: &[&[u16]], threads: usize) -> usize {
    let windows: Vec<&[u16]> = texts.iter().flat_map(|ids| split_windows(ids)).collect();
    make_buffers(weights, &gather_runs(&windows, threads), &windows, threads).bytes()
}
