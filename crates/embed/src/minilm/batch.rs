//! Many texts at once: long ones cut into windows, windows gathered into runs, runs spread over the cores.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use super::forward::{self, Space, length};
use super::weights::Weights;
use super::{WINDOW, cores};

/// How many tokens one run takes, special ones included; a window always fits.
const RUN: usize = 512;

/// Smaller runs than this are not made only to give each core one.
const RUN_MIN: usize = 96;

/// A core does not share a run for fewer rows than this: it would have to read all the weights for them.
const SHARE_MIN: usize = 32;

/// One vector for each text, in order; a text is its tokens without special ones.
pub(super) fn embed(weights: &Weights, texts: &[&[u16]], threads: usize) -> Vec<Vec<f32>> {
    let windows: Vec<&[u16]> = texts.iter().flat_map(|ids| windows(ids)).collect();
    let mut vectors = spread(weights, &windows, threads).into_iter();
    let joined = texts.iter().map(|ids| join(ids, &mut vectors));
    joined.collect()
}

/// Cuts tokens into as few windows as will do, all of one size but for one token.
fn windows(ids: &[u16]) -> impl Iterator<Item = &[u16]> {
    let parts = ids.len().div_ceil(WINDOW).max(1);
    (0..parts).map(move |part| {
        let (start, end) = (ids.len() * part / parts, ids.len() * (part + 1) / parts);
        ids.get(start..end).unwrap_or_default()
    })
}

/// Takes the vectors of a text's windows and gives their mean, weighed by how many tokens each had.
fn join(ids: &[u16], vectors: &mut impl Iterator<Item = Vec<f32>>) -> Vec<f32> {
    let mut windows = windows(ids).zip(vectors);
    let Some((first, mut sum)) = windows.next() else {
        return Vec::new();
    };
    if first.len() == ids.len() {
        return sum;
    }
    sum.iter_mut().for_each(|value| *value *= first.len() as f32);
    for (window, vector) in windows {
        for (sum, value) in sum.iter_mut().zip(vector) {
            *sum += value * window.len() as f32;
        }
    }
    forward::unit(&mut sum);
    sum
}

/// One vector for each window, in order.
fn spread(weights: &Weights, windows: &[&[u16]], threads: usize) -> Vec<Vec<f32>> {
    let runs = runs(windows, threads);
    let done = Mutex::new(Vec::with_capacity(windows.len()));
    let begin = || room(weights, &runs, windows, threads);
    cores::each(threads.min(runs.len()), runs.iter(), begin, |space, run| {
        let taken: Vec<&[u16]> = run.iter().filter_map(|at| windows.get(*at).copied()).collect();
        let vectors = forward::run(weights, &taken, space);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.extend(run.iter().copied().zip(vectors));
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, vector)| vector).collect()
}

/// Gathers windows, the longest first, into runs, so that each core has one where there is enough for that.
fn runs(windows: &[&[u16]], threads: usize) -> Vec<Vec<usize>> {
    let total = windows.iter().map(|ids| length(ids)).sum::<usize>();
    let most = total.div_ceil(threads.max(1)).clamp(RUN_MIN, RUN);
    let mut order: Vec<(usize, usize)> = windows.iter().map(|ids| length(ids)).enumerate().collect();
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

/// Room for the largest of the runs; where there are fewer runs than cores, several share one.
fn room(weights: &Weights, runs: &[Vec<usize>], windows: &[&[u16]], threads: usize) -> Space {
    let lengths = |run: &Vec<usize>| -> usize {
        let windows = run.iter().filter_map(|at| windows.get(*at));
        windows.map(|ids| length(ids)).sum()
    };
    let tokens = runs.iter().map(lengths).max().unwrap_or(0);
    let longest = windows.iter().map(|ids| length(ids)).max().unwrap_or(0);
    let cores = (threads / runs.len().max(1)).min(tokens / SHARE_MIN).max(1);
    Space::new(weights, tokens, longest, cores)
}

/// How many bytes a core holds for its runs over these texts.
#[cfg(test)]
pub(super) fn largest(weights: &Weights, texts: &[&[u16]], threads: usize) -> usize {
    let windows: Vec<&[u16]> = texts.iter().flat_map(|ids| windows(ids)).collect();
    room(weights, &runs(&windows, threads), &windows, threads).bytes()
}
