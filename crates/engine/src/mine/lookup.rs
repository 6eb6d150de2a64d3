//! The first stage: what is remembered of a source, and whether it must be read at all.

use std::collections::HashMap;

use loci_core::{Collection, CollectionExt, Result, Sources, Timestamp};
use loci_mine::{FoundSource, name};

use super::stamp::{Asked, Stamp};

/// The record of a source.
#[derive(Debug, Clone)]
pub(crate) struct KnownRecord {
    /// The number of the record.
    pub(crate) revision: u64,
    /// The stamp in it, if it can be read.
    pub(crate) stamp: Option<Stamp>,
}

/// Whether a source must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupVerdict {
    /// It is as it was filed, with this many drawers.
    Unchanged(u64),
    /// It was not changed since the time that was asked for.
    TooOld,
    /// It must be read.
    ToRead,
}

/// The records of some sources, by name. A collection that does not exist yet has none.
pub(crate) fn find_records(
    collection: Option<&dyn Collection>,
    names: Vec<String>,
) -> Result<HashMap<String, KnownRecord>> {
    let records = match collection {
        Some(collection) if !names.is_empty() => collection
            .require_sources()?
            .find_records(&Sources::Named(names))?,
        _ => Vec::new(),
    };
    let known = records.into_iter().map(|record| {
        let known = KnownRecord {
            revision: record.revision,
            stamp: Stamp::from_text(&record.stamp),
        };
        (record.source, known)
    });
    Ok(known.collect())
}

/// The record of one source.
pub(crate) fn find_record(collection: Option<&dyn Collection>, source: &str) -> Result<Option<KnownRecord>> {
    Ok(find_records(collection, vec![source.to_owned()])?.remove(source))
}

/// The name of a conversation within a file, and its record; a name that a file has already is passed over.
pub(crate) fn find_conversation(
    collection: Option<&dyn Collection>,
    file: &str,
    key: &str,
) -> Result<(String, Option<KnownRecord>)> {
    let mut source = name::within(file, key);
    loop {
        let record = find_record(collection, &source)?;
        let stamp = record.as_ref().and_then(|record| record.stamp.as_ref());
        if stamp.is_none_or(|stamp| stamp.within.is_some()) {
            return Ok((source, record));
        }
        source.push('~');
    }
}

/// Decides from the walk's stats alone whether a source must be read.
pub(crate) fn judge(
    found: &FoundSource,
    stamp: Option<&Stamp>,
    asked: &Asked,
    since: Option<Timestamp>,
) -> LookupVerdict {
    if let Some(stamp) = stamp.filter(|stamp| stamp.covers(&found.fingerprint(), asked)) {
        return LookupVerdict::Unchanged(stamp.drawers);
    }
    let is_too_old = match (since, found.modified()) {
        (Some(since), Some(modified)) => modified / 1000 < since.as_micros(),
        _ => false,
    };
    if is_too_old {
        LookupVerdict::TooOld
    } else {
        LookupVerdict::ToRead
    }
}
