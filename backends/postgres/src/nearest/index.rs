//! Candidates from the approximate index of a space.
//!
//! The index puts each code into the list of the nearest of some centres. The server reads the lists whose centres are
//! nearest to the query and takes the nearest rows of those, the filter leaves some of them, and exact vectors decide. If
//! a filter leaves less than half, the answer is exact: more rows would have to come from lists that were not read. So is
//! the answer to a query for which the lists hold too few rows.

use loci_core::{DrawerHit, Result};
use tokio_postgres::types::Type;

use super::CodeSearch;
use crate::codes;
use crate::statement::SqlStatement;

/// The most hits for which the index is used: for more, most lists would have to be read.
pub(super) const MOST_HITS: usize = 1000;

/// The fewest lists that are read: of a small index, a small share would be too few.
const FEWEST_LISTS: i64 = 20;

impl CodeSearch<'_> {
    /// Returns the hits of each vector by the index, or exactly where the index is no help.
    pub(super) fn find_by_index(&self, lists: i64, dimension: usize) -> Result<Vec<Vec<DrawerHit>>> {
        let room = self.room();
        let (taken, enough) = if self.scope.is_everything() {
            (room, self.request.k)
        } else {
            (room.saturating_mul(2), room)
        };
        let vectors = &self.request.vectors;
        let mut statements = vec![SqlStatement::new("SAVEPOINT lists"), read_settings(lists, taken)];
        let before = statements.len();
        let asked = |vector: &Vec<f32>| self.ask_index(vector, dimension, (taken, room));
        statements.extend(vectors.iter().map(asked));
        // Undoes the settings too: they are for these statements only.
        statements.push(SqlStatement::new("ROLLBACK TO SAVEPOINT lists"));
        let answers = self.view.session.ask_all(&statements, self.view.deadline)?;
        let mut all = Vec::with_capacity(vectors.len());
        for (vector, rows) in vectors.iter().zip(answers.iter().skip(before)) {
            if rows.len() < enough {
                all.extend(self.find_all(std::slice::from_ref(vector))?);
                continue;
            }
            let mut hits = self.read_candidates(vector, rows, room)?.hits;
            hits.truncate(self.request.k);
            all.push(hits);
        }
        Ok(all)
    }

    /// Asks for at most `room` rows in scope among the `taken` nearest by the index.
    fn ask_index(&self, vector: &[f32], dimension: usize, (taken, room): (usize, usize)) -> SqlStatement {
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
            .bind(i64::try_from(room).unwrap_or(i64::MAX), Type::INT8);
        self.end_question(question)
    }
}

/// Settings under which the planner uses the index and enough lists are read.
fn read_settings(lists: i64, taken: usize) -> SqlStatement {
    SqlStatement::new(
        "SELECT set_config('ivfflat.probes', $1, true),
            set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)",
    )
    .with(count_read_lists(lists, taken).to_string(), Type::TEXT)
}

/// Returns the number of lists that are read for so many rows: the more rows, the farther apart they lie. The shares
/// were chosen on the clustered corpus of `bench/README.md`.
fn count_read_lists(lists: i64, taken: usize) -> i64 {
    let share = 0.04 + 0.0006 * taken as f64;
    let wanted = (lists as f64 * share).ceil() as i64;
    wanted.max(FEWEST_LISTS).min(lists.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_are_sought_in_more_lists_and_never_in_more_than_there_are() {
        assert_eq!(count_read_lists(448, 42), 30);
        assert!(count_read_lists(448, 1032) > count_read_lists(448, 132));
        assert_eq!(count_read_lists(448, 100_000), 448);
        assert_eq!(count_read_lists(0, 42), 1);
    }
}
