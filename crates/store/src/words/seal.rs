//! Sealing the newest words into segments, and merging many small or worn segments into few large ones.

use loci_core::{DrawerFields, Result};
use loci_index::postings::{PostingsWriter, SealedPostings, WordBag};
use loci_index::rows::RowSet;
use loci_index::tokenise::TextIndexer;
use rusqlite::{Connection, Transaction, params};

use super::{BLOCK_BITS, WordSegment, WordSegmentEntry, block_number, list_gone, list_word_segments};
use crate::failure::sqlite_error;
use crate::row;

/// The number of drawers sealed at once; queries read fewer than this many row by row.
const SEAL: usize = 2048;

/// The most bytes of words sealed at once.
const SEAL_BYTES: usize = 32 << 20;

/// The most drawers in a merged segment. Larger ones would save few lookups and make the merging writer wait.
const LARGE: i64 = 16_384;

/// A segment with fewer drawers than this is merged with others.
const SMALL: i64 = LARGE / 2;

/// Up to this many small segments are left alone.
const FEW: usize = 7;

/// Seals the newest words while they fill a segment. Merging small segments is left to the caller, who asks
/// [`merge_is_due`]: it belongs in a separate transaction, since a damaged page met on the way ends the transaction.
pub(crate) fn seal_full(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    let mut unsealed = count_new(transaction, projection)?;
    while unsealed >= SEAL {
        unsealed -= seal_next(transaction, projection)?;
        crate::crash::point("words-sealed");
    }
    Ok(())
}

/// Counts the drawers that are not in a segment, or returns zero if they are surely too few to seal.
fn count_new(connection: &Connection, projection: i64) -> Result<usize> {
    // Every write asks this, and `count(*)` walks the whole tail. Row numbers are never reused, so there cannot
    // be more drawers than numbers between the first and the last, which two lookups tell.
    let span: Option<i64> = connection
        .prepare_cached(&format!(
            "SELECT (SELECT max(row) FROM words_{projection}_tail) - (SELECT min(row) FROM words_{projection}_tail)"
        ))
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(sqlite_error)?;
    if span.is_none_or(|span| span + 1 < SEAL as i64) {
        return Ok(0);
    }
    let counted: i64 = connection
        .prepare_cached(&format!("SELECT count(*) FROM words_{projection}_tail"))
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(sqlite_error)?;
    Ok(usize::try_from(counted).unwrap_or(0))
}

/// Seals the oldest words that are not in a segment; returns the number of drawers.
fn seal_next(transaction: &Transaction<'_>, projection: i64) -> Result<usize> {
    let mut writer = PostingsWriter::default();
    let mut indexer = TextIndexer::default();
    let (mut taken, mut bytes, mut last) = (0, 0, i64::MIN);
    {
        // A separate block: the walk must have ended before its rows are deleted.
        let mut statement = transaction
            .prepare_cached(&format!(
                "SELECT row, words FROM words_{projection}_tail ORDER BY row LIMIT ?1"
            ))
            .map_err(sqlite_error)?;
        let mut found = statement.query([SEAL as i64]).map_err(sqlite_error)?;
        while bytes < SEAL_BYTES
            && let Some(entry) = found.next().map_err(sqlite_error)?
        {
            last = entry.get(0).map_err(sqlite_error)?;
            let words = entry
                .get_ref(1)
                .map_err(sqlite_error)?
                .as_blob()
                .unwrap_or_default();
            add_sound(transaction, &mut writer, &mut indexer, last, words)?;
            taken += 1;
            bytes += words.len();
        }
    }
    transaction
        .prepare_cached(&format!("DELETE FROM words_{projection}_tail WHERE row <= ?1"))
        .and_then(|mut statement| statement.execute([last]))
        .map_err(sqlite_error)?;
    store_segment(transaction, projection, writer)?;
    Ok(taken)
}

/// Adds the words of a drawer; if they are damaged, the words of its row instead.
fn add_sound(
    connection: &Connection,
    writer: &mut PostingsWriter,
    indexer: &mut TextIndexer,
    row: i64,
    words: &[u8],
) -> Result<()> {
    if WordBag::new(words).for_each_term(|_, _| {}).is_ok() {
        return writer.add_drawer(row, WordBag::new(words));
    }
    let include = DrawerFields {
        document: true,
        context: true,
        ..DrawerFields::NOTHING
    };
    // A damaged entry must not be sealed: the segment would be unreadable as a whole. The row is the truth.
    match row::load_by_row(connection, row, include)? {
        Some(stored) => writer.add_drawer(row, WordBag::new(&super::pack_words(indexer, &stored.drawer))),
        None => Ok(()),
    }
}

/// Stores a new segment under the highest number, unless it is empty.
fn store_segment(transaction: &Transaction<'_>, projection: i64, writer: PostingsWriter) -> Result<()> {
    let Some(sealed) = writer.seal_segment() else {
        return Ok(());
    };
    let number: i64 = transaction
        .prepare_cached(&format!(
            "SELECT coalesce(max(segment), 0) + 1 FROM words_{projection}_segments"
        ))
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(sqlite_error)?;
    store_head(transaction, projection, number, &sealed)?;
    let mut statement = transaction
        .prepare_cached(&format!(
            "INSERT INTO words_{projection}(block, data) VALUES (?1, ?2)"
        ))
        .map_err(sqlite_error)?;
    for (place, block) in sealed.blocks.iter().enumerate() {
        statement
            .execute(params![block_number(number, place)?, block])
            .map_err(sqlite_error)?;
    }
    Ok(())
}

fn store_head(
    transaction: &Transaction<'_>,
    projection: i64,
    number: i64,
    sealed: &SealedPostings,
) -> Result<()> {
    transaction
        .prepare_cached(&format!(
            "INSERT INTO words_{projection}_segments(segment, first, last, drawers, lengths, terms, rows)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        ))
        .and_then(|mut statement| {
            statement.execute(params![
                number,
                sealed.first,
                sealed.last,
                sealed.drawers as i64,
                sealed.lengths,
                sealed.directory,
                sealed.rows
            ])
        })
        .map(drop)
        .map_err(sqlite_error)
}

/// Returns whether there are so many small segments that some must be merged.
pub(crate) fn merge_is_due(connection: &Connection, projection: i64) -> Result<bool> {
    Ok(!mergeable_segments(&list_word_segments(connection, projection)?).is_empty())
}

/// Merges as many small segments as fit into a large one, while there are many.
pub(crate) fn merge_small(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    loop {
        let entries = list_word_segments(transaction, projection)?;
        let group = mergeable_segments(&entries);
        if group.is_empty() {
            return Ok(());
        }
        replace_segments(transaction, projection, group)?;
        crate::crash::point("words-merged");
    }
}

/// Returns the segments to merge next, if there are many small ones after the last large one.
fn mergeable_segments(entries: &[WordSegmentEntry]) -> &[WordSegmentEntry] {
    // Only neighbours may be merged, since segments must not overlap. A small segment between large ones is
    // left to `compact`.
    let large = entries.iter().rposition(|entry| entry.drawers >= SMALL);
    let small = entries.get(large.map_or(0, |at| at + 1)..).unwrap_or_default();
    if small.len() <= FEW {
        return &[];
    }
    let mut drawers = 0;
    let fitting = small.iter().take_while(|entry| {
        drawers += entry.drawers;
        drawers <= LARGE
    });
    small.get(..fitting.count()).unwrap_or_default()
}

/// Writes the live drawers of some adjacent segments into one new segment.
fn replace_segments(transaction: &Transaction<'_>, projection: i64, old: &[WordSegmentEntry]) -> Result<()> {
    let (Some(first), Some(last)) = (old.first(), old.last()) else {
        return Ok(());
    };
    let live = RowSet::from_rows(list_gone(transaction, projection)?).not();
    let mut writer = PostingsWriter::default();
    for entry in old {
        let segment = WordSegment::read(transaction, projection, entry)?;
        let numbers =
            writer.add_drawers(&segment.rows, &segment.lengths, &live.mark_members(&segment.rows))?;
        segment.each_block(transaction, projection, |_, block| {
            writer.add_block(block, &numbers)
        })?;
    }
    for entry in old {
        remove_segment(transaction, projection, entry.segment)?;
    }
    transaction
        .prepare_cached(&format!(
            "DELETE FROM words_{projection}_gone WHERE row BETWEEN ?1 AND ?2"
        ))
        .and_then(|mut statement| statement.execute([first.first, last.last]))
        .map_err(sqlite_error)?;
    store_segment(transaction, projection, writer)
}

fn remove_segment(transaction: &Transaction<'_>, projection: i64, segment: i64) -> Result<()> {
    transaction
        .prepare_cached(&format!(
            "DELETE FROM words_{projection}_segments WHERE segment = ?1"
        ))
        .and_then(|mut statement| statement.execute([segment]))
        .map_err(sqlite_error)?;
    let first = block_number(segment, 0)?;
    transaction
        .prepare_cached(&format!(
            "DELETE FROM words_{projection} WHERE block BETWEEN ?1 AND ?2"
        ))
        .and_then(|mut statement| statement.execute([first, first + (1 << BLOCK_BITS) - 1]))
        .map(drop)
        .map_err(sqlite_error)
}

/// Counts the gone rows that are still in segments.
pub(crate) fn count_gone(connection: &Connection, projection: i64) -> Result<i64> {
    connection
        .query_row(
            &format!("SELECT count(*) FROM words_{projection}_gone"),
            [],
            |row| row.get(0),
        )
        .map_err(sqlite_error)
}

/// Rewrites the next segment after the row `from` that holds gone rows or is small, together with the following ones
/// that fit into one; returns how many were rewritten and the last row they cover, or `None` at the end.
pub(crate) fn rewrite_next(
    transaction: &Transaction<'_>,
    projection: i64,
    from: i64,
) -> Result<Option<(usize, i64)>> {
    let gone = list_gone(transaction, projection)?;
    let entries = list_word_segments(transaction, projection)?;
    let later = entries.iter().filter(|entry| entry.first > from);
    let worn = |entry: &WordSegmentEntry| gone.iter().any(|row| (entry.first..=entry.last).contains(row));
    let mut group: Vec<WordSegmentEntry> = Vec::new();
    let mut drawers = 0;
    for entry in later {
        if !group.is_empty() && drawers + entry.drawers > LARGE {
            // A lone full segment without gone rows gains nothing from rewriting: drop it and start behind it.
            if group.len() > 1 || group.iter().any(worn) {
                break;
            }
            (group, drawers) = (Vec::new(), 0);
        }
        group.push(*entry);
        drawers += entry.drawers;
    }
    let Some(last) = group.last().map(|entry| entry.last) else {
        return Ok(None);
    };
    if group.len() < 2 && !group.iter().any(worn) {
        return Ok(None);
    }
    replace_segments(transaction, projection, &group)?;
    Ok(Some((group.len(), last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    /// Files the words of this many drawers after `first`, each with one word of its own and one that all hold.
    fn file(transaction: &Transaction<'_>, first: i64, drawers: i64) {
        for row in first..first + drawers {
            let bag = WordBag::pack_tokens(&format!("all zq{row}"));
            words::insert(transaction, 1, row, &bag).unwrap();
        }
        seal_full(transaction, 1).unwrap();
    }

    fn sizes(connection: &Connection) -> Vec<i64> {
        let entries = list_word_segments(connection, 1).unwrap();
        entries.iter().map(|entry| entry.drawers).collect()
    }

    /// The rows that hold a term, in the segment that reaches `row`.
    fn holding(connection: &Connection, row: i64, term: &str) -> Vec<i64> {
        let entries = list_word_segments(connection, 1).unwrap();
        let entry = entries
            .iter()
            .find(|entry| (entry.first..=entry.last).contains(&row));
        let segment = WordSegment::read(connection, 1, entry.unwrap()).unwrap();
        let mut found = Vec::new();
        let look = |_: &[u8], block: loci_index::postings::TermBlock<'_>| {
            let list = block.find_term(term.as_bytes())?.unwrap_or_default();
            list.for_each_drawer(|drawer, _| found.push(segment.rows[drawer as usize]))
        };
        segment.each_block(connection, 1, look).unwrap();
        found
    }

    #[test]
    fn small_segments_become_large_ones_without_what_is_gone() {
        let mut connection = Connection::open_in_memory().unwrap();
        let transaction = connection.transaction().unwrap();
        words::create_tables(&transaction, 1).unwrap();
        file(&transaction, 1, 7 * 2048 + 100);
        assert_eq!(sizes(&transaction), [2048; 7]);
        assert!(!merge_is_due(&transaction, 1).unwrap(), "few are left alone");
        for row in [1, 2, 5000, 14_400] {
            words::delete(&transaction, 1, row).unwrap();
        }
        assert_eq!(
            list_gone(&transaction, 1).unwrap(),
            [1, 2, 5000],
            "one was not sealed yet"
        );
        let before = words::indexed_rows(&transaction, 1).unwrap();
        assert_eq!(before.len(), 7 * 2048 + 96);
        file(&transaction, 20_000, 2048);
        assert!(merge_is_due(&transaction, 1).unwrap());
        merge_small(&transaction, 1).unwrap();
        assert_eq!(sizes(&transaction), [8 * 2048 - 3]);
        assert!(list_gone(&transaction, 1).unwrap().is_empty() && !merge_is_due(&transaction, 1).unwrap());
        let rows = words::indexed_rows(&transaction, 1).unwrap();
        let new: Vec<i64> = (20_000..22_048).collect();
        assert_eq!(rows, [before, new].concat());
        assert_eq!(holding(&transaction, 4999, "zq4999"), [4999]);
        assert_eq!(holding(&transaction, 4999, "zq5000"), Vec::<i64>::new());
        assert_eq!(holding(&transaction, 4999, "all").len(), 8 * 2048 - 3);
    }

    #[test]
    fn what_one_transaction_files_is_put_together_in_parts_that_fit() {
        let mut connection = Connection::open_in_memory().unwrap();
        let transaction = connection.transaction().unwrap();
        words::create_tables(&transaction, 1).unwrap();
        file(&transaction, 1, 18 * 2048);
        merge_small(&transaction, 1).unwrap();
        assert_eq!(sizes(&transaction), [16_384, 16_384, 2048, 2048]);
        words::delete(&transaction, 1, 17_000).unwrap();
        let mut from = i64::MIN;
        while let Some((_, last)) = rewrite_next(&transaction, 1, from).unwrap() {
            from = last;
        }
        assert_eq!(
            sizes(&transaction),
            [16_384, 16_383, 4096],
            "compacting takes what is worn or small"
        );
        assert_eq!(
            rewrite_next(&transaction, 1, i64::MIN).unwrap(),
            None,
            "and nothing twice"
        );
        assert_eq!(words::count_covered(&transaction, 1).unwrap(), 18 * 2048 - 1);
    }
}
