//! The nearest drawers to a vector: packed segments first, then the tail, then the best rescored exactly.

use std::cell::Cell;
use std::cmp::Ordering;

use loci_core::{ErrorKind, Filter, Finding, Hit, Query, Result, Severity};
use loci_index::candidates::{Candidate, Candidates};
use loci_index::distance::Probe;
use loci_index::rows::Rows;
use loci_index::segment::Seal;
use rusqlite::Connection;

use crate::attributes::{self, Scope};
use crate::failure::{corrupt, sqlite};
use crate::palace::{Palace, Sound};
use crate::read::{self, Test};
use crate::segments::{SegmentEntry, SegmentReader, dead_rows, list_segments};
use crate::shelf::Shelf;
use crate::view::ReadView;
use crate::{ties, vectors};

/// Up to this many listed rows are cheaper to compare exactly than to find in the segments.
const FEW: usize = 768;

/// How many hits are looked at for each one wanted, at first and then more, when a filter must be asked of them.
const SPARE: [usize; 2] = [8, 128];

/// Answers a [`Query`] among the drawers that `filter` accepts: the same hits that comparing every vector exactly
/// would give.
pub(crate) fn query(view: &ReadView<'_>, request: &Query, filter: &Filter) -> Result<Vec<Vec<Hit>>> {
    request.check(view.shelf.space.dimension)?;
    // However many rows a filter lists, listing them costs less than asking drawers one by one.
    let scope = attributes::scope(view.connection, view.shelf.projection, filter)?;
    let search = Search {
        connection: view.connection,
        palace: view.palace,
        shelf: view.shelf,
        request,
        view,
    };
    search.run(&scope, &Test::new(&scope, filter, &request.document))
}

struct Search<'a> {
    connection: &'a Connection,
    palace: &'a Palace,
    shelf: &'a Shelf,
    request: &'a Query,
    view: &'a ReadView<'a>,
}

/// A row with its exact distance, and whether its exact vector could be read.
#[derive(Debug, Clone, Copy)]
struct Scored {
    row: i64,
    distance: f32,
    damaged: bool,
}

impl Search<'_> {
    fn run(&self, scope: &Scope, test: &Test<'_>) -> Result<Vec<Vec<Hit>>> {
        if test.is_trivial() {
            let found = self.nearest(&self.probes(), self.request.k, &scope.rows)?;
            return found
                .into_iter()
                .map(|scored| self.hydrate(scored, self.request.k))
                .collect();
        }
        self.probes()
            .into_iter()
            .map(|probe| self.tested(probe, scope, test))
            .collect()
    }

    fn probes(&self) -> Vec<Probe> {
        self.request
            .vectors
            .iter()
            .map(|vector| Probe::new(self.shelf.metric, vector))
            .collect()
    }

    /// The nearest that pass a test which only the drawer itself can answer.
    fn tested(&self, probe: Probe, scope: &Scope, test: &Test<'_>) -> Result<Vec<Hit>> {
        let probes = [probe];
        for spare in SPARE {
            let wanted = self.request.k.saturating_mul(spare);
            let found = self
                .nearest(&probes, wanted, &scope.rows)?
                .pop()
                .unwrap_or_default();
            let complete = found.len() < wanted;
            let mut passing = Vec::new();
            for scored in found {
                if test.passes(self.connection, scored.row)? {
                    passing.push(scored);
                }
            }
            if complete || passing.len() >= self.request.k {
                return self.hydrate(passing, self.request.k);
            }
        }
        let rows = Rows::of(self.passing_rows(scope, test)?);
        let found = self
            .nearest(&probes, self.request.k, &rows)?
            .pop()
            .unwrap_or_default();
        self.hydrate(found, self.request.k)
    }

    /// Every row with a vector that passes the test, found by asking each.
    fn passing_rows(&self, scope: &Scope, test: &Test<'_>) -> Result<Vec<i64>> {
        let sql = format!("SELECT row FROM vectors_{}", self.shelf.space.number);
        let mut statement = self.connection.prepare_cached(&sql).map_err(sqlite)?;
        let mut found = statement.query([]).map_err(sqlite)?;
        let mut rows = Vec::new();
        while let Some(entry) = found.next().map_err(sqlite)? {
            let row = entry.get(0).map_err(sqlite)?;
            if scope.rows.contains(row) && test.passes(self.connection, row)? {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// For each probe the `k` nearest rows among `allow`, with exact distances, nearest first.
    fn nearest(&self, probes: &[Probe], k: usize, allow: &Rows) -> Result<Vec<Vec<Scored>>> {
        let mut found: Vec<Candidates> = probes.iter().map(|_| Candidates::new(k)).collect();
        if let Some(listed) = allow.listed().filter(|listed| listed.len() <= FEW) {
            self.scan_listed(listed, probes, &mut found)?;
            return probes
                .iter()
                .zip(found)
                .map(|(probe, found)| self.rescore(probe, found.finish(), k))
                .collect();
        }
        let allow = allow
            .excluded()
            .is_none_or(|excluded| !excluded.is_empty())
            .then_some(allow);
        self.scan_segments(probes, allow, &mut found)?;
        (self.view.strewn)();
        self.scan_rows(self.shelf.space.sealed + 1, i64::MAX, probes, allow, &mut found)?;
        probes
            .iter()
            .zip(found)
            .map(|(probe, candidates)| self.rescore(probe, candidates.finish(), k))
            .collect()
    }

    /// Compares a few rows by their exact vectors.
    fn scan_listed(&self, listed: &[i64], probes: &[Probe], found: &mut [Candidates]) -> Result<()> {
        let dimension = self.shelf.space.dimension.unwrap_or(0);
        for row in listed {
            match vectors::get(self.connection, self.shelf.space.number, *row, dimension) {
                Ok(Some(vector)) => {
                    for (probe, found) in probes.iter().zip(found.iter_mut()) {
                        let distance = probe.exact(&vector);
                        found.offer(*row, distance, distance);
                    }
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

    fn scan_segments(&self, probes: &[Probe], allow: Option<&Rows>, found: &mut [Candidates]) -> Result<()> {
        let segments = list_segments(self.connection, self.shelf.space.number)?;
        let dead = dead_rows(self.connection, self.shelf.space.number)?;
        let seal = Seal {
            palace: self.palace.palace_id(self.connection)?,
            space: self.shelf.space.number,
        };
        let mut reader = SegmentReader::new(self.connection, seal);
        let packed: i64 = segments.iter().map(|entry| entry.rows).sum::<i64>() - dead.len() as i64;
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
                Some(known) => self
                    .scan_known(&mut reader, entry, known, probes, allow, &dead, found)
                    .map(|()| None),
                None => reader.scan_new(entry, probes, allow, &dead, found),
            };
            match scanned {
                Ok(head) => sound.extend(head.map(|head| (entry.segment, head))),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.palace.warn(damaged_segment(self.shelf, entry, &error));
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

    /// Offers the rows of a segment that was found sound before, from memory if its codes are kept there.
    #[allow(
        clippy::too_many_arguments,
        reason = "one scan, and all of it is asked for by one caller"
    )]
    fn scan_known(
        &self,
        reader: &mut SegmentReader<'_>,
        entry: &SegmentEntry,
        known: &Sound,
        probes: &[Probe],
        allow: Option<&Rows>,
        dead: &[i64],
        found: &mut [Candidates],
    ) -> Result<()> {
        let mask = known.head.mask(allow, dead);
        if mask.is_empty() {
            return Ok(());
        }
        let codes = match known.codes.get() {
            Some(codes) => codes,
            None => {
                let codes = reader.read_body(entry, &known.head)?;
                self.palace.keep_codes(known, codes);
                codes
            }
        };
        for (probe, found) in probes.iter().zip(found.iter_mut()) {
            known.head.scan(codes, probe, &mask, found);
        }
        Ok(())
    }

    /// Compares the rows that no segment covers, because one was dropped.
    fn scan_gaps(
        &self,
        segments: &[SegmentEntry],
        probes: &[Probe],
        allow: Option<&Rows>,
        found: &mut [Candidates],
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
        probes: &[Probe],
        allow: Option<&Rows>,
        found: &mut [Candidates],
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
                        let distance = probe.exact(vector);
                        found.offer(row, distance, distance);
                    }
                }
                Err(error) => self.palace.warn(damaged_vector(self.shelf, row, &error)),
            }
            Ok(())
        };
        match vectors::each(self.connection, &self.shelf.space, first, last, &mut offer) {
            Err(error) if error.kind() == ErrorKind::Corrupt => vectors::each_singly(
                self.connection,
                &self.shelf.space,
                reached.get(),
                last,
                &mut offer,
            ),
            done => done,
        }
    }

    /// Compares candidates exactly, most promising first, until no other can come nearer.
    fn rescore(&self, probe: &Probe, candidates: Vec<Candidate>, k: usize) -> Result<Vec<Scored>> {
        let dimension = self.shelf.space.dimension.unwrap_or(0);
        let mut best: Vec<Scored> = Vec::new();
        for Candidate { row, lower } in candidates {
            let worst = k.checked_sub(1).and_then(|last| best.get(last));
            if worst.is_some_and(|worst| lower > worst.distance) {
                break;
            }
            let scored = match vectors::get(self.connection, self.shelf.space.number, row, dimension) {
                Ok(Some(vector)) => Scored {
                    row,
                    distance: probe.exact(&vector),
                    damaged: false,
                },
                Ok(None) => continue,
                Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                Err(error) => {
                    self.palace.warn(damaged_vector(self.shelf, row, &error));
                    Scored {
                        row,
                        distance: lower,
                        damaged: true,
                    }
                }
            };
            let at = best.partition_point(|other| order(other, &scored) == Ordering::Less);
            best.insert(at, scored);
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

    fn hydrate(&self, scored: Vec<Scored>, k: usize) -> Result<Vec<Hit>> {
        let mut hits = Vec::with_capacity(k.min(scored.len()));
        for Scored {
            row,
            distance,
            damaged,
        } in scored.into_iter().take(k)
        {
            let Some(mut drawer) = read::hydrate(self.connection, self.shelf, row, self.request.include)?
            else {
                return Err(corrupt(format!("row {row} has a vector but no drawer")));
            };
            if damaged {
                drawer
                    .damage
                    .push("its exact vector is damaged; the distance is approximate".to_owned());
            }
            hits.push(Hit {
                drawer,
                score: distance,
            });
        }
        Ok(hits)
    }
}

/// Keeps the `k` nearest, and those that are exactly as near as the last of them.
fn truncate_untied(best: &mut Vec<Scored>, k: usize) {
    let Some(worst) = k.checked_sub(1).and_then(|last| best.get(last)) else {
        return;
    };
    let distance = worst.distance;
    let kept = best.partition_point(|scored| scored.distance.total_cmp(&distance) != Ordering::Greater);
    best.truncate(kept);
}

fn order(a: &Scored, b: &Scored) -> Ordering {
    a.distance.total_cmp(&b.distance).then(a.row.cmp(&b.row))
}

fn damaged_segment(shelf: &Shelf, entry: &SegmentEntry, error: &loci_core::Error) -> Finding {
    Finding::new(
        "segment_damaged",
        Severity::Warning,
        format!(
            "packed segment {} cannot be used ({error}); its rows were searched one by one",
            entry.segment
        ),
    )
    .hint("rebuild it with `loci maintain reindex`")
    .collection(shelf.name.as_str())
    .segment(entry.segment.to_string())
}

fn damaged_vector(shelf: &Shelf, row: i64, error: &loci_core::Error) -> Finding {
    Finding::new(
        "vector_damaged",
        Severity::Error,
        format!("the exact vector of row {row} cannot be read: {error}"),
    )
    .hint("see which drawer it is with `loci verify`")
    .collection(shelf.name.as_str())
}
