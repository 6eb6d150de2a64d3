//! The first stage: looks up the record of a source and decides whether the source must be read.

use std::collections::HashMap;

use loci_core::{Collection, CollectionExt, Result, SourceRecordQuery, Timestamp};
use loci_mine::{FoundSource, name};

use super::stamp::{FilingTerms, SourceStamp};

/// The record of a source.
#[derive(Debug, Clone)]
pub(crate) struct KnownRecord {
    /// The revision of the record.
    pub(crate) revision: u64,
    /// The stamp in it, if it can be parsed.
    pub(crate) stamp: Option<SourceStamp>,
}

/// The decision whether a source must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupVerdict {
    /// It has not changed since it was filed, with this many drawers.
    Unchanged(u64),
    /// It was last changed before the requested time.
    TooOld,
    /// It must be read.
    ToRead,
}

/// Returns the records of these sources, by name. A collection that does not exist yet has none.
pub(crate) fn find_records(
    collection: Option<&dyn Collection>,
    names: Vec<String>,
) -> Result<HashMap<String, KnownRecord>> {
    let records = match collection {
        Some(collection) if !names.is_empty() => collection
            .require_sources()?
            .find_records(&SourceRecordQuery::Named(names))?,
        _ => Vec::new(),
    };
    let known = records.into_iter().map(|record| {
        let known = KnownRecord {
            revision: record.revision,
            stamp: SourceStamp::from_text(&record.stamp),
        };
        (record.source, known)
    });
    Ok(known.collect())
}

/// Returns the record of one source.
pub(crate) fn find_record(collection: Option<&dyn Collection>, source: &str) -> Result<Option<KnownRecord>> {
    Ok(find_records(collection, vec![source.to_owned()])?.remove(source))
}

/// Returns the name of a conversation within a file and its record; names that belong to files are skipped.
pub(crate) fn find_conversation(
    collection: Option<&dyn Collection>,
    file: &str,
    key: &str,
) -> Result<(String, Option<KnownRecord>)> {
    let mut source = name::name_within(file, key);
    loop {
        let record = find_record(collection, &source)?;
        let stamp = record.as_ref().and_then(|record| record.stamp.as_ref());
        if stamp.is_none_or(|stamp| stamp.within.is_some()) {
            return Ok((source, record));
        }
        // A file on disk may be called `export.json#key`; its record must not be mistaken for the conversation's.
        source.push('~');
    }
}

/// Decides from the metadata of the walk alone whether a source must be read.
pub(crate) fn judge_source(
    found: &FoundSource,
    stamp: Option<&SourceStamp>,
    asked: &FilingTerms,
    since: Option<Timestamp>,
) -> LookupVerdict {
    if let Some(stamp) = stamp.filter(|stamp| stamp.covers_look(&found.fingerprint(), asked)) {
        return LookupVerdict::Unchanged(stamp.drawers);
    }
    let is_too_old = match (since, found.modified()) {
        // File times are nanoseconds, timestamps microseconds.
        (Some(since), Some(modified)) => modified / 1000 < since.as_micros(),
        _ => false,
    };
    if is_too_old {
        LookupVerdict::TooOld
    } else {
        LookupVerdict::ToRead
    }
}
