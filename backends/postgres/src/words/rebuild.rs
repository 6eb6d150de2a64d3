//! Making the segments of a palace again from its bags, and bags that are missing or damaged from their drawers.

use loci_core::Result;
use loci_index::postings::{PostingsWriter, WordBag};

use super::bags::WordBags;
use super::seal::{remove_segments, select_next};
use super::stored::store_segment;
use super::{WordCounters, WordSealLimits};
use crate::deadline::ServerDeadline;
use crate::palace::ServerPalace;
use crate::session::ServerSession;
use crate::shelf::ServerShelf;
use crate::statement::SqlStatement;
use crate::write::{WriteLimits, WriteTransaction};

/// Which collections of a palace have their words sealed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RebuildScope {
    All,
    /// Those whose segments hold words of removed drawers.
    Worn,
}

/// Counts the removed drawers of a palace whose words are still in segments, and the drawers that are left.
pub(crate) fn count_worn(
    session: &ServerSession,
    palace: i64,
    deadline: ServerDeadline,
) -> Result<(i64, i64)> {
    let question = SqlStatement::new(
        "SELECT coalesce(sum((SELECT count(*) FROM loci.word_gone g WHERE g.collection = c.collection)), 0)::bigint,
            coalesce(sum(c.drawers), 0)::bigint FROM loci.collections c WHERE c.palace = $1",
    );
    let found = session.ask(question.with_int(palace), deadline)?;
    Ok(found.first().map_or((0, 0), |row| (row.get(0), row.get(1))))
}

/// Seals the words of collections again; returns the number of drawers in their segments.
///
/// One transaction for each collection: until it commits, searches use the segments from before.
pub(crate) fn rebuild_words(
    palace: &ServerPalace,
    session: &ServerSession,
    limits: WriteLimits,
    scope: RebuildScope,
) -> Result<i64> {
    let none = ServerDeadline::default();
    let worn = SqlStatement::new(
        "SELECT c.collection FROM loci.collections c WHERE c.palace = $1
            AND EXISTS (SELECT 1 FROM loci.word_gone g WHERE g.collection = c.collection)",
    )
    .with_int(palace.number);
    let worn = session.ask(worn, none)?;
    let worn: Vec<i64> = worn.iter().map(|row| row.get(0)).collect();
    let shelves = ServerShelf::read_all(&session.ask(ServerShelf::select_all(palace.number), none)?)?;
    let is_meant = |shelf: &ServerShelf| scope == RebuildScope::All || worn.contains(&shelf.collection);
    let mut sealed = 0;
    for shelf in shelves.into_iter().filter(is_meant) {
        let collection = (&shelf.name, shelf.collection);
        let (transaction, _) = WriteTransaction::begin(palace, collection, limits, Vec::new)?;
        sealed += rebuild_collection(transaction, palace.word_limits)?;
    }
    Ok(sealed)
}

fn rebuild_collection(transaction: WriteTransaction<'_>, limits: WordSealLimits) -> Result<i64> {
    let collection = transaction.shelf.collection;
    transaction.ask_all(&remove_segments(collection, i64::MIN))?;
    let orphans = SqlStatement::new(
        "DELETE FROM loci.bags b WHERE b.collection = $1 AND NOT EXISTS (
            SELECT 1 FROM loci.drawers d WHERE d.collection = b.collection AND d.\"row\" = b.\"row\")",
    );
    transaction.ask_all(&[orphans.with_int(collection)])?;
    let mut counters = WordCounters::default();
    let mut drawers = 0;
    loop {
        let from = counters.sealed;
        let rows = transaction.ask_all(&[select_next(collection, from, limits)])?;
        let mut bags = WordBags::from_rows(rows.first().map(Vec::as_slice).unwrap_or_default());
        if !bags.are_sound() {
            bags.mend(transaction.session(), collection, transaction.deadline())?;
            transaction.ask_all(&[store_bags(collection, &bags)])?;
        }
        let taken = bags.rows().len() as i64;
        let bytes: usize = bags.rows().iter().map(|(_, words)| words.len()).sum();
        // Fewer drawers than a tail are the last ones, unless their bytes have filled the answer.
        if taken < limits.tail && (bytes as i64) < limits.tail_bytes {
            bags.rows()
                .iter()
                .for_each(|(_, words)| counters.add_drawer(words));
            transaction.commit(vec![counters.store(collection)])?;
            return Ok(drawers);
        }
        let mut writer = PostingsWriter::default();
        for (row, words) in bags.rows() {
            writer.add_drawer(*row, WordBag::new(words))?;
        }
        if let Some(sealed) = writer.seal_segment() {
            (counters.sealed, counters.merged) = (sealed.last, sealed.last);
            drawers += taken;
            transaction.ask_all(&store_segment(collection, sealed)?)?;
        }
    }
}

/// Stores bags that were made again beside those that were sound.
fn store_bags(collection: i64, bags: &WordBags) -> SqlStatement {
    let (rows, words): (Vec<i64>, Vec<Vec<u8>>) = bags.rows().iter().cloned().unzip();
    SqlStatement::new(
        "INSERT INTO loci.bags(collection, \"row\", words)
         SELECT $1, n.\"row\", n.words FROM unnest($2::bigint[], $3::bytea[]) AS n(\"row\", words)
         ON CONFLICT (collection, \"row\") DO UPDATE SET words = excluded.words WHERE bags.words <> excluded.words",
    )
    .with_int(collection)
    .with_ints(rows)
    .with_many_bytes(words)
}
