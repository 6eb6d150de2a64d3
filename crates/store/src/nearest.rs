//! The nearest drawers to a vector: packed segments are scanned first, then the tail, and the best are rescored exactly.

use std::cell::Cell;
use std::cmp::Ordering;

use loci_core::{DrawerHit, ErrorKind, Filter, FindingSeverity, PalaceFinding, QueryRequest, Result};
use loci_index::candidates::{NearestCandidates, RowCandidate};
use loci_index::distance::QueryProbe;
use loci_index::rows::RowSet;
use loci_index::segment::SegmentSeal;
use rusqlite::Connection;

use crate::crosscheck;
use crate::failure::sqlite_error;
use crate::palace::PalaceFile;
use crate::read::{DrawerHydrator, DrawerTest};
use crate::scope::{FilterScope, resolve_scope};
use crate::segments::{SegmentEntry, SegmentReader, dead_rows, list_segments};
use crate::shelf::CollectionShelf;
use crate::ties;
use crate::vectors::{self, VectorReader};
use crate::view::ReadView;

/// Up to this many listed rows are cheaper to compare exactly than to scan for in the segments.
const FEW: usize = 768;

/// The numbers of hits to test for each one wanted, in successive rounds, if a filter must be tested on the drawers.
const SPARE: [usize; 2] = [8, 128];

/// Answers a [`QueryRequest`] among the drawers that `filter` accepts: the same hits that comparing every vector exactly
/// would give.
pub(crate) fn query_nearest(
    view: &ReadView<'_>,
    request: &QueryRequest,
    filter: &Filter,
) -> Result<Vec<Vec<DrawerHit>>> {
    request.check_request(view.shelf.metric, view.shelf.space.dimension)?;
    // However many rows a filter lists, listing them costs less than testing drawers one by one.
    let scope = resolve_scope(view.connection, view.shelf, filter)?;
    let search = NearestSearch {
        connection: view.connection,
        palace: view.palace,
        shelf: view.shelf,
        request,
        view,
    };
    let report = &|finding| view.palace.warn(finding);
    crosscheck::check_places(view.connection, view.shelf, filter, &scope, report)?;
    crosscheck::check_tail(view.connection, view.shelf, report)?;
    let test = DrawerTest::new(&scope, filter, &request.document).reporting_to(view.shelf, report);
    search.run(&scope, &test)
}

struct NearestSearch<'a> {
    connection: &'a Connection,
    palace: &'a PalaceFile,
    shelf: &'a CollectionShelf,
    request: &'a QueryRequest,
    view: &'a ReadView<'a>,
}

/// A row with its exact distance, and whether its exact vector could be read.
#[derive(Debug, Clone, Copy)]
struct ScoredRow {
    row: i64,
    distance: f32,
    damaged: bool,
}

impl NearestSearch<'_> {
    fn run(&self, scope: &FilterScope, test: &DrawerTest<'_>) -> Result<Vec<Vec<DrawerHit>>> {
        if test.is_trivial() {
            let found = self.find_nearest(&self.make_probes(), self.request.k, &scope.rows)?;
            return found
                .into_iter()
                .map(|scored| self.hydrate_hits(scored, self.request.k))
                .collect();
        }
        self.make_probes()
            .into_iter()
            .map(|probe| self.find_passing(probe, scope, test))
            .collect()
    }

    fn make_probes(&self) -> Vec<QueryProbe> {
        self.request
            .vectors
            .iter()
            .map(|vector| QueryProbe::new(self.shelf.metric, vector))
            .collect()
    }

    /// Finds the nearest drawers that pass a test which only the drawer itself can answer.
    fn find_passing(
        &self,
        probe: QueryProbe,
        scope: &FilterScope,
        test: &DrawerTest<'_>,
    ) -> Result<Vec<DrawerHit>> {
        let probes = [probe];
        for spare in SPARE {
            let wanted = self.request.k.saturating_mul(spare);
            let found = self
                .find_nearest(&probes, wanted, &scope.rows)?
                .pop()
                .unwrap_or_default();
            // Fewer than asked for means that every row of the scope was among them.
            let complete = found.len() < wanted;
            let mut passing = Vec::new();
            for scored in found {
                if test.passes(self.connection, scored.row)? {
                    passing.push(scored);
                }
            }
            if complete || passing.len() >= self.request.k {
                return self.hydrate_hits(passing, self.request.k);
            }
        }
        // The filter is rare among the nearest. Testing every row once is slow, but bounded, and exact.
        let rows = RowSet::from_rows(self.passing_rows(scope, test)?);
        let found = self
            .find_nearest(&probes, self.request.k, &rows)?
            .pop()
            .unwrap_or_default();
        self.hydrate_hits(found, self.request.k)
    }

    /// Returns every row with a vector that passes the test, testing each one.
    fn passing_rows(&self, scope: &FilterScope, test: &DrawerTest<'_>) -> Result<Vec<i64>> {
        let sql = format!("SELECT row FROM vectors_{}", self.shelf.space.number);
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite_error)?;
        let mut found = statement.query([]).map_err(sqlite_error)?;
        let mut rows = Vec::new();
        while let Some(entry) = found.next().map_err(sqlite_error)? {
            let row = entry.get(0).map_err(sqlite_error)?;
            if scope.rows.contains(row) && test.passes(self.connection, row)? {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Returns for each probe the `k` nearest rows among `allow`, with exact distances, nearest first.
    fn find_nearest(&self, probes: &[QueryProbe], k: usize, allow: &RowSet) -> Result<Vec<Vec<ScoredRow>>> {
        let mut found: Vec<NearestCandidates> = probes.iter().map(|_| NearestCandidates::new(k)).collect();
        if let Some(listed) = allow.listed_rows().filter(|listed| listed.len() <= FEW) {
            self.scan_listed(listed, probes, &mut found)?;
            return probes
                .iter()
                .zip(found)
                .map(|(probe, found)| self.rescore_exactly(probe, found.finish(), k))
                .collect();
        }
        // `None` lets the scans skip the membership test where everything is allowed.
        let allow = allow
            .excluded_rows()
            .is_none_or(|excluded| !excluded.is_empty())
            .then_some(allow);
        self.scan_segments(probes, allow, &mut found)?;
        self.scan_rows(self.shelf.space.sealed + 1, i64::MAX, probes, allow, &mut found)?;
        probes
            .iter()
            .zip(found)
            .map(|(probe, candidates)| self.rescore_exactly(probe, candidates.finish(), k))
            .collect()
    }

    fn vector_reader(&self) -> Result<VectorReader<'_>> {
        let space = &self.shelf.space;
        VectorReader::new(self.connection, space.number, space.dimension.unwrap_or(0))
    }

    /// Compares a few rows with their exact vectors.
    fn scan_listed(
        &self,
        listed: &[i64],
        probes: &[QueryProbe],
        found: &mut [NearestCandidates],
    ) -> Result<()> {
        let mut reader = self.vector_reader()?;
        for row in listed {
            match reader.read(*row) {
                Ok(Some(vector)) => {
                    for (probe, found) in probes.iter().zip(found.iter_mut()) {
                        let distance = probe.exact_distance(vector);
                        found.offer_row(*row, distance, distance);
                    }
                }
                // Where every drawer has a vector, none can lack it.
                Ok(None) if self.shelf.space.vectors == self.shelf.drawers => {
                    self.palace.warn(crosscheck::missing_vector(self.shelf, *row));
                }
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.palace.warn(damaged_vector(self.shelf, *row, &error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn scan_segments(
        &self,
        probes: &[QueryProbe],
        allow: Option<&RowSet>,
        found: &mut [NearestCandidates],
    ) -> Result<()> {
        let segments = list_segments(self.connection, self.shelf.space.number)?;
        let dead = dead_rows(self.connection, self.shelf.space.number)?;
        let seal = SegmentSeal {
            palace: self.palace.palace_id(self.connection)?,
            space: self.shelf.space.number,
        };
        let mut reader = SegmentReader::new(self.connection, seal);
        let packed: i64 = segments.iter().map(|entry| entry.rows).sum::<i64>() - dead.len() as i64;
        // A dropped segment is allowed (no index is the only copy of anything), and shows as a
        // difference of counts.
        if packed != self.shelf.space.vectors - self.shelf.space.tail {
            self.scan_gaps(&segments, probes, allow, found)?;
        }
        let known = self
            .palace
            .known_segments(segments.iter().map(|entry| entry.segment));
        let mut sound = Vec::new();
        for (entry, known) in segments.iter().zip(known) {
            self.view.deadline.check()?;
            let scanned = match &known {
                Some(known) => {
                    let mask = known.head.select_rows(allow, &dead);
                    if mask.is_empty() {
                        continue;
                    }
                    reader
                        .scan_known(entry, known, probes, &mask, found)
                        .map(|()| None)
                }
                None => reader.scan_new(entry, probes, allow, &dead, found),
            };
            match scanned {
                Ok(head) => sound.extend(head.map(|head| (entry.segment, head))),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.palace.warn(damaged_segment(self.shelf, entry, &error));
                    // The exact vectors of its rows are the truth, so the answer stays exact, only slower.
                    self.scan_rows(entry.first, entry.last, probes, allow, found)?;
                }
                Err(error) => return Err(error),
            }
        }
        if !sound.is_empty() {
            let listed = segments.iter().map(|entry| entry.segment).collect();
            self.palace.remember_segments(sound, &listed);
        }
        Ok(())
    }

    /// Compares the sealed rows that no segment covers, because one was dropped.
    fn scan_gaps(
        &self,
        segments: &[SegmentEntry],
        probes: &[QueryProbe],
        allow: Option<&RowSet>,
        found: &mut [NearestCandidates],
    ) -> Result<()> {
        let mut from = i64::MIN;
        for entry in segments {
            self.scan_rows(from, entry.first - 1, probes, allow, found)?;
            from = from.max(entry.last + 1);
        }
        self.scan_rows(from, self.shelf.space.sealed, probes, allow, found)
    }

    /// Compares the exact vectors between two rows, one by one.
    fn scan_rows(
        &self,
        first: i64,
        last: i64,
        probes: &[QueryProbe],
        allow: Option<&RowSet>,
        found: &mut [NearestCandidates],
    ) -> Result<()> {
        let reached = Cell::new(first);
        let mut offer = |row: i64, vector: Result<&[f32]>| {
            reached.set(row + 1);
            if allow.is_some_and(|allow| !allow.contains(row)) {
                return Ok(());
            }
            match vector {
                Ok(vector) => {
                    for (probe, found) in probes.iter().zip(found.iter_mut()) {
                        let distance = probe.exact_distance(vector);
                        found.offer_row(row, distance, distance);
                    }
                }
                Err(error) => self.palace.warn(damaged_vector(self.shelf, row, &error)),
            }
            Ok(())
        };
        match vectors::each_vector(self.connection, &self.shelf.space, first, last, &mut offer) {
            // A walk over the table ends at an unreadable page. From there on rows are read one by one, so
            // that only the vectors on that page are lost to the answer.
            Err(error) if error.kind() == ErrorKind::Corrupt => vectors::each_vector_singly(
                self.connection,
                &self.shelf.space,
                reached.get(),
                last,
                &mut offer,
            ),
            done => done,
        }
    }

    /// Compares candidates exactly, most promising first, until no other can be nearer.
    fn rescore_exactly(
        &self,
        probe: &QueryProbe,
        candidates: Vec<RowCandidate>,
        k: usize,
    ) -> Result<Vec<ScoredRow>> {
        let mut reader = self.vector_reader()?;
        let mut best: Vec<ScoredRow> = Vec::new();
        for RowCandidate { row, lower } in candidates {
            // Candidates come in order of their lower bounds: once one exceeds the k-th exact
            // distance, so do all others.
            let worst = k.checked_sub(1).and_then(|last| best.get(last));
            if worst.is_some_and(|worst| lower > worst.distance) {
                break;
            }
            let scored = match reader.read(row) {
                Ok(Some(vector)) => ScoredRow {
                    row,
                    distance: probe.exact_distance(vector),
                    damaged: false,
                },
                // Removing a vector marks its row dead in the same transaction, so a live one must be there.
                Ok(None) => {
                    self.palace.warn(crosscheck::missing_vector(self.shelf, row));
                    continue;
                }
                Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                Err(error) => {
                    self.palace.warn(damaged_vector(self.shelf, row, &error));
                    ScoredRow {
                        row,
                        distance: lower,
                        damaged: true,
                    }
                }
            };
            let at = best.partition_point(|other| compare_scored(other, &scored) == Ordering::Less);
            best.insert(at, scored);
            // Ties with the k-th stay until ids decide; otherwise the answer would depend on the
            // order of candidates.
            truncate_untied(&mut best, k);
        }
        ties::order_by_id(
            self.connection,
            &mut best,
            |a, b| a.distance.total_cmp(&b.distance),
            |scored| scored.row,
        )?;
        best.truncate(k);
        Ok(best)
    }

    fn hydrate_hits(&self, scored: Vec<ScoredRow>, k: usize) -> Result<Vec<DrawerHit>> {
        let mut hits = Vec::with_capacity(k.min(scored.len()));
        let report = &|finding| self.palace.warn(finding);
        let mut hydrator = DrawerHydrator::new(self.connection, self.shelf, self.request.include, report)?;
        for ScoredRow {
            row,
            distance,
            damaged,
        } in scored.into_iter().take(k)
        {
            let found = hydrator.hydrate(row)?;
            // Reported as missing; the other hits are still right.
            let Some(mut drawer) = found else { continue };
            if damaged {
                drawer
                    .damage
                    .push("its exact vector is damaged; the distance is approximate".to_owned());
            }
            hits.push(DrawerHit {
                drawer,
                score: distance,
            });
        }
        Ok(hits)
    }
}

/// Keeps the `k` nearest and all that are exactly as near as the last of them.
fn truncate_untied(best: &mut Vec<ScoredRow>, k: usize) {
    let Some(worst) = k.checked_sub(1).and_then(|last| best.get(last)) else {
        return;
    };
    let distance = worst.distance;
    let kept = best.partition_point(|scored| scored.distance.total_cmp(&distance) != Ordering::Greater);
    best.truncate(kept);
}

fn compare_scored(a: &ScoredRow, b: &ScoredRow) -> Ordering {
    a.distance.total_cmp(&b.distance).then(a.row.cmp(&b.row))
}

fn damaged_segment(shelf: &CollectionShelf, entry: &SegmentEntry, error: &loci_core::Error) -> PalaceFinding {
    PalaceFinding::new(
        "segment_damaged",
        FindingSeverity::Error,
        format!(
            "packed segment {} cannot be used ({error}); its rows were searched one by one",
            entry.segment
        ),
    )
    .with_hint("rebuild it with `loci maintain reindex`")
    .in_collection(shelf.name.as_str())
    .in_segment(entry.segment.to_string())
}

fn damaged_vector(shelf: &CollectionShelf, row: i64, error: &loci_core::Error) -> PalaceFinding {
    PalaceFinding::new(
        "vector_damaged",
        FindingSeverity::Error,
        format!("the exact vector of row {row} cannot be read: {error}"),
    )
    .with_hint("see which drawer it is with `loci verify`")
    .in_collection(shelf.name.as_str())
}
