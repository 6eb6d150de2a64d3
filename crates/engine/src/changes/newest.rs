//! Finds the newest changes in a feed that can only be read forwards.
//!
//! Sequence numbers have gaps, because only the newest change of a drawer is kept, so the number of changes in a window
//! is not known beforehand. Windows grow until one holds enough, and shrink if it holds far too many.

use loci_core::{ChangePage, Cursor, DrawerChange, Result};

/// The newest changes up to a point, oldest first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NewestChanges {
    pub(super) changes: Vec<DrawerChange>,
    pub(super) has_earlier: bool,
}

/// How many changes a window holds.
enum WindowContent {
    TooFew(Vec<DrawerChange>),
    Enough(Vec<DrawerChange>),
    TooMany,
}

/// The factor by which a window may hold more than is wanted, and by which windows grow.
const SPARE: usize = 4;

/// Returns the newest `limit` changes with numbers up to `end`, and with later ones if the feed `is_open` at its end, as
/// it is if nothing newer was seen yet. Reads at most a few times as many changes as it returns.
pub(super) fn find_newest(
    end: u64,
    limit: usize,
    is_open: bool,
    changes_since: &mut dyn FnMut(Cursor, usize) -> Result<ChangePage>,
) -> Result<NewestChanges> {
    let mut look = |window: u64| -> Result<WindowContent> {
        // One more than fits, so that a window with too many is told from one that is just full.
        let most = limit.saturating_mul(SPARE);
        let page = changes_since(Cursor(end.saturating_sub(window)), most.saturating_add(1))?;
        let mut changes = page.changes;
        let is_cut = changes.len() > most;
        changes.retain(|change| is_open || change.seq <= end);
        Ok(match changes.len() {
            few if few < limit => WindowContent::TooFew(changes),
            many if many > most || is_cut && is_open => WindowContent::TooMany,
            _ => WindowContent::Enough(changes),
        })
    };
    // Windows of at most `few` numbers hold too few changes, those of `many` numbers too many.
    let (mut few, mut many) = (0, None);
    let mut window = (limit as u64).max(1);
    loop {
        match look(window)? {
            WindowContent::Enough(changes) => return Ok(keep_last(changes, limit, window < end)),
            WindowContent::TooFew(changes) if window >= end => return Ok(keep_last(changes, limit, false)),
            // Nothing between the two: changes moved meanwhile. Those in the smaller window follow each other.
            WindowContent::TooFew(changes) if many.is_some_and(|many| many <= window + 1) => {
                return Ok(keep_last(changes, limit, true));
            }
            // More came meanwhile than a page holds; whoever follows the feed from `end` sees them.
            WindowContent::TooMany if window <= few => return Ok(keep_last(Vec::new(), limit, true)),
            WindowContent::TooFew(_) => few = window,
            WindowContent::TooMany => many = Some(window),
        }
        window = match many {
            Some(many) if many <= few + 1 => few,
            Some(many) => few + (many - few) / 2,
            None => window.saturating_mul(SPARE as u64).min(end),
        };
    }
}

fn keep_last(mut changes: Vec<DrawerChange>, limit: usize, goes_on: bool) -> NewestChanges {
    let spare = changes.len().saturating_sub(limit);
    let changes = changes.split_off(spare);
    NewestChanges {
        changes,
        has_earlier: spare > 0 || goes_on,
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{ChangeKind, CollectionName, DrawerId};

    use super::*;

    /// A feed with these sequence numbers, and the number of changes that were read from it.
    fn newest_of(seqs: &[u64], end: u64, limit: usize, is_open: bool) -> (Vec<u64>, bool, usize) {
        let (mut read, mut reads) = (0, 0);
        let found = find_newest(end, limit, is_open, &mut |since, limit| {
            reads += 1;
            assert!(reads < 200, "it ends");
            let after = seqs.iter().filter(|seq| **seq > since.0).take(limit);
            let changes: Vec<DrawerChange> = after
                .map(|seq| DrawerChange {
                    seq: *seq,
                    op: ChangeKind::Put,
                    id: DrawerId::new(format!("d{seq}")).unwrap(),
                    collection: CollectionName::new("drawers").unwrap(),
                })
                .collect();
            read += changes.len();
            let next = changes.last().map_or(since, |change| Cursor(change.seq));
            Ok(ChangePage { changes, next })
        })
        .unwrap();
        let found_seqs = found.changes.iter().map(|change| change.seq).collect();
        (found_seqs, found.has_earlier, read)
    }

    #[track_caller]
    fn check(seqs: &[u64], end: u64, limit: usize) {
        let (found, has_earlier, read) = newest_of(seqs, end, limit, false);
        let until: Vec<u64> = seqs.iter().copied().filter(|seq| *seq <= end).collect();
        let expect = &until[until.len().saturating_sub(limit)..];
        assert_eq!(found, expect, "{} changes up to {end}", seqs.len());
        // Whether there are earlier ones may be said too often, never too seldom.
        assert!(has_earlier || until.len() == found.len());
        assert!(read <= 60 * (SPARE * limit + 1), "{read} read for {limit}");
    }

    #[test]
    fn the_newest_changes_are_found_wherever_the_gaps_are() {
        check(&[], 0, 5);
        check(&[], 900, 5);
        check(&[7], 7, 5);
        check(&[7], 1_000_000, 5);
        let dense: Vec<u64> = (1..=10_000).collect();
        check(&dense, 10_000, 50);
        check(&dense, 4_321, 50);
        let sparse: Vec<u64> = (1..=100).map(|n| n * 1_000_003).collect();
        check(&sparse, 100_000_300, 50);
        // A few at the end, a gap, and very many before it: the window that reaches them holds far too many.
        let mut uneven: Vec<u64> = (1..=30_000).collect();
        uneven.extend([900_001, 900_005]);
        check(&uneven, 900_005, 50);
        check(&uneven, 30_000, 50);
        check(&uneven, 900_004, 1);
    }

    #[test]
    fn changes_that_come_while_it_looks_are_part_of_the_newest_page_and_of_no_earlier_one() {
        let seqs: Vec<u64> = (1..=20).collect();
        assert_eq!(newest_of(&seqs, 18, 3, true).0, [18, 19, 20]);
        assert_eq!(newest_of(&seqs, 18, 3, false).0, [16, 17, 18]);
    }
}
