//! The records of sealed secrets: each secret once, under its tag, and the spans of each drawer that has labels.
//!
//! The record of a drawer is found by its id and its text, so that another text under the same id never hides it, and
//! equal words in another drawer open nothing. Records are written before their drawer; those that no drawer needs are
//! collected when the palace is compacted or words are forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use loci_core::{
    Collection, CollectionExt, Drawer, DrawerId, Error, ErrorKind, MetadataScalar, MetadataValue, Result,
    RevisionOutcome, SourceRecordQuery, SourceRevision,
};
use serde::{Deserialize, Serialize};

use super::drawer::DrawerSeals;
use super::span::SealedSpan;
use crate::ledger::{PAGE, find_named, visit_under};
use crate::palace::Palace;

/// The beginning of the names of sealed secrets; the tag follows.
pub(super) const SECRET_PREFIX: &str = "loci:secret:";
/// The beginning of the names of spans; a hash of the drawer follows.
pub(super) const SPANS_PREFIX: &str = "loci:seal:";
/// The beginning of the name that tells which key makes the tags; its fingerprint follows.
pub(super) const NAMING_PREFIX: &str = "loci:sealing:";
/// The name of the policy.
pub(super) const POLICY_RECORD: &str = "loci:secrets";

/// The number of times a write is tried again because another process changed a record.
const TRIES: usize = 50;

/// The record of the spans of one drawer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SpansStamp {
    /// The id of the drawer.
    pub(super) id: DrawerId,
    /// The labels, without the secrets.
    pub(super) spans: Vec<SealedSpan>,
}

/// Returns the name of the record of a drawer's spans.
pub(super) fn name_spans_record(id: &DrawerId, text: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("loci 2026-11 spans of sealed secrets");
    for part in [id.as_str(), text] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    format!("{SPANS_PREFIX}{}", hash.get(..40).unwrap_or_default())
}

/// Returns the stamp of a record, if it exists.
pub(super) fn find_stamp(collection: &dyn Collection, name: &str) -> Result<Option<String>> {
    if collection.sources().is_none() {
        return Ok(None);
    }
    let found = find_named(collection, vec![name.to_owned()])?;
    Ok(found.into_iter().next().map(|record| record.stamp))
}

/// Returns the fingerprints of the keys that made tags in a collection; none if nothing was ever sealed in it.
pub(crate) fn naming_fingerprints(collection: &dyn Collection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    visit_under(collection, NAMING_PREFIX, &mut |page| {
        let names = page
            .iter()
            .filter_map(|record| record.source.strip_prefix(NAMING_PREFIX));
        found.extend(names.map(str::to_owned));
        Ok(())
    })?;
    Ok(found)
}

/// Returns whether a collection has drawers with labels.
pub(super) fn has_seals(collection: &dyn Collection) -> Result<bool> {
    let Some(ledger) = collection.sources() else {
        return Ok(false);
    };
    for prefix in [SPANS_PREFIX, SECRET_PREFIX] {
        let first = ledger.find_records(&SourceRecordQuery::Under {
            prefix: prefix.to_owned(),
            after: None,
            limit: 1,
        })?;
        if !first.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes records, whatever stamps they have now.
pub(crate) fn put_records(collection: &dyn Collection, records: BTreeMap<String, String>) -> Result<()> {
    write_records(collection, records.keys().cloned().collect(), &mut |name, _| {
        records.get(name).cloned()
    })
}

/// Gives each of these records the stamp that `choose` returns for its present one.
///
/// A record whose stamp stays is written all the same: a process that is about to remove it as unused must notice that
/// it is needed again.
pub(super) fn write_records(
    collection: &dyn Collection,
    mut names: BTreeSet<String>,
    choose: &mut dyn FnMut(&str, Option<&str>) -> Option<String>,
) -> Result<()> {
    for _ in 0..TRIES {
        if names.is_empty() {
            return Ok(());
        }
        let mut there = HashMap::new();
        let all: Vec<String> = names.iter().cloned().collect();
        for page in all.chunks(PAGE) {
            let found = find_named(collection, page.to_vec())?;
            there.extend(found.into_iter().map(|record| (record.source.clone(), record)));
        }
        let revisions = all.iter().map(|name| {
            let old = there.get(name);
            SourceRevision {
                source: name.clone(),
                expects: old.map(|old| old.revision),
                stamp: choose(name, old.map(|old| old.stamp.as_str())),
                parts: Box::new(std::iter::empty()),
            }
        });
        let done = collection.require_sources()?.revise(revisions.collect())?;
        for (name, outcome) in all.iter().zip(done) {
            if matches!(outcome, RevisionOutcome::Done { .. }) {
                names.remove(name);
            }
        }
    }
    Err(Error::new(
        ErrorKind::Conflict,
        "other processes kept changing the records of the same secrets",
    )
    .with_hint("nothing was filed; run the same command again"))
}

/// Writes the records of drawers that are about to be filed.
///
/// `opens` tells whether a secret under a tag can be decrypted here. One that is stored and can be opened stays: it may be
/// encrypted under a newer key. One that cannot gives way to one that can.
pub(super) fn put_seals(
    collection: &dyn Collection,
    drawers: &[DrawerSeals<'_>],
    opens: &dyn Fn(&str, &str) -> bool,
) -> Result<()> {
    let mut given = BTreeMap::new();
    let mut names = BTreeSet::new();
    for drawer in drawers.iter().filter(|drawer| !drawer.spans.is_empty()) {
        let mut spans = drawer.spans.to_vec();
        for span in &mut spans {
            let name = format!("{SECRET_PREFIX}{}", span.tag);
            // Touched even if it is there already, so that no other process collects it.
            names.insert(name.clone());
            if let Some(sealed) = span.sealed.take() {
                given.insert(name, sealed);
            }
        }
        let stamp = SpansStamp {
            id: drawer.id.clone(),
            spans,
        };
        let stamp = serde_json::to_string(&stamp).expect("texts and numbers can be written as JSON");
        given.insert(name_spans_record(drawer.id, drawer.text), stamp);
    }
    names.extend(given.keys().cloned());
    write_records(collection, names, &mut |name, old| match (
        name.strip_prefix(SECRET_PREFIX),
        old,
        given.get(name),
    ) {
        (_, None, new) => new.cloned(),
        (_, Some(old), None) => Some(old.to_owned()),
        (Some(tag), Some(old), Some(new)) => {
            let renews = old != new && !opens(tag, old) && opens(tag, new);
            Some(if renews { new.clone() } else { old.to_owned() })
        }
        (None, Some(old), Some(new)) => Some(join_spans(old, new)),
    })
}

/// Joins the spans of two records of a drawer. Its metadata may have changed since the first was written; a span whose
/// label is gone is ignored wherever it is read.
fn join_spans(old: &str, new: &str) -> String {
    let parse = |stamp: &str| serde_json::from_str::<SpansStamp>(stamp).ok();
    let (Some(mut joined), Some(new)) = (parse(old), parse(new)) else {
        return new.to_owned();
    };
    for span in new.spans {
        if !joined.spans.iter().any(|old| old.is_at_place_of(&span)) {
            joined.spans.push(span);
        }
    }
    serde_json::to_string(&joined).expect("texts and numbers can be written as JSON")
}

/// Records which key makes the tags of a collection.
pub(super) fn put_naming_key(collection: &dyn Collection, fingerprint: &str) -> Result<()> {
    put_records(
        collection,
        [(format!("{NAMING_PREFIX}{fingerprint}"), "1".to_owned())].into(),
    )
}

/// Returns whether a drawer has anything that looks like a label.
pub(crate) fn may_have_label(drawer: &Drawer) -> bool {
    const BEGIN: &str = "⟦sealed ";
    let in_scalar =
        |scalar: &MetadataScalar| matches!(scalar, MetadataScalar::Text(text) if text.contains(BEGIN));
    let in_value = |value: &MetadataValue| match value {
        MetadataValue::One(scalar) => in_scalar(scalar),
        MetadataValue::Many(members) => members.iter().any(in_scalar),
    };
    drawer.document.as_ref().is_some_and(|text| text.contains(BEGIN))
        || drawer
            .metadata
            .as_ref()
            .is_some_and(|metadata| metadata.iter().any(|(_, value)| in_value(value)))
}

/// Goes on with the key that made the tags of imported secrets, if the collection has none yet and it is here.
pub(crate) fn adopt_naming_key(
    palace: &Palace,
    collection: &dyn Collection,
    fingerprints: &[String],
) -> Result<()> {
    if fingerprints.is_empty() || !naming_fingerprints(collection)?.is_empty() {
        return Ok(());
    }
    for fingerprint in fingerprints {
        if palace.find_key(fingerprint)?.is_some() {
            return put_naming_key(collection, fingerprint);
        }
    }
    Ok(())
}

/// Returns the spans of a drawer with their encrypted secrets.
pub(crate) fn read_whole_spans(collection: &dyn Collection, drawer: &Drawer) -> Result<Vec<SealedSpan>> {
    let seals = FoundSeals::look_up(collection, std::iter::once(drawer))?;
    let mut spans = seals.spans_of(&drawer.id).to_vec();
    if spans.is_empty() {
        return Ok(spans);
    }
    let secrets = seals.find_secrets(collection)?;
    let text = drawer.document.as_deref().unwrap_or_default();
    spans.retain(|span| span.is_met_by(text, drawer.metadata.as_ref()));
    for span in &mut spans {
        span.sealed = secrets.get(&span.tag).cloned();
    }
    Ok(spans)
}

/// The spans of some drawers, with their secrets still encrypted.
#[derive(Debug, Default)]
pub(crate) struct FoundSeals(HashMap<DrawerId, Vec<SealedSpan>>);

impl FoundSeals {
    /// Looks up the spans of drawers by their ids and texts.
    pub(crate) fn look_up<'d>(
        collection: &dyn Collection,
        drawers: impl Iterator<Item = &'d Drawer>,
    ) -> Result<Self> {
        let mut found = HashMap::new();
        if collection.sources().is_none() {
            return Ok(Self(found));
        }
        // Most drawers have nothing that looks like a label, and cost nothing.
        let names: Vec<String> = drawers
            .filter(|drawer| may_have_label(drawer))
            .map(|drawer| name_spans_record(&drawer.id, drawer.document.as_deref().unwrap_or_default()))
            .collect();
        for page in names.chunks(PAGE) {
            for record in find_named(collection, page.to_vec())? {
                if let Ok(mut stamp) = serde_json::from_str::<SpansStamp>(&record.stamp) {
                    stamp.spans.sort_by_key(|span| (span.field.is_some(), span.start));
                    found.insert(stamp.id, stamp.spans);
                }
            }
        }
        Ok(Self(found))
    }

    /// Returns the spans of a drawer.
    pub(crate) fn spans_of(&self, id: &DrawerId) -> &[SealedSpan] {
        self.0.get(id).map_or(&[], Vec::as_slice)
    }

    /// Looks up the encrypted secrets, by tag.
    pub(crate) fn find_secrets(&self, collection: &dyn Collection) -> Result<HashMap<String, String>> {
        find_secrets(collection, self.0.values().flatten().map(|span| &span.tag))
    }
}

/// Returns the encrypted secrets of these tags, by tag.
pub(super) fn find_secrets<'t>(
    collection: &dyn Collection,
    tags: impl Iterator<Item = &'t String>,
) -> Result<HashMap<String, String>> {
    let tags: BTreeSet<&String> = tags.collect();
    let names: Vec<String> = tags
        .into_iter()
        .map(|tag| format!("{SECRET_PREFIX}{tag}"))
        .collect();
    let mut found = HashMap::new();
    if collection.sources().is_none() {
        return Ok(found);
    }
    for page in names.chunks(PAGE) {
        for record in find_named(collection, page.to_vec())? {
            if let Some(tag) = record.source.strip_prefix(SECRET_PREFIX) {
                found.insert(tag.to_owned(), record.stamp);
            }
        }
    }
    Ok(found)
}
