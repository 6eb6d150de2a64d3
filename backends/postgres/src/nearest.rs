//! Nearest drawers: exact distances, ties by the byte order of ids.
//!
//! Where every vector of the space has a code, the server finds the candidates and their exact vectors decide. Otherwise
//! every vector in scope is compared here. Both give the same answer. Only in a palace whose owner chose approximate
//! answers may an index of the codes find the candidates.

mod index;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use loci_core::{Drawer, DrawerHit, QueryRequest, Result};
use loci_index::distance::QueryProbe;
use tokio_postgres::types::Type;

use crate::codes;
use crate::moment::MomentView;
use crate::row::{self, ServerDrawer, read_vector};
use crate::scope::RowScope;
use crate::statement::SqlStatement;

/// The number of candidates beyond `k` that are asked for at first.
const SPARE: usize = 32;

/// A row with its distance; the greatest is the one that leaves first.
#[derive(Debug, Clone, PartialEq)]
struct NearRow {
    distance: f32,
    id: Vec<u8>,
    row: i64,
}

impl Eq for NearRow {}

impl Ord for NearRow {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance
            .total_cmp(&other.distance)
            .then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for NearRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The nearest rows found so far, at most `k`.
#[derive(Debug)]
struct NearestRows {
    k: usize,
    found: BinaryHeap<NearRow>,
}

impl NearestRows {
    fn offer(&mut self, distance: f32, id: &[u8], row: i64) {
        let is_full = self.found.len() >= self.k;
        let is_nearer = |far: &NearRow| {
            let order = distance
                .total_cmp(&far.distance)
                .then_with(|| id.cmp(far.id.as_slice()));
            order == Ordering::Less
        };
        if is_full && !self.found.peek().is_some_and(is_nearer) {
            return;
        }
        if is_full {
            self.found.pop();
        }
        self.found.push(NearRow {
            distance,
            id: id.to_vec(),
            row,
        });
    }
}

/// Answers a [`QueryRequest`].
pub(crate) fn find_nearest(view: &MomentView<'_>, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
    request.check_request(view.shelf.metric, view.shelf.space.dimension)?;
    let scope = view.resolve_scope(&request.filter, &request.document)?;
    match (view.session.vector_schema(), view.shelf.space.near) {
        // A vector without a code would be missed.
        (Some(extension), Some(coded)) if coded == view.shelf.space.vectors => {
            let search = CodeSearch {
                view,
                request,
                scope,
                extension,
            };
            match (view.shelf.usable_lists(), view.shelf.space.dimension) {
                (Some(lists), Some(dimension)) if !request.exact && request.k <= index::MOST_HITS => {
                    search.find_by_index(lists, dimension)
                }
                _ => search.find_all(&request.vectors),
            }
        }
        _ => scan_vectors(view, request, &scope),
    }
}

/// A search in which the server compares codes.
struct CodeSearch<'a> {
    view: &'a MomentView<'a>,
    request: &'a QueryRequest,
    scope: RowScope,
    extension: &'a str,
}

/// The candidates of one query vector.
struct CodeCandidates {
    /// Their hits by exact distance, nearest first.
    hits: Vec<DrawerHit>,
    /// The distance by codes of the farthest one; every other row in scope is at least as far. `None` if there is none.
    reach: Option<f32>,
}

impl CodeSearch<'_> {
    /// The number of candidates that are asked for at first.
    fn room(&self) -> usize {
        self.request.k.saturating_add(SPARE)
    }

    fn find_all(&self, vectors: &[Vec<f32>]) -> Result<Vec<Vec<DrawerHit>>> {
        if self.scope.is_broad() && !self.scope.is_everything() {
            return self.find_all_broadly(vectors);
        }
        let room = self.room();
        let questions: Vec<SqlStatement> = vectors
            .iter()
            .map(|vector| self.ask_nearest(vector, room))
            .collect();
        let answers = self.view.session.ask_all(&questions, self.view.deadline)?;
        vectors
            .iter()
            .zip(answers)
            .map(|(vector, rows)| {
                let found = self.read_candidates(vector, &rows, room)?;
                self.settle(vector, found)
            })
            .collect()
    }

    /// Answers where nearly everything is in scope: the nearest of all rows are taken first, and the filter leaves most of
    /// them. Rows that were not taken are farther, so the answer is exact if enough are left; otherwise the filter comes
    /// first after all.
    fn find_all_broadly(&self, vectors: &[Vec<f32>]) -> Result<Vec<Vec<DrawerHit>>> {
        let room = self.room() + self.request.k / 8;
        let questions: Vec<SqlStatement> = vectors
            .iter()
            .map(|vector| self.ask_broadly(vector, room))
            .collect();
        let answers = self.view.session.ask_all(&questions, self.view.deadline)?;
        let mut all = Vec::with_capacity(vectors.len());
        for (vector, rows) in vectors.iter().zip(answers) {
            let taken = rows
                .first()
                .map(|row| (row.get::<_, i64>(22), row.get::<_, f64>(23)));
            let mut found = self.read_candidates(vector, &rows, usize::MAX)?;
            let is_all =
                taken.is_some_and(|(taken, _)| usize::try_from(taken).is_ok_and(|taken| taken < room));
            let is_enough = is_all || found.hits.len() >= self.request.k;
            if !is_enough {
                let rows = self
                    .view
                    .session
                    .ask(self.ask_nearest(vector, self.room()), self.view.deadline)?;
                found = self.read_candidates(vector, &rows, self.room())?;
            } else if !is_all {
                found.reach = taken.map(|(_, reach)| reach as f32);
            }
            all.push(self.settle(vector, found)?);
        }
        Ok(all)
    }

    /// Returns the hits, asking for more candidates if one that was not asked for may be as near as the last hit.
    fn settle(&self, vector: &[f32], found: CodeCandidates) -> Result<Vec<DrawerHit>> {
        let last = found.hits.get(self.request.k - 1).map(|hit| hit.score);
        let mut hits = match (found.reach, last) {
            (Some(reach), Some(last)) if last >= reach - codes::ERROR_BOUND => {
                let within = self.ask_within(vector, last + codes::ERROR_BOUND);
                let rows = self.view.session.ask(within, self.view.deadline)?;
                self.read_candidates(vector, &rows, usize::MAX)?.hits
            }
            _ => found.hits,
        };
        hits.truncate(self.request.k);
        Ok(hits)
    }

    fn read_candidates(
        &self,
        vector: &[f32],
        rows: &[tokio_postgres::Row],
        room: usize,
    ) -> Result<CodeCandidates> {
        let probe = QueryProbe::new(self.view.shelf.metric, vector);
        let mut hits = Vec::with_capacity(rows.len());
        let mut farthest = f32::MIN;
        for found in rows {
            let drawer: Drawer = ServerDrawer::read(found)?.drawer;
            let exact = probe.exact_distance(&read_vector(found.get(20)));
            farthest = farthest.max(found.get::<_, f64>(21) as f32);
            hits.push(DrawerHit { drawer, score: exact });
        }
        hits.sort_by(|a, b| {
            a.score
                .total_cmp(&b.score)
                .then_with(|| a.drawer.id.cmp(&b.drawer.id))
        });
        let is_all = rows.len() < room;
        Ok(CodeCandidates {
            hits,
            reach: (!is_all).then_some(farthest),
        })
    }

    /// Asks for the `room` rows in scope that are nearest by their codes.
    fn ask_nearest(&self, vector: &[f32], room: usize) -> SqlStatement {
        let mut question = self.begin_question(vector);
        // Not the bare operator: an index on it would answer approximately.
        question
            .push(" ORDER BY distance LIMIT ")
            .bind(i64::try_from(room).unwrap_or(i64::MAX), Type::INT8);
        self.end_question(question)
    }

    /// Asks for those in scope of the `room` rows that are nearest by their codes, with the number of all of these rows and
    /// the distance of the farthest.
    fn ask_broadly(&self, vector: &[f32], room: usize) -> SqlStatement {
        let include = self.request.include;
        let mut question = self.begin_everywhere(vector);
        question
            .push(" WHERE n.space = $1 ORDER BY distance LIMIT ")
            .bind(i64::try_from(room).unwrap_or(i64::MAX), Type::INT8)
            .push(&format!(
                ") SELECT {}, exact.value, best.distance, (SELECT count(*) FROM best), (SELECT max(distance) FROM best)
                 FROM best JOIN loci.vectors exact ON exact.space = $1 AND exact.\"row\" = best.\"row\"
                 JOIN {} ON d.collection = $2 AND d.\"row\" = best.\"row\" WHERE true",
                row::columns(include),
                row::joined_tables(include)
            ));
        self.scope.push_condition(&mut question);
        question
    }

    /// Asks for all rows in scope whose distance by codes is at most `limit`.
    fn ask_within(&self, vector: &[f32], limit: f32) -> SqlStatement {
        let mut question = self.begin_question(vector);
        let distance = distance_sql(self.extension);
        question
            .push(&format!(" AND {distance} <= "))
            .bind(f64::from(limit), Type::FLOAT8);
        self.end_question(question)
    }

    fn begin_everywhere(&self, vector: &[f32]) -> SqlStatement {
        SqlStatement::new(format!(
            "WITH best AS MATERIALIZED (SELECT n.\"row\", {} AS distance FROM loci.near n",
            distance_sql(self.extension)
        ))
        .with_int(self.view.shelf.space.number)
        .with_int(self.view.shelf.collection)
        .with(codes::direction(vector), Type::FLOAT4_ARRAY)
    }

    fn begin_question(&self, vector: &[f32]) -> SqlStatement {
        let mut question = self.begin_everywhere(vector);
        if self.scope.is_everything() {
            question.push(" WHERE n.space = $1");
        } else {
            question.push(
                " JOIN loci.drawers d ON d.\"row\" = n.\"row\" WHERE n.space = $1 AND d.collection = $2",
            );
            self.scope.push_condition(&mut question);
        }
        question
    }

    fn end_question(&self, mut question: SqlStatement) -> SqlStatement {
        let include = self.request.include;
        question.push(&format!(
            ") SELECT {}, exact.value, best.distance FROM best
             JOIN loci.vectors exact ON exact.space = $1 AND exact.\"row\" = best.\"row\"
             JOIN {} ON d.collection = $2 AND d.\"row\" = best.\"row\"",
            row::columns(include),
            row::joined_tables(include)
        ));
        question
    }
}

/// The cosine distance by codes, whose vectors have length one.
fn distance_sql(extension: &str) -> String {
    format!("(1 + (n.code OPERATOR({extension}.<#>) $3::real[]::{extension}.halfvec))")
}

/// Compares every vector in scope.
fn scan_vectors(
    view: &MomentView<'_>,
    request: &QueryRequest,
    scope: &RowScope,
) -> Result<Vec<Vec<DrawerHit>>> {
    let probes: Vec<QueryProbe> = request
        .vectors
        .iter()
        .map(|vector| QueryProbe::new(view.shelf.metric, vector))
        .collect();
    let empty = |_| NearestRows {
        k: request.k,
        found: BinaryHeap::new(),
    };
    let mut nearest: Vec<NearestRows> = (0..probes.len()).map(empty).collect();
    let mut statement = SqlStatement::new(
        "SELECT d.\"row\", d.id, v.value FROM loci.vectors v JOIN loci.drawers d ON d.\"row\" = v.\"row\"
         WHERE d.collection = $1 AND v.space = $2",
    )
    .with_int(view.shelf.collection)
    .with_int(view.shelf.space.number);
    scope.push_condition(&mut statement);
    view.session.stream(&statement, view.deadline, &mut |found| {
        let (row, id): (i64, &[u8]) = (found.get(0), found.get(1));
        let vector = read_vector(found.get(2));
        for (probe, nearest) in probes.iter().zip(&mut nearest) {
            nearest.offer(probe.exact_distance(&vector), id, row);
        }
        Ok(())
    })?;
    let nearest: Vec<Vec<NearRow>> = nearest
        .into_iter()
        .map(|near| near.found.into_sorted_vec())
        .collect();
    let mut rows: Vec<i64> = nearest.iter().flatten().map(|near| near.row).collect();
    rows.sort_unstable();
    rows.dedup();
    let drawers = view.load_rows(rows, request.include)?;
    let hit = |near: NearRow| {
        Some(DrawerHit {
            drawer: drawers.get(&near.row)?.clone(),
            score: near.distance,
        })
    };
    Ok(nearest
        .into_iter()
        .map(|near| near.into_iter().filter_map(hit).collect())
        .collect())
}
