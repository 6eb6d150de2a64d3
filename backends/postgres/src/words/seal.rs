//! Sealing a tail that has grown past its limit, alone or together with the newest small segments.
//!
//! A write asks for the bags that are due in its first wait and stores the segment in its last one, so that sealing costs
//! no wait. Bags and not segments are merged: one way to make a segment is enough.

use loci_core::Result;
use loci_index::postings::{MOST_DRAWERS, PostingsWriter, WordBag};

use super::bags::WordBags;
use super::stored::store_segment;
use super::{BAG_COLUMNS, WordCounters, WordSealLimits};
use crate::statement::SqlStatement;

/// The most bytes of bags that are read at once; more than the limits allow in small segments, so that those are always
/// read whole.
const MOST_BYTES: i64 = 64 << 20;

/// Returns the question for the bags that the next write must seal: none unless the tail is due.
pub(crate) fn select_due(collection: i64, limits: WordSealLimits) -> SqlStatement {
    let due = "c.tail >= $2 OR c.tail_bytes >= $3";
    let merges = "c.small + c.tail >= $4 OR c.small_bytes + c.tail_bytes >= $5";
    // A question of its own, which is asked first: a join would read every bag of the collection before it knew that
    // none is due. No row has the greatest number.
    let from = format!(
        "(SELECT CASE WHEN NOT ({due}) THEN 9223372036854775807 WHEN {merges} THEN c.merged ELSE c.sealed END
            FROM loci.collections c WHERE c.collection = $1)"
    );
    SqlStatement::new(format!(
        "SELECT {BAG_COLUMNS} FROM (
            SELECT b.\"row\", b.words, sum(octet_length(b.words)) OVER (ORDER BY b.\"row\") AS bytes
            FROM loci.bags b WHERE b.collection = $1 AND b.\"row\" > {from} ORDER BY b.\"row\" LIMIT $6) b
         WHERE b.bytes - octet_length(b.words) < $7 ORDER BY b.\"row\""
    ))
    .with_int(collection)
    .with_int(limits.tail)
    .with_int(limits.tail_bytes)
    .with_int(limits.merged)
    .with_int(limits.merged_bytes)
    .with_int(most_drawers(limits))
    .with_int(MOST_BYTES)
}

/// Returns the most drawers of a segment; more than the limits allow in small segments.
pub(super) fn most_drawers(limits: WordSealLimits) -> i64 {
    limits.merged.saturating_mul(2).min(MOST_DRAWERS as i64)
}

/// Returns the bags after a row that become the next segment of a rebuild.
pub(super) fn select_next(collection: i64, after: i64, limits: WordSealLimits) -> SqlStatement {
    SqlStatement::new(format!(
        "SELECT {BAG_COLUMNS} FROM (
            SELECT d.\"row\", b.words, sum(octet_length(b.words)) OVER (ORDER BY d.\"row\") AS bytes
            FROM loci.drawers d LEFT JOIN loci.bags b ON b.collection = d.collection AND b.\"row\" = d.\"row\"
            WHERE d.collection = $1 AND d.\"row\" > $2 ORDER BY d.\"row\" LIMIT $3) b
         WHERE coalesce(b.bytes - octet_length(b.words), 0) < $4 ORDER BY b.\"row\""
    ))
    .with_int(collection)
    .with_int(after)
    .with_int(limits.merged)
    .with_int(MOST_BYTES)
}

/// Returns the statements that seal the bags that were due, and moves the counters on. The counters must be those that
/// the question saw.
pub(crate) fn seal_due(
    collection: i64,
    bags: &WordBags,
    counters: &mut WordCounters,
    limits: WordSealLimits,
) -> Result<Vec<SqlStatement>> {
    let merges = counters.small + counters.tail >= limits.merged
        || counters.small_bytes + counters.tail_bytes >= limits.merged_bytes;
    let mut writer = PostingsWriter::default();
    let mut taken = (0_i64, 0_i64);
    for (row, words) in bags.rows() {
        writer.add_drawer(*row, WordBag::new(words))?;
        if *row > counters.sealed {
            taken = (taken.0 + 1, taken.1 + words.len() as i64);
        }
    }
    let Some(sealed) = writer.seal_segment() else {
        return Ok(Vec::new());
    };
    let mut statements = Vec::new();
    if merges {
        statements.extend(remove_segments(collection, counters.merged));
        (counters.small, counters.small_bytes) = (0, 0);
        counters.merged = sealed.last;
    } else {
        counters.small += taken.0;
        counters.small_bytes += taken.1;
    }
    counters.sealed = sealed.last;
    counters.tail -= taken.0;
    // With removed drawers counted in, an empty tail would still seem to have bytes.
    counters.tail_bytes = if counters.tail > 0 {
        (counters.tail_bytes - taken.1).max(0)
    } else {
        0
    };
    statements.extend(store_segment(collection, sealed)?);
    Ok(statements)
}

/// Returns the statements that remove every segment after a row.
pub(super) fn remove_segments(collection: i64, after: i64) -> [SqlStatement; 3] {
    [
        ("word_segments", "segment"),
        ("word_blocks", "segment"),
        ("word_gone", "\"row\""),
    ]
    .map(|(table, column)| {
        SqlStatement::new(format!(
            "DELETE FROM loci.{table} WHERE collection = $1 AND {column} > $2"
        ))
        .with_int(collection)
        .with_int(after)
    })
}
