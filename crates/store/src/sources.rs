//! The records a collection keeps of its sources, and filing a new state of some in one transaction.

use std::collections::BTreeSet;

use loci_core::write::check_batch;
use loci_core::{
    Metric, Result, RevisionOutcome, RevisionParts, SourceRecord, SourceRecordQuery, SourceRevision,
    Timestamp, Write,
};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::deadline::BudgetDeadline;
use crate::failure::{corrupt_error, sqlite_error};
use crate::shelf::CollectionShelf;
use crate::write::{self, BatchWork, PreparedBatch, WriteTerms};
use crate::{clock, crash};

/// A revision whose first part was prepared before the lock was taken.
pub(crate) struct RevisionDraft<'a> {
    source: String,
    expects: Option<u64>,
    stamp: Option<String>,
    first: Vec<Write>,
    /// The prepared first part; a defect counts only if the revision is not overtaken.
    prepared: Result<PreparedBatch>,
    rest: RevisionParts<'a>,
}

/// Checks revisions and prepares the first part of each.
pub(crate) fn draft_revisions(
    revisions: Vec<SourceRevision<'_>>,
    metric: Metric,
) -> Result<Vec<RevisionDraft<'_>>> {
    revisions.iter().try_for_each(SourceRevision::check_source)?;
    let draft = |revision| RevisionDraft::from_revision(revision, metric);
    Ok(revisions.into_iter().map(draft).collect())
}

impl<'a> RevisionDraft<'a> {
    fn from_revision(revision: SourceRevision<'a>, metric: Metric) -> Self {
        // Usually a source has a single part, so most of the slow work is done here, without a lock.
        let mut rest = revision.parts;
        let first = rest.next().unwrap_or_default();
        Self {
            source: revision.source,
            expects: revision.expects,
            stamp: revision.stamp,
            prepared: write::prepare_batch(&first, metric, BudgetDeadline::default()),
            first,
            rest,
        }
    }
}

/// Files the new state of some sources within one write transaction.
pub(crate) fn revise_sources(
    transaction: &Transaction<'_>,
    palace: [u8; 16],
    shelf: CollectionShelf,
    terms: WriteTerms<'_>,
    drafts: Vec<RevisionDraft<'_>>,
) -> Result<Vec<RevisionOutcome>> {
    let mut revising = RevisionWork {
        transaction,
        collection: shelf.collection,
        now: clock::now(),
        work: BatchWork::begin(transaction, shelf, terms)?,
    };
    let drafts = drafts.into_iter();
    let revised = drafts
        .map(|draft| revising.revise_one(draft))
        .collect::<Result<_>>()?;
    revising.work.finish(palace)?;
    Ok(revised)
}

/// Revisions being applied in one transaction.
struct RevisionWork<'t, 'c> {
    transaction: &'t Transaction<'c>,
    collection: i64,
    now: Timestamp,
    work: BatchWork<'t, 'c>,
}

impl RevisionWork<'_, '_> {
    fn revise_one(&mut self, draft: RevisionDraft<'_>) -> Result<RevisionOutcome> {
        let RevisionDraft {
            source,
            expects,
            stamp,
            first,
            prepared,
            rest,
        } = draft;
        let record = find_named(self.transaction, self.collection, &source)?;
        // Another process filed this source since the caller read it. Writing now would put an old state over
        // a newer one (decision 011), so nothing of it is applied.
        if record.map(|record| record.revision) != expects {
            return Ok(RevisionOutcome::Overtaken);
        }
        self.apply_part(&first, prepared)?;
        // Each part is freed before the next is requested: a source may be larger than memory.
        drop(first);
        for part in rest {
            let prepared = write::prepare_batch(&part, self.work.shelf.metric, BudgetDeadline::default());
            self.apply_part(&part, prepared)?;
        }
        let receipt = self.work.take_receipt()?;
        let revision = match &stamp {
            Some(stamp) => Some(self.remember_source(&source, stamp)?),
            None => self.forget_source(&source)?,
        };
        crash::point("source-recorded");
        Ok(RevisionOutcome::Done { receipt, revision })
    }

    fn apply_part(&mut self, part: &[Write], prepared: Result<PreparedBatch>) -> Result<()> {
        if part.is_empty() {
            // Skipped before its preparation is looked at: an empty batch counts as a defect there.
            return Ok(());
        }
        let prepared = prepared.or_else(|error| {
            // Of several defects the first in the batch is reported, and a wrong dimension is one of them.
            let shelf = &self.work.shelf;
            check_batch(part, shelf.metric, shelf.space.dimension)?;
            Err(error)
        })?;
        self.work.apply(part, &prepared)?;
        crash::point("source-part");
        Ok(())
    }

    /// Stores the record of a source under a revision that no record had before.
    fn remember_source(&mut self, source: &str, stamp: &str) -> Result<u64> {
        // A sequence number, not a counter of its own: that would start again after the record was removed,
        // and a writer from before would take the new record for the one it knew.
        let revision = self.work.next_seq();
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO sources(collection, source, revision, revised_at, stamp)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    self.collection,
                    source,
                    revision,
                    self.now.as_micros(),
                    stamp
                ])
            })
            .map_err(sqlite_error)?;
        Ok(u64::try_from(revision).unwrap_or(0))
    }

    fn forget_source(&self, source: &str) -> Result<Option<u64>> {
        self.transaction
            .prepare_cached("DELETE FROM sources WHERE collection = ?1 AND source = ?2")
            .and_then(|mut statement| statement.execute(params![self.collection, source]))
            .map(|_| None)
            .map_err(sqlite_error)
    }
}

/// Answers a [`SourceRecordQuery`], in byte order of the names.
pub(crate) fn find_records(
    connection: &Connection,
    collection: i64,
    request: &SourceRecordQuery,
) -> Result<Vec<SourceRecord>> {
    match request {
        SourceRecordQuery::Named(names) => {
            let names: BTreeSet<&String> = names.iter().collect();
            let found = names
                .into_iter()
                .map(|name| find_named(connection, collection, name));
            found.filter_map(Result::transpose).collect()
        }
        SourceRecordQuery::Under { prefix, after, limit } => {
            list_under(connection, collection, prefix, after.as_deref(), *limit)
        }
    }
}

fn find_named(connection: &Connection, collection: i64, name: &str) -> Result<Option<SourceRecord>> {
    let found = connection
        .prepare_cached(
            "SELECT source, revision, revised_at, stamp FROM sources WHERE collection = ?1 AND source = ?2",
        )
        .and_then(|mut statement| {
            statement
                .query_row(params![collection, name], |row| Ok(read_record(row)))
                .optional()
        });
    found.map_err(sqlite_error)?.transpose()
}

/// Walks the names from the first that can begin with `prefix` to the first that does not.
fn list_under(
    connection: &Connection,
    collection: i64,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<SourceRecord>> {
    // In byte order nothing lies between a name and the same name followed by a zero byte.
    let next = after.map(|after| format!("{after}\0")).unwrap_or_default();
    let from = next.as_str().max(prefix);
    let mut statement = connection
        .prepare_cached(
            "SELECT source, revision, revised_at, stamp FROM sources WHERE collection = ?1 AND source >= ?2
             ORDER BY source",
        )
        .map_err(sqlite_error)?;
    let mut rows = statement.query(params![collection, from]).map_err(sqlite_error)?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next().map_err(sqlite_error)? else {
            break;
        };
        let record = read_record(row)?;
        if !record.source.starts_with(prefix) {
            break;
        }
        found.push(record);
    }
    Ok(found)
}

fn read_record(row: &Row<'_>) -> Result<SourceRecord> {
    let source: String = row.get(0).map_err(sqlite_error)?;
    let (revision, at): (i64, i64) = (
        row.get(1).map_err(sqlite_error)?,
        row.get(2).map_err(sqlite_error)?,
    );
    let damaged = || corrupt_error(format!("the record of the source {source:?} is damaged"));
    Ok(SourceRecord {
        revision: u64::try_from(revision).map_err(|_| damaged())?,
        revised_at: Timestamp::from_micros(at).map_err(|_| damaged())?,
        stamp: row.get(3).map_err(sqlite_error)?,
        source,
    })
}
