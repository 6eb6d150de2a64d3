//! Checks a history: the batches in the order of their sequence numbers explain every read and the end.

use crate::content::{ModelledContent, find_difference};
use crate::history::{BatchEntry, BatchFate, COLLECTIONS, CollectionBase, HistoryBook, ReadEntry};

/// The states that a collection went through: the sequence number of each, and its content.
type CollectionStates = Vec<(u64, ModelledContent)>;

/// Checks everything that happened in one life; `found` is what each collection holds at its end, `None` for one that
/// does not exist. The book then begins a new life with it.
pub(crate) fn check_life(book: &mut HistoryBook, found: [Option<ModelledContent>; COLLECTIONS.len()]) {
    let mut wrong = Vec::new();
    for (collection, found) in found.into_iter().enumerate() {
        let base = &book.bases[collection];
        let batches = book.batches.iter().filter(|batch| batch.collection == collection);
        let applied = order_batches(batches, &mut wrong);
        let states = replay_batches(base, &applied);
        let reads = book.reads.iter().filter(|read| read.collection == collection);
        for read in reads {
            wrong.extend(check_read(read, &applied, &states).map(|why| {
                format!(
                    "{} of {} at {}: {why}",
                    read.through, COLLECTIONS[collection], read.seq
                )
            }));
        }
        let (seq, last) = states.last().expect("there is the state at the beginning");
        let difference = match &found {
            Some(found) => last.find_difference(found),
            None if base.exists => Some("it does not exist".to_owned()),
            None => None,
        };
        wrong.extend(difference.map(|why| {
            format!(
                "at the end {} is not as it was told: {why}",
                COLLECTIONS[collection]
            )
        }));
        book.bases[collection] = CollectionBase {
            exists: found.is_some(),
            seq: *seq,
            content: found.unwrap_or_default(),
        };
    }
    book.violations.extend(wrong);
    book.batches.clear();
    book.reads.clear();
}

/// The applied batches in the order of their sequence numbers, which must agree with the order in time.
fn order_batches<'a>(
    batches: impl Iterator<Item = &'a BatchEntry>,
    wrong: &mut Vec<String>,
) -> Vec<(u64, &'a BatchEntry)> {
    let mut applied: Vec<(u64, &BatchEntry)> = batches
        .filter_map(|batch| match batch.fate {
            BatchFate::Applied(seq) => Some((seq, batch)),
            _ => None,
        })
        .collect();
    applied.sort_by_key(|(seq, _)| *seq);
    for (at, (seq, batch)) in applied.iter().enumerate() {
        let earlier = &applied[..at];
        if earlier.last().is_some_and(|(before, _)| before == seq) {
            wrong.push(format!("two batches have the number {seq}"));
        }
        // A batch that was acknowledged before another began comes before it.
        let later = &applied[at + 1..];
        if later
            .iter()
            .any(|(_, other)| other.acknowledged.is_some_and(|end| end < batch.began))
        {
            wrong.push(format!(
                "batch {} at {seq} began after a later one had ended",
                batch.number
            ));
        }
    }
    applied
}

fn replay_batches(base: &CollectionBase, applied: &[(u64, &BatchEntry)]) -> CollectionStates {
    let mut content = base.content.clone();
    let mut states = vec![(base.seq, content.clone())];
    for (seq, batch) in applied {
        content.apply_batch(&batch.writes);
        content.stamps.extend(batch.stamp.clone());
        states.push((*seq, content.clone()));
    }
    states
}

/// A read must equal the state at its sequence number, and that must be neither too old nor from the future.
fn check_read(read: &ReadEntry, applied: &[(u64, &BatchEntry)], states: &CollectionStates) -> Option<String> {
    let done_before = applied
        .iter()
        .filter(|(_, batch)| batch.acknowledged.is_some_and(|end| end < read.began));
    if let Some((seq, batch)) = done_before.max_by_key(|(seq, _)| *seq)
        && *seq > read.seq
    {
        return Some(format!(
            "batch {} at {seq} was acknowledged before it began",
            batch.number
        ));
    }
    let begun_after = applied
        .iter()
        .find(|(seq, batch)| *seq <= read.seq && batch.began > read.ended);
    if let Some((seq, batch)) = begun_after {
        return Some(format!("batch {} at {seq} began after it ended", batch.number));
    }
    let (_, state) = states
        .iter()
        .rev()
        .find(|(seq, _)| *seq <= read.seq)
        .or(states.first())?;
    find_difference(&state.drawers, &read.drawers)
}
