//! Candidates from the approximate index of a space.
//!
//! The server walks the index until the filter has accepted enough rows, and exact vectors decide among those. A filter
//! that leaves few rows is answered exactly, and so is a query for which the index gives too few.

use loci_core::{DrawerHit, Result};
use tokio_postgres::types::Type;

use super::CodeSearch;
use crate::codes;
use crate::statement::SqlStatement;

/// The most hits for which the index is used; a walk that long is slower than comparing every code.
pub(super) const MOST_HITS: usize = 5000;

/// The fewest rows that a walk keeps in view: the more, the fewer of the nearest it misses.
const LEAST_VIEW: usize = 200;

/// The most rows that the extension can keep in view.
const MOST_VIEW: usize = 1000;

impl CodeSearch<'_> {
    /// Returns the hits of each vector by the index, or exactly where that is cheaper.
    pub(super) fn find_by_index(&self, dimension: usize) -> Result<Vec<Vec<DrawerHit>>> {
        if self.leaves_few_rows()? {
            return self.find_all(&self.request.vectors);
        }
        let room = self.room();
        let vectors = &self.request.vectors;
        let mut statements = vec![SqlStatement::new("SAVEPOINT walk"), walk_settings(room)];
        let before = statements.len();
        statements.extend(
            vectors
                .iter()
                .map(|vector| self.ask_index(vector, dimension, room)),
        );
        // Undoes the settings too: they are for these statements only.
        statements.push(SqlStatement::new("ROLLBACK TO SAVEPOINT walk"));
        let answers = self.view.session.ask_all(&statements, self.view.deadline)?;
        let mut all = Vec::with_capacity(vectors.len());
        for (vector, rows) in vectors.iter().zip(answers.iter().skip(before)) {
            let mut hits = self.read_candidates(vector, rows, room)?.hits;
            hits.truncate(self.request.k);
            if hits.len() < self.request.k {
                hits = self
                    .find_all(std::slice::from_ref(vector))?
                    .pop()
                    .unwrap_or_default();
            }
            all.push(hits);
        }
        Ok(all)
    }

    /// Returns whether so few rows are in scope that a collection of that size would be answered exactly.
    fn leaves_few_rows(&self) -> Result<bool> {
        let many = self.view.shelf.approximate_from.unwrap_or(i64::MAX);
        if self.scope.is_everything() || many <= 0 {
            return Ok(false);
        }
        let mut question =
            SqlStatement::new("SELECT count(*) FROM (SELECT 1 FROM loci.drawers d WHERE d.collection = $1")
                .with_int(self.view.shelf.collection);
        self.scope.push_condition(&mut question);
        question.push(" LIMIT ").bind(many, Type::INT8).push(") counted");
        let found = self.view.session.ask(question, self.view.deadline)?;
        Ok(found.first().is_none_or(|row| row.get::<_, i64>(0) < many))
    }

    /// Asks for rows in scope by walking the index.
    fn ask_index(&self, vector: &[f32], dimension: usize, room: usize) -> SqlStatement {
        let (extension, space) = (self.extension, self.view.shelf.space.number);
        // The expression and the number of the space as the index has them: only so does the planner use it.
        let product = format!(
            "c.code::{extension}.halfvec({dimension}) OPERATOR({extension}.<#>) $3::real[]::{extension}.halfvec({dimension})"
        );
        let mut question = SqlStatement::new(format!(
            "WITH best AS MATERIALIZED (SELECT n.\"row\", 1 + n.product AS distance FROM (
                SELECT c.\"row\", {product} AS product FROM loci.near c WHERE c.space = {space} ORDER BY {product}) n"
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

/// Settings under which the planner walks the index, and the walk goes on until enough rows are accepted.
fn walk_settings(room: usize) -> SqlStatement {
    let view = room.clamp(LEAST_VIEW, MOST_VIEW);
    SqlStatement::new(
        "SELECT set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)",
    )
    .with(view.to_string(), Type::TEXT)
}
