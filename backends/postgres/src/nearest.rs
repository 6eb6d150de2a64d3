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
use crate::session::PipelineRows;
use crate::statement::SqlStatement;

/// The least number of candidates beyond `k` that are asked for at first.
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

/// Answers a [`QueryRequest`], with the answers to its first questions if they are there already.
pub(crate) fn find_nearest(
    view: &MomentView<'_>,
    request: &QueryRequest,
    foreseen: Option<&PipelineRows>,
) -> Result<Vec<Vec<DrawerHit>>> {
    request.check_request(view.shelf.metric, view.shelf.space.dimension)?;
    let scope = view.resolve_scope(&request.filter, &request.document)?;
    match CodeSearch::new(view, request, scope) {
        Ok(search) => search.find(&request.vectors, search.way, foreseen),
        Err(scope) => scan_vectors(view, request, &scope),
    }
}

/// Returns what a query asks first; `None` if that depends on an answer, or if every vector is read.
pub(crate) fn first_questions(view: &MomentView<'_>, request: &QueryRequest) -> Option<Vec<SqlStatement>> {
    request
        .check_request(view.shelf.metric, view.shelf.space.dimension)
        .ok()?;
    let scope = view.foresee_scope(&request.filter, &request.document)?;
    let search = CodeSearch::new(view, request, scope).ok()?;
    Some(search.questions(&request.vectors, search.way))
}

/// A way to find the candidates by codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeWay {
    /// The codes of all rows in scope are compared.
    Scope,
    /// The codes of all rows are compared, and the scope leaves most of the nearest.
    Broadly,
    /// An index of codes of this dimension gives some of the nearest.
    Index(index::ListedSearch),
}

/// A search in which the server compares codes.
struct CodeSearch<'a> {
    view: &'a MomentView<'a>,
    request: &'a QueryRequest,
    scope: RowScope,
    extension: &'a str,
    way: CodeWay,
}

/// The candidates of one query vector.
struct CodeCandidates {
    /// Their hits by exact distance, nearest first.
    hits: Vec<DrawerHit>,
    /// The distance by codes that every other row in scope has at least, but for those that cannot be among the hits;
    /// `None` if there is no other row.
    reach: Option<f32>,
}

impl<'a> CodeSearch<'a> {
    /// Chooses the way; gives the scope back if a vector without a code would be missed.
    fn new(
        view: &'a MomentView<'a>,
        request: &'a QueryRequest,
        scope: RowScope,
    ) -> std::result::Result<Self, RowScope> {
        let space = &view.shelf.space;
        let Some(extension) = view
            .session
            .vector_schema()
            .filter(|_| space.near == Some(space.vectors))
        else {
            return Err(scope);
        };
        let mut search = Self {
            view,
            request,
            scope,
            extension,
            way: CodeWay::Scope,
        };
        search.way = search.choose_way();
        Ok(search)
    }
}

impl CodeSearch<'_> {
    /// The number of candidates that are asked for at first.
    ///
    /// The more are wanted, the closer they lie, and the more lie within the error of the last one. Reading half as many
    /// again takes far less time than comparing all codes a second time.
    fn room(&self) -> usize {
        self.request.k.saturating_add(SPARE.max(self.request.k / 2))
    }

    fn choose_way(&self) -> CodeWay {
        match self.choose_lists() {
            Some(listed) => CodeWay::Index(listed),
            None => self.choose_exact_way(),
        }
    }

    fn choose_exact_way(&self) -> CodeWay {
        if self.scope.is_broad() && !self.scope.is_everything() {
            CodeWay::Broadly
        } else {
            CodeWay::Scope
        }
    }

    /// Returns the statements of a way, for some of the vectors.
    fn questions(&self, vectors: &[Vec<f32>], way: CodeWay) -> Vec<SqlStatement> {
        match way {
            CodeWay::Scope => {
                let room = self.room();
                vectors
                    .iter()
                    .map(|vector| self.ask_nearest(vector, room))
                    .collect()
            }
            CodeWay::Broadly => {
                let room = self.broad_room();
                vectors
                    .iter()
                    .map(|vector| self.ask_broadly(vector, room))
                    .collect()
            }
            CodeWay::Index(listed) => self.index_questions(vectors, listed),
        }
    }

    fn find(
        &self,
        vectors: &[Vec<f32>],
        way: CodeWay,
        foreseen: Option<&PipelineRows>,
    ) -> Result<Vec<Vec<DrawerHit>>> {
        let asked;
        let answers = match foreseen {
            Some(answers) => answers,
            None => {
                let questions = self.questions(vectors, way);
                asked = self.view.session.ask_all(&questions, self.view.deadline)?;
                &asked
            }
        };
        match way {
            CodeWay::Scope => self.read_nearest(vectors, answers),
            CodeWay::Broadly => self.read_broadly(vectors, answers),
            CodeWay::Index(listed) => self.read_index(vectors, listed, answers),
        }
    }

    fn read_nearest(&self, vectors: &[Vec<f32>], answers: &PipelineRows) -> Result<Vec<Vec<DrawerHit>>> {
        vectors
            .iter()
            .zip(answers)
            .map(|(vector, rows)| {
                let found = CodeCandidates {
                    hits: self.read_hits(vector, rows)?,
                    reach: TakenCodes::read(rows).and_then(|taken| taken.reach(self.room())),
                };
                self.settle(vector, found)
            })
            .collect()
    }

    fn broad_room(&self) -> usize {
        self.room().saturating_add(self.request.k / 8)
    }

    /// Answers where nearly everything is in scope: the nearest of all rows are taken first, and the filter leaves most of
    /// them. Rows that were not taken are farther, so the answer is exact if enough are left; otherwise the filter comes
    /// first after all.
    fn read_broadly(&self, vectors: &[Vec<f32>], answers: &PipelineRows) -> Result<Vec<Vec<DrawerHit>>> {
        let mut all = Vec::with_capacity(vectors.len());
        for (vector, rows) in vectors.iter().zip(answers) {
            let taken = TakenCodes::read(rows);
            let hits = self.read_hits(vector, rows)?;
            let is_all = taken.as_ref().is_some_and(|taken| taken.rows < self.broad_room());
            if !is_all && hits.len() < self.request.k {
                all.extend(self.find(std::slice::from_ref(vector), CodeWay::Scope, None)?);
                continue;
            }
            let reach = taken.and_then(|taken| taken.reach(self.broad_room()));
            all.push(self.settle(vector, CodeCandidates { hits, reach })?);
        }
        Ok(all)
    }

    /// Returns the hits, asking for more candidates if one that was not asked for may be as near as the last hit.
    fn settle(&self, vector: &[f32], found: CodeCandidates) -> Result<Vec<DrawerHit>> {
        let error = codes::error_bound(vector.len());
        let last = found.hits.get(self.request.k - 1).map(|hit| hit.score);
        let mut hits = match (found.reach, last) {
            (Some(reach), Some(last)) if last >= reach - error => {
                let within = self.ask_within(vector, last + error);
                let rows = self.view.session.ask(within, self.view.deadline)?;
                self.read_hits(vector, &rows)?
            }
            _ => found.hits,
        };
        hits.truncate(self.request.k);
        Ok(hits)
    }

    /// Reads candidates with their exact distances, nearest first.
    fn read_hits(&self, vector: &[f32], rows: &[tokio_postgres::Row]) -> Result<Vec<DrawerHit>> {
        let probe = QueryProbe::new(self.view.shelf.metric, vector);
        let mut hits = Vec::with_capacity(rows.len());
        for found in rows {
            let drawer: Drawer = ServerDrawer::read(found)?.drawer;
            let exact = probe.exact_distance(&read_vector(found.get(21)));
            hits.push(DrawerHit { drawer, score: exact });
        }
        hits.sort_by(|a, b| {
            a.score
                .total_cmp(&b.score)
                .then_with(|| a.drawer.id.cmp(&b.drawer.id))
        });
        Ok(hits)
    }

    /// Asks for the `room` rows in scope that are nearest by their codes, as far as they can be among the hits.
    fn ask_nearest(&self, vector: &[f32], room: usize) -> SqlStatement {
        let mut question = self.begin_question(vector);
        // Not the bare operator: an index on it would answer approximately.
        question
            .push(" ORDER BY distance LIMIT ")
            .bind(i64::try_from(room).unwrap_or(i64::MAX), Type::INT8)
            .push(") ");
        self.select_columns(&mut question, TAKEN_SQL);
        question.push(" WHERE best.distance <= ");
        self.push_bound(&mut question, "best", vector.len());
        question
    }

    /// Asks for those in scope of the `room` rows that are nearest by their codes, as far as they can be among the hits.
    fn ask_broadly(&self, vector: &[f32], room: usize) -> SqlStatement {
        let mut question = self.begin_everywhere(vector);
        let include = self.request.include;
        // The filter first: the bound follows from the rows that it leaves.
        question
            .push(" WHERE n.space = $1 ORDER BY distance LIMIT ")
            .bind(i64::try_from(room).unwrap_or(i64::MAX), Type::INT8)
            .push(&format!(
                "), kept AS MATERIALIZED (SELECT {}, best.distance FROM best
                 JOIN {} ON d.collection = $2 AND d.\"row\" = best.\"row\" WHERE true",
                row::columns(include),
                row::joined_tables(include)
            ));
        self.scope.push_condition(&mut question);
        question
            .push(&format!(
                ") SELECT kept.*, exact.value{TAKEN_SQL} FROM kept
                 JOIN loci.vectors exact ON exact.space = $1 AND exact.\"row\" = kept.\"row\" WHERE kept.distance <= "
            ));
        self.push_bound(&mut question, "kept", vector.len());
        question
    }

    /// Appends the distance by codes beyond which a row of `table` is farther than `k` others: that of the last of these,
    /// and the errors of both.
    fn push_bound(&self, question: &mut SqlStatement, table: &str, values: usize) {
        let before = i64::try_from(self.request.k - 1).unwrap_or(i64::MAX);
        question
            .push("coalesce((SELECT k.distance + ")
            .bind(f64::from(2.0 * codes::error_bound(values)), Type::FLOAT8)
            .push(&format!(" FROM {table} k ORDER BY k.distance OFFSET "))
            .bind(before, Type::INT8)
            .push(" LIMIT 1), 'Infinity')");
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
        question.push(") ");
        self.select_columns(&mut question, "");
        question
    }

    /// Appends the columns of the drawers in `best`, their exact vectors, and `more`.
    fn select_columns(&self, question: &mut SqlStatement, more: &str) {
        let include = self.request.include;
        question.push(&format!(
            "SELECT {}, best.distance, exact.value{more} FROM best
             JOIN loci.vectors exact ON exact.space = $1 AND exact.\"row\" = best.\"row\"
             JOIN {} ON d.collection = $2 AND d.\"row\" = best.\"row\"",
            row::columns(include),
            row::joined_tables(include)
        ));
    }
}

/// The columns of [`TakenCodes`].
const TAKEN_SQL: &str = ", (SELECT count(*) FROM best), (SELECT max(b.distance) FROM best b)";

/// The rows whose codes were taken as the nearest.
struct TakenCodes {
    rows: usize,
    /// The distance by codes of the farthest of them.
    farthest: f32,
}

impl TakenCodes {
    /// Reads the columns of [`TAKEN_SQL`]; `None` if no row has them.
    fn read(rows: &[tokio_postgres::Row]) -> Option<Self> {
        let row = rows.first()?;
        Some(Self {
            rows: usize::try_from(row.get::<_, i64>(22)).unwrap_or(usize::MAX),
            farthest: row.get::<_, f64>(23) as f32,
        })
    }

    /// Returns the distance that rows have at least which were not taken; `None` if there are none, since fewer than
    /// `room` rows were there.
    fn reach(&self, room: usize) -> Option<f32> {
        (self.rows >= room).then_some(self.farthest)
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
