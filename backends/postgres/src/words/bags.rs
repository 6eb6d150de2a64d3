//! Bags as they are stored; one that is missing or damaged is made again from its drawer.

use loci_core::{DrawerContext, Result};
use loci_index::postings::WordBag;
use loci_index::tokenise::TextIndexer;
use tokio_postgres::Row;

use crate::deadline::ServerDeadline;
use crate::row::stored_text;
use crate::session::ServerSession;
use crate::statement::SqlStatement;

/// The columns of a bag `b` for [`WordBags::push`].
pub(crate) const BAG_COLUMNS: &str = "b.\"row\", b.words";

/// Rows with the words of their drawers, in row order.
#[derive(Debug, Default)]
pub(crate) struct WordBags {
    rows: Vec<(i64, Vec<u8>)>,
    /// The places of those whose words must be made again.
    lacking: Vec<usize>,
}

impl WordBags {
    /// Takes over answers with [`BAG_COLUMNS`], which must be in row order.
    pub(crate) fn from_rows(rows: &[Row]) -> Self {
        let mut bags = Self::default();
        rows.iter().for_each(|row| bags.push(row));
        bags
    }

    /// Adds one answer, whose row must be higher than all before.
    pub(crate) fn push(&mut self, row: &Row) {
        let words: Option<&[u8]> = row.get(1);
        let words = words.unwrap_or_default();
        // An empty bag is damaged too: even a drawer without words has its length.
        if words.is_empty() || WordBag::new(words).for_each_term(|_, _| {}).is_err() {
            self.lacking.push(self.rows.len());
        }
        self.rows.push((row.get(0), words.to_vec()));
    }

    /// Returns the rows with their words.
    pub(crate) fn rows(&self) -> &[(i64, Vec<u8>)] {
        &self.rows
    }

    /// Returns whether every bag is as it was stored.
    pub(crate) fn are_sound(&self) -> bool {
        self.lacking.is_empty()
    }

    /// Makes the bags that are missing or damaged from their drawers, which are read if there is any such bag.
    pub(crate) fn mend(
        &mut self,
        session: &ServerSession,
        collection: i64,
        deadline: ServerDeadline,
    ) -> Result<()> {
        if self.are_sound() {
            return Ok(());
        }
        let places = std::mem::take(&mut self.lacking);
        let rows: Vec<i64> = places
            .iter()
            .filter_map(|at| self.rows.get(*at).map(|(row, _)| *row))
            .collect();
        let question = SqlStatement::new(
            "SELECT d.\"row\", d.before, d.after, d.document FROM loci.drawers d
             WHERE d.collection = $1 AND d.\"row\" = ANY($2) ORDER BY d.\"row\"",
        )
        .with_int(collection)
        .with_ints(rows);
        let mut indexer = TextIndexer::default();
        for found in session.ask(question, deadline)? {
            let text = |at: usize| {
                let bytes: Option<Vec<u8>> = found.get(at);
                stored_text(bytes.unwrap_or_default())
            };
            let context = DrawerContext {
                before: text(1)?,
                after: text(2)?,
            };
            let words = pack_words(&mut indexer, Some(&context), &text(3)?);
            let row: i64 = found.get(0);
            if let Ok(at) = self.rows.binary_search_by_key(&row, |(row, _)| *row)
                && let Some(bag) = self.rows.get_mut(at)
            {
                bag.1 = words;
            }
        }
        // A bag without a drawer has no words.
        self.rows
            .retain(|(_, words)| WordBag::new(words).length().is_ok());
        Ok(())
    }
}

/// Returns the words of a drawer as they are stored.
pub(crate) fn pack_words(
    indexer: &mut TextIndexer,
    context: Option<&DrawerContext>,
    document: &str,
) -> Vec<u8> {
    WordBag::pack_tokens(&indexer.join_index_tokens(&DrawerContext::indexed_text(context, document)))
}
