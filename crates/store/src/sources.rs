//! What a collection remembers of its sources, and filing a new state of some in one transaction.

use std::collections::BTreeSet;

use loci_core::write::check_batch;
use loci_core::{Parts, Result, Revised, Revision, SourceRecord, Sources, Timestamp, Write};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::deadline::Deadline;
use crate::failure::{corrupt, sqlite};
use crate::shelf::Shelf;
use crate::write::{self, Prepared, Work, WriteTerms};
use crate::{clock, crash};

/// A revision whose first part was made ready before the lock.
pub(crate) struct Draft<'a> {
    source: String,
    expects: Option<u64>,
    stamp: Option<String>,
    first: Vec<Write>,
    /// What was made of the first part; a defect counts only if the revision is not overtaken.
    prepared: Result<Prepared>,
    rest: Parts<'a>,
}

/// Checks revisions and does the slow part of what each begins with.
pub(crate) fn draft(revisions: Vec<Revision<'_>>) -> Result<Vec<Draft<'_>>> {
    revisions.iter().try_for_each(Revision::check)?;
    Ok(revisions.into_iter().map(Draft::of).collect())
}

impl<'a> Draft<'a> {
    fn of(revision: Revision<'a>) -> Self {
        let mut rest = revision.parts;
        let first = rest.next().unwrap_or_default();
        Self {
            source: revision.source,
            expects: revision.expects,
            stamp: revision.stamp,
            prepared: write::prepare(&first, Deadline::default()),
            first,
            rest,
        }
    }
}

/// Files the new state of some sources within one write transaction.
pub(crate) fn revise(
    transaction: &Transaction<'_>,
    palace: [u8; 16],
    shelf: Shelf,
    terms: WriteTerms<'_>,
    drafts: Vec<Draft<'_>>,
) -> Result<Vec<Revised>> {
    let mut revising = Revising {
        transaction,
        collection: shelf.collection,
        now: clock::now(),
        work: Work::begin(transaction, shelf, terms)?,
    };
    let drafts = drafts.into_iter();
    let revised = drafts.map(|draft| revising.one(draft)).collect::<Result<_>>()?;
    revising.work.finish(palace)?;
    Ok(revised)
}

/// Revisions being applied in one transaction.
struct Revising<'t, 'c> {
    transaction: &'t Transaction<'c>,
    collection: i64,
    now: Timestamp,
    work: Work<'t, 'c>,
}

impl Revising<'_, '_> {
    fn one(&mut self, draft: Draft<'_>) -> Result<Revised> {
        let Draft {
            source,
            expects,
            stamp,
            first,
            prepared,
            rest,
        } = draft;
        let record = named(self.transaction, self.collection, &source)?;
        if record.map(|record| record.revision) != expects {
            return Ok(Revised::Overtaken);
        }
        self.part(&first, prepared)?;
        // A part is let go of before the next is asked for: a source may be larger than what memory can hold.
        drop(first);
        for part in rest {
            self.part(&part, write::prepare(&part, Deadline::default()))?;
        }
        let receipt = self.work.take_receipt()?;
        let revision = match &stamp {
            Some(stamp) => Some(self.remember(&source, stamp)?),
            None => self.forget(&source)?,
        };
        crash::point("source-recorded");
        Ok(Revised::Done { receipt, revision })
    }

    fn part(&mut self, part: &[Write], prepared: Result<Prepared>) -> Result<()> {
        if part.is_empty() {
            // Passed over; what `prepare` says of an empty batch does not matter.
            return Ok(());
        }
        let prepared = prepared.or_else(|error| {
            // Of several defects the first in the batch is named, and a wrong dimension is one of them.
            check_batch(part, self.work.shelf.space.dimension)?;
            Err(error)
        })?;
        self.work.apply(part, &prepared)?;
        crash::point("source-part");
        Ok(())
    }

    /// Stores the record of a source under a number that none had before.
    fn remember(&mut self, source: &str, stamp: &str) -> Result<u64> {
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
            .map_err(sqlite)?;
        Ok(u64::try_from(revision).unwrap_or(0))
    }

    fn forget(&self, source: &str) -> Result<Option<u64>> {
        self.transaction
            .prepare_cached("DELETE FROM sources WHERE collection = ?1 AND source = ?2")
            .and_then(|mut statement| statement.execute(params![self.collection, source]))
            .map(|_| None)
            .map_err(sqlite)
    }
}

/// Answers a [`Sources`], in byte order of the names.
pub(crate) fn find(connection: &Connection, collection: i64, request: &Sources) -> Result<Vec<SourceRecord>> {
    match request {
        Sources::Named(names) => {
            let names: BTreeSet<&String> = names.iter().collect();
            let found = names.into_iter().map(|name| named(connection, collection, name));
            found.filter_map(Result::transpose).collect()
        }
        Sources::Under { prefix, after, limit } => {
            under(connection, collection, prefix, after.as_deref(), *limit)
        }
    }
}

fn named(connection: &Connection, collection: i64, name: &str) -> Result<Option<SourceRecord>> {
    let found = connection
        .prepare_cached(
            "SELECT source, revision, revised_at, stamp FROM sources WHERE collection = ?1 AND source = ?2",
        )
        .and_then(|mut statement| {
            statement
                .query_row(params![collection, name], |row| Ok(read(row)))
                .optional()
        });
    found.map_err(sqlite)?.transpose()
}

/// Walks the names from the first that may begin with `prefix` to the first that does not.
fn under(
    connection: &Connection,
    collection: i64,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<SourceRecord>> {
    // In byte order nothing stands between a name and the same name with a zero byte behind it.
    let next = after.map(|after| format!("{after}\0")).unwrap_or_default();
    let from = next.as_str().max(prefix);
    let mut statement = connection
        .prepare_cached(
            "SELECT source, revision, revised_at, stamp FROM sources WHERE collection = ?1 AND source >= ?2
             ORDER BY source",
        )
        .map_err(sqlite)?;
    let mut rows = statement.query(params![collection, from]).map_err(sqlite)?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next().map_err(sqlite)? else {
            break;
        };
        let record = read(row)?;
        if !record.source.starts_with(prefix) {
            break;
        }
        found.push(record);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<SourceRecord> {
    let source: String = row.get(0).map_err(sqlite)?;
    let (revision, at): (i64, i64) = (row.get(1).map_err(sqlite)?, row.get(2).map_err(sqlite)?);
    let damaged = || corrupt(format!("the record of the source {source:?} is damaged"));
    Ok(SourceRecord {
        revision: u64::try_from(revision).map_err(|_| damaged())?,
        revised_at: Timestamp::from_micros(at).map_err(|_| damaged())?,
        stamp: row.get(3).map_err(sqlite)?,
        source,
    })
}
