//! Candidates from the approximate index of a space.
//!
//! The index puts each code into the list of the nearest of some centres. The server reads the lists whose centres are
//! nearest to the query and takes the nearest rows of those, the filter leaves some of them, and exact vectors decide. If
//! a filter leaves less than half, the answer is exact: more rows would have to come from lists that were not read. So is
//! the answer to a query for which the lists hold too few rows.

use loci_core::{DrawerHit, Result};
use tokio_postgres::types::Type;

use super::{CodeSearch, SPARE};
use crate::codes;
use crate::session::PipelineRows;
use crate::statement::SqlStatement;

/// The fewest lists that are read: of a small index, a small share would be too few.
const FEWEST_LISTS: i64 = 20;

/// A search in the lists of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedSearch {
    dimension: usize,
    /// The number of lists that are read.
    lists: i64,
    /// The number of rows that are taken from them.
    taken: usize,
    /// The number of these in scope below which the answer is exact.
    enough: usize,
}

impl CodeSearch<'_> {
    /// The number of candidates that are read from the lists.
    fn listed_room(&self) -> usize {
        self.request.k.saturating_add(SPARE)
    }

    /// Returns the search in the index, if it may be used and is faster than comparing all.
    pub(super) fn choose_lists(&self) -> Option<ListedSearch> {
        let shelf = self.view.shelf;
        let (lists, dimension) = (shelf.usable_lists()?, shelf.space.dimension?);
        let room = self.listed_room();
        let (taken, enough) = if self.scope.is_everything() {
            (room, self.request.k)
        } else if self.scope.is_broad() {
            (room + self.request.k / 8, self.request.k)
        } else {
            (room.saturating_mul(2), room)
        };
        let read = count_read_lists(lists, taken);
        // The index sorts all rows of the lists it reads: comparing every row costs less than reading most of the lists.
        let is_faster = lists <= FEWEST_LISTS || read <= lists / 2;
        (is_faster && !self.request.exact).then_some(ListedSearch {
            dimension,
            lists: read,
            taken,
            enough,
        })
    }

    /// Asks for the candidates of each vector, under settings that are undone at the end.
    pub(super) fn index_questions(&self, vectors: &[Vec<f32>], listed: ListedSearch) -> Vec<SqlStatement> {
        let mut statements = vec![SqlStatement::new("SAVEPOINT lists"), read_settings(listed.lists)];
        statements.extend(vectors.iter().map(|vector| self.ask_index(vector, listed)));
        // Undoes the settings too: they are for these statements only.
        statements.push(SqlStatement::new("ROLLBACK TO SAVEPOINT lists"));
        statements
    }

    /// Returns the hits of each vector by the index, or exactly where the index is no help.
    pub(super) fn read_index(
        &self,
        vectors: &[Vec<f32>],
        listed: ListedSearch,
        answers: &PipelineRows,
    ) -> Result<Vec<Vec<DrawerHit>>> {
        let mut all = Vec::with_capacity(vectors.len());
        // The first two answers are those of the savepoint and the settings.
        for (vector, rows) in vectors.iter().zip(answers.iter().skip(2)) {
            if rows.len() < listed.enough {
                all.extend(self.find(std::slice::from_ref(vector), self.choose_exact_way(), None)?);
                continue;
            }
            let mut hits = self.read_hits(vector, rows)?;
            hits.truncate(self.request.k);
            all.push(hits);
        }
        Ok(all)
    }

    /// Asks for at most `room` rows in scope among the `taken` nearest by the index.
    fn ask_index(&self, vector: &[f32], listed: ListedSearch) -> SqlStatement {
        let ListedSearch { dimension, taken, .. } = listed;
        let (extension, space) = (self.extension, self.view.shelf.space.number);
        // The expression and the number of the space as the index has them: only so does the planner use it.
        let product = format!(
            "c.code::{extension}.halfvec({dimension}) OPERATOR({extension}.<#>) $3::real[]::{extension}.halfvec({dimension})"
        );
        let mut question = SqlStatement::new(format!(
            "WITH taken AS MATERIALIZED (SELECT c.\"row\", {product} AS product FROM loci.near c
                WHERE c.space = {space} ORDER BY {product} LIMIT {taken}),
             best AS MATERIALIZED (SELECT n.\"row\", 1 + n.product AS distance FROM taken n"
        ))
        .with_int(space)
        .with_int(self.view.shelf.collection)
        .with(codes::direction(vector), Type::FLOAT4_ARRAY);
        if !self.scope.is_everything() {
            question.push(" JOIN loci.drawers d ON d.\"row\" = n.\"row\" WHERE d.collection = $2");
            self.scope.push_condition(&mut question);
        }
        question
            .push(" ORDER BY n.product LIMIT ")
            .bind(i64::try_from(self.listed_room()).unwrap_or(i64::MAX), Type::INT8);
        self.end_question(question)
    }
}

/// Settings under which the planner uses the index and enough lists are read.
fn read_settings(lists: i64) -> SqlStatement {
    SqlStatement::new(
        "SELECT set_config('ivfflat.probes', $1, true),
            set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)",
    )
    .with(lists.to_string(), Type::TEXT)
}

/// Returns the number of lists that are read for so many rows: the more rows, the farther apart they lie. The shares
/// were chosen on the clustered corpus of `bench/README.md`.
fn count_read_lists(lists: i64, taken: usize) -> i64 {
    let share = 0.06 + 0.0006 * taken as f64;
    let wanted = (lists as f64 * share).ceil() as i64;
    wanted.max(FEWEST_LISTS).min(lists.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_are_sought_in_more_lists_and_never_in_more_than_there_are() {
        assert_eq!(count_read_lists(448, 42), 39);
        assert!(count_read_lists(448, 1032) > count_read_lists(448, 132));
        assert_eq!(count_read_lists(448, 100_000), 448);
        assert_eq!(count_read_lists(0, 42), 1);
    }
}
