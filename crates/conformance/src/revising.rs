//! Shorthand for revising sources and for reading their records.

use loci_core::{
    Collection, CollectionExt, Receipt, RevisionOutcome, SourceRecord, SourceRecordQuery, SourceRevision,
    Write,
};

use crate::{CaseFailure, CaseOutcome};

/// A revision with these parts that expects the record to have this number, or not to exist.
pub(crate) fn new_revision<'a>(
    source: &str,
    expects: Option<u64>,
    stamp: &str,
    parts: impl IntoIterator<Item = Vec<Write>, IntoIter: 'a>,
) -> SourceRevision<'a> {
    SourceRevision {
        source: source.to_owned(),
        expects,
        stamp: Some(stamp.to_owned()),
        parts: Box::new(parts.into_iter()),
    }
}

/// A revision without parts that forgets the record.
pub(crate) fn forgetting_revision<'a>(source: &str, expects: Option<u64>) -> SourceRevision<'a> {
    SourceRevision {
        stamp: None,
        ..new_revision(source, expects, "", [])
    }
}

/// Requests every record.
pub(crate) fn every_record() -> SourceRecordQuery {
    records_under("", None, usize::MAX)
}

/// Requests records whose name begins with `prefix` and comes after `after`.
pub(crate) fn records_under(prefix: &str, after: Option<&str>, limit: usize) -> SourceRecordQuery {
    // Bounds are given by name, never by number, so that pages survive writes in between.
    SourceRecordQuery::Under {
        prefix: prefix.to_owned(),
        after: after.map(str::to_owned),
        limit,
    }
}

/// The names of records, in their order.
pub(crate) fn record_names(records: &[SourceRecord]) -> Vec<&str> {
    records.iter().map(|record| record.source.as_str()).collect()
}

/// Every record as its name and stamp.
pub(crate) fn read_stamps(collection: &dyn Collection) -> CaseOutcome<Vec<(String, String)>> {
    let records = collection.require_sources()?.find_records(&every_record())?;
    Ok(records
        .into_iter()
        .map(|record| (record.source, record.stamp))
        .collect())
}

/// Stores a record for each name, without drawers.
pub(crate) fn store_records(collection: &dyn Collection, names: &[&str]) -> CaseOutcome {
    let revisions = names
        .iter()
        // Stamps name their source, so that cases can tell whose record they read.
        .map(|name| new_revision(name, None, &format!("of {name}"), []));
    for revised in collection.require_sources()?.revise(revisions.collect())? {
        expect_done(revised)?;
    }
    Ok(())
}

/// Files one new state of a source; being overtaken is a failure.
pub(crate) fn revise_one(
    collection: &dyn Collection,
    revision: SourceRevision<'_>,
) -> CaseOutcome<(Receipt, Option<u64>)> {
    let mut revised = collection.require_sources()?.revise(vec![revision])?;
    same!(revised.len(), 1, "answers to one revision");
    expect_done(revised.remove(0))
}

/// Returns the receipt and number of a revision; being overtaken is a failure.
pub(crate) fn expect_done(revised: RevisionOutcome) -> CaseOutcome<(Receipt, Option<u64>)> {
    match revised {
        RevisionOutcome::Done { receipt, revision } => Ok((receipt, revision)),
        RevisionOutcome::Overtaken => Err(CaseFailure::new(
            "expected a revision to be done, found it overtaken",
        )),
    }
}
