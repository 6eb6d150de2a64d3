//! Collecting records that no drawer needs any more.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Collection, CollectionExt, Drawer, DrawerFields, DrawerId, GetRequest, Result, SourceRecord,
    SourceRevision, Timestamp,
};

use super::records::{SECRET_PREFIX, SPANS_PREFIX, SpansStamp, has_seals, name_spans_record};
use crate::ledger::visit_under;

/// Records younger than this stay even if their drawer does not exist: it may be about to be filed.
const GRACE_MICROS: i64 = 3_600_000_000;

/// The number of records removed at once.
const PAGE: usize = 500;

/// Removes the spans of drawers that do not exist any more, and then the secrets that no spans name. The drawers `gone`
/// were removed just now.
pub(crate) fn collect_unused(collection: &dyn Collection, now: Timestamp, gone: &[DrawerId]) -> Result<u64> {
    if !has_seals(collection)? {
        return Ok(0);
    }
    // Listed before the spans: a drawer that is filed from now on touches the record of its secret, whose removal then
    // fails because its revision is another.
    let mut secrets: BTreeMap<String, (String, u64)> = BTreeMap::new();
    visit_under(collection, SECRET_PREFIX, &mut |page| {
        for record in page {
            if let Some(tag) = record.source.strip_prefix(SECRET_PREFIX) {
                secrets.insert(tag.to_owned(), (record.source.clone(), record.revision));
            }
        }
        Ok(())
    })?;
    let gone: HashSet<&DrawerId> = gone.iter().collect();
    let mut unused = Vec::new();
    visit_under(collection, SPANS_PREFIX, &mut |page| {
        let texts = read_texts(collection, &page)?;
        for record in page {
            let Ok(stamp) = serde_json::from_str::<SpansStamp>(&record.stamp) else {
                // Its secrets are not known, so that every secret may be one of them.
                secrets.clear();
                continue;
            };
            let is_needed = match texts.get(&stamp.id) {
                Some(Some(text)) => name_spans_record(&stamp.id, text) == record.source,
                // A text that cannot be read may be the one.
                Some(None) => true,
                None => false,
            };
            let is_young = now.as_micros().saturating_sub(record.revised_at.as_micros()) < GRACE_MICROS;
            if is_needed || (is_young && !gone.contains(&stamp.id)) {
                for span in &stamp.spans {
                    secrets.remove(&span.tag);
                }
            } else {
                unused.push((record.source, record.revision));
            }
        }
        Ok(())
    })?;
    unused.extend(secrets.into_values());
    for page in unused.chunks(PAGE) {
        let removals = page.iter().map(|(name, revision)| SourceRevision {
            source: name.clone(),
            expects: Some(*revision),
            stamp: None,
            parts: Box::new(std::iter::empty()),
        });
        collection.require_sources()?.revise(removals.collect())?;
    }
    Ok(unused.len() as u64)
}

/// Counts the secrets that a label stands for and that are not stored; none in a sound palace.
pub fn count_lost_secrets(collection: &dyn Collection) -> Result<u64> {
    let mut named = HashSet::new();
    visit_under(collection, SPANS_PREFIX, &mut |page| {
        let stamps = page
            .iter()
            .filter_map(|record| serde_json::from_str::<SpansStamp>(&record.stamp).ok());
        named.extend(stamps.flat_map(|stamp| stamp.spans).map(|span| span.tag));
        Ok(())
    })?;
    visit_under(collection, SECRET_PREFIX, &mut |page| {
        for record in page {
            named.remove(record.source.strip_prefix(SECRET_PREFIX).unwrap_or_default());
        }
        Ok(())
    })?;
    Ok(named.len() as u64)
}

/// Returns the texts of the drawers of some records, as far as they can be read.
fn read_texts(
    collection: &dyn Collection,
    page: &[SourceRecord],
) -> Result<HashMap<DrawerId, Option<String>>> {
    let stamps = page
        .iter()
        .filter_map(|record| serde_json::from_str::<SpansStamp>(&record.stamp).ok());
    let drawers = collection.get(&GetRequest {
        include: DrawerFields {
            document: true,
            ..DrawerFields::NOTHING
        },
        ..GetRequest::by_ids(stamps.map(|stamp| stamp.id))
    })?;
    let text = |drawer: Drawer| (drawer.id, drawer.document.filter(|_| drawer.damage.is_empty()));
    Ok(drawers.into_iter().map(text).collect())
}
