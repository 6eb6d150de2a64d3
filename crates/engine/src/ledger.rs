//! Records of a collection beside those of sources: found by name, or page by page under a prefix.

use loci_core::{Collection, CollectionExt, Result, SourceRecord, SourceRecordQuery};

/// The number of records asked for at once.
pub(crate) const PAGE: usize = 500;

/// Returns the records of these names; names without one are skipped.
pub(crate) fn find_named(collection: &dyn Collection, names: Vec<String>) -> Result<Vec<SourceRecord>> {
    collection
        .require_sources()?
        .find_records(&SourceRecordQuery::Named(names))
}

/// Calls `each` with all records under a prefix, page by page; a collection without records has none.
pub(crate) fn visit_under(
    collection: &dyn Collection,
    prefix: &str,
    each: &mut dyn FnMut(Vec<SourceRecord>) -> Result<()>,
) -> Result<()> {
    let Some(ledger) = collection.sources() else {
        return Ok(());
    };
    let mut after = None;
    loop {
        let page = ledger.find_records(&SourceRecordQuery::Under {
            prefix: prefix.to_owned(),
            after,
            limit: PAGE,
        })?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.source.clone());
        each(page)?;
    }
}
