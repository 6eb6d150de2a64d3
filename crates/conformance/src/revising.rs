//! Short ways to revise sources and to read what is remembered of them.

use loci_core::{Collection, CollectionExt, Receipt, Revised, Revision, SourceRecord, Sources, Write};

use crate::{Failure, Outcome};

/// A revision of these parts, for a record of this revision, or for none.
pub(crate) fn revision<'a>(
    source: &str,
    expects: Option<u64>,
    stamp: &str,
    parts: impl IntoIterator<Item = Vec<Write>, IntoIter: 'a>,
) -> Revision<'a> {
    Revision {
        source: source.to_owned(),
        expects,
        stamp: Some(stamp.to_owned()),
        parts: Box::new(parts.into_iter()),
    }
}

/// The same, but the record is forgotten.
pub(crate) fn forgetting<'a>(source: &str, expects: Option<u64>) -> Revision<'a> {
    Revision {
        stamp: None,
        ..revision(source, expects, "", [])
    }
}

/// Every record.
pub(crate) fn all() -> Sources {
    under("", None, usize::MAX)
}

/// Those whose name begins with `prefix`, after a name.
pub(crate) fn under(prefix: &str, after: Option<&str>, limit: usize) -> Sources {
    Sources::Under {
        prefix: prefix.to_owned(),
        after: after.map(str::to_owned),
        limit,
    }
}

/// The names of records, in their order.
pub(crate) fn names(records: &[SourceRecord]) -> Vec<&str> {
    records.iter().map(|record| record.source.as_str()).collect()
}

/// Every record as its name and stamp.
pub(crate) fn stamps(collection: &dyn Collection) -> Outcome<Vec<(String, String)>> {
    let records = collection.require_sources()?.find_records(&all())?;
    Ok(records
        .into_iter()
        .map(|record| (record.source, record.stamp))
        .collect())
}

/// Stores a record for each name, without drawers.
pub(crate) fn remember(collection: &dyn Collection, names: &[&str]) -> Outcome {
    let revisions = names
        .iter()
        .map(|name| revision(name, None, &format!("of {name}"), []));
    for revised in collection.require_sources()?.revise(revisions.collect())? {
        done(revised)?;
    }
    Ok(())
}

/// Files one new state of a source; being overtaken is a failure.
pub(crate) fn revise_one(
    collection: &dyn Collection,
    revision: Revision<'_>,
) -> Outcome<(Receipt, Option<u64>)> {
    let mut revised = collection.require_sources()?.revise(vec![revision])?;
    same!(revised.len(), 1, "answers to one revision");
    done(revised.remove(0))
}

/// What a revision did; being overtaken is a failure.
pub(crate) fn done(revised: Revised) -> Outcome<(Receipt, Option<u64>)> {
    match revised {
        Revised::Done { receipt, revision } => Ok((receipt, revision)),
        Revised::Overtaken => Err(Failure::new("expected a revision to be done, found it overtaken")),
    }
}
