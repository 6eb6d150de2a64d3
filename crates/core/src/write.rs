//! Writes and their receipt: add, upsert, update, delete.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vector::{check_vector, dimension_mismatch};
use crate::{
    Drawer, DrawerCondition, DrawerContext, DrawerId, DrawerPlace, Error, ErrorKind, IdempotencyKey,
    Metadata, MetadataValue, Metric, Provenance, Result, Timestamp, VectorOrigin,
};

/// A batch to apply, with its idempotency key and time budget.
#[derive(Debug, Clone, Copy)]
pub struct ApplyRequest<'a> {
    /// The writes, in order.
    pub writes: &'a [Write],
    /// Makes a repetition harmless: a batch applied under this key within the last day, by any process, is not
    /// applied again, and its original receipt is returned. The same key with other writes is `Conflict`. A batch
    /// that failed leaves its key unused. Keys are separate for each collection and each `visible` filter.
    pub key: Option<&'a IdempotencyKey>,
    /// Drawers that must still be stored as they are here, apart from their vectors. They are compared in the same step
    /// as the writes: if one of them was changed or removed, or is out of sight, nothing is written and the call is a
    /// `Conflict`. Needs [`crate::Capability::ConditionalBatch`]. They are no part of the batch that a key remembers.
    pub expects: &'a [Drawer],
    /// The time budget, waiting included; a call that exceeds it writes nothing and fails with `TimedOut`.
    pub budget: Option<Duration>,
}

impl<'a> ApplyRequest<'a> {
    /// Creates a request for these writes, without key or budget.
    pub fn from_writes(writes: &'a [Write]) -> Self {
        Self {
            writes,
            key: None,
            expects: &[],
            budget: None,
        }
    }

    /// Sets the idempotency key.
    #[must_use]
    pub fn under_key(mut self, key: &'a IdempotencyKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the drawers that must still be stored as they are here.
    #[must_use]
    pub fn expecting(mut self, drawers: &'a [Drawer]) -> Self {
        self.expects = drawers;
        self
    }

    /// Sets the time budget.
    #[must_use]
    pub fn within_budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }
}

/// One change to a collection. A batch of them is applied in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Files a new drawer. An existing drawer with this id is left unchanged and listed as kept; one filed for the
    /// same piece of the same source under another id is left unchanged and listed among the twins.
    Add(NewDrawer),
    /// Files a drawer, replacing any drawer with this id as a whole.
    Upsert(NewDrawer),
    /// Changes the given fields of a drawer; an unknown id is listed as missing and nothing is created.
    Update(DrawerPatch),
    /// Removes drawers; unknown ids are listed as missing.
    Delete(DeleteSelection),
}

/// A drawer to be filed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDrawer {
    /// Its name within the collection.
    pub id: DrawerId,
    /// The text, kept verbatim; may be empty.
    pub document: String,
    /// True if it has no text at all, which differs from an empty text; `document` is then empty.
    pub wordless: bool,
    /// Text to index around the document.
    pub context: Option<DrawerContext>,
    /// The metadata, kept exactly.
    pub metadata: Metadata,
    /// The place to file it in; empty fields are completed from metadata keys of the same name.
    pub place: DrawerPlace,
    /// The filing time; now, if not given.
    pub filed_at: Option<Timestamp>,
    /// The agent, door and origin it is filed by; unrecorded if not given.
    pub provenance: Option<Provenance>,
    /// The number of uses so far.
    pub uses: u64,
    /// Its exact vector; without one it is found only by keyword, id and filter.
    pub embedding: Option<Vec<f32>>,
}

impl NewDrawer {
    /// Creates a drawer with an id and a text and nothing else.
    pub fn new(id: DrawerId, document: impl Into<String>) -> Self {
        Self {
            id,
            document: document.into(),
            wordless: false,
            context: None,
            metadata: Metadata::new(),
            place: DrawerPlace::default(),
            filed_at: None,
            provenance: None,
            uses: 0,
            embedding: None,
        }
    }

    /// Returns the drawer as filed at `filed_at`, with its place completed from its metadata.
    pub fn to_filed_drawer(&self, filed_at: Timestamp) -> Result<Drawer> {
        Ok(Drawer {
            id: self.id.clone(),
            document: (!self.wordless).then(|| self.document.clone()),
            metadata: Some(self.metadata.clone()),
            place: self.place.complete_from(&self.metadata)?,
            // A given time wins, so that moving a palace keeps the times at which its drawers were first
            // filed.
            filed_at: Some(self.filed_at.unwrap_or(filed_at)),
            provenance: self.provenance.clone(),
            uses: self.uses,
            context: self.context.clone(),
            embedding: self.embedding.clone(),
            vector_from: VectorOrigin::default(),
            damage: Vec::new(),
        })
    }

    fn check_fields(&self, metric: Metric) -> Result<()> {
        self.metadata.check_entries()?;
        self.place.complete_from(&self.metadata)?;
        if let Some(span) = &self.place.span {
            span.check_range()?;
        }
        if self.wordless && !self.document.is_empty() {
            return Err(Error::invalid(
                "a drawer is marked as having no text, but has one",
            ));
        }
        if i64::try_from(self.uses).is_err() {
            return Err(Error::invalid(format!(
                "{} uses exceed a 64-bit signed integer",
                self.uses
            )));
        }
        check_embedding(self.embedding.as_deref(), metric)
    }
}

/// The fields of a drawer to change; fields that are not given stay.
///
/// A new document without a new embedding removes the old vector, which no longer represents the text.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawerPatch {
    /// The drawer to change.
    pub id: DrawerId,
    /// Its new text.
    pub document: Option<String>,
    /// Its new context.
    pub context: Option<DrawerContext>,
    /// Metadata keys to set, or to remove where `None`; other keys stay.
    pub metadata: BTreeMap<String, Option<MetadataValue>>,
    /// Place fields to set; `None` fields stay.
    pub place: DrawerPlace,
    /// Its new vector.
    pub embedding: Option<Vec<f32>>,
    /// The provenance of the new text.
    pub provenance: Option<Provenance>,
}

impl DrawerPatch {
    /// Creates a patch that changes nothing yet.
    pub fn new(id: DrawerId) -> Self {
        Self {
            id,
            document: None,
            context: None,
            metadata: BTreeMap::new(),
            place: DrawerPlace::default(),
            embedding: None,
            provenance: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.document.is_none()
            && self.context.is_none()
            && self.metadata.is_empty()
            && self.place == DrawerPlace::default()
            && self.embedding.is_none()
            && self.provenance.is_none()
    }

    fn check_fields(&self, metric: Metric) -> Result<()> {
        if self.is_empty() {
            return Err(Error::invalid("an update changes nothing"));
        }
        // Only keys that are set are checked as metadata; a key to be removed carries no value to check.
        let set: Metadata = self
            .metadata
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
            .collect();
        set.check_entries()?;
        if self.metadata.contains_key("") {
            return Err(Error::invalid("a metadata key is empty"));
        }
        self.place.complete_from(&set)?;
        if let Some(span) = &self.place.span {
            span.check_range()?;
        }
        check_embedding(self.embedding.as_deref(), metric)
    }

    /// Applies this patch to `drawer`, which must hold all its fields.
    pub fn apply_to(&self, drawer: &mut Drawer) {
        if let Some(document) = &self.document
            // The same text again keeps its vector: re-filing an unchanged source must not cost an
            // embedding.
            && drawer.document.as_ref() != Some(document)
        {
            drawer.document = Some(document.clone());
            drawer.embedding = None;
        }
        if let Some(context) = &self.context {
            drawer.context = Some(context.clone());
        }
        // After the document, so that a patch with both ends with the new vector and not without one.
        if let Some(embedding) = &self.embedding {
            drawer.embedding = Some(embedding.clone());
        }
        if let Some(provenance) = &self.provenance {
            drawer.provenance = Some(provenance.clone());
        }
        let metadata = drawer.metadata.get_or_insert_default();
        for (key, value) in &self.metadata {
            match value {
                Some(value) => metadata.insert(key.as_str(), value.clone()),
                None => drop(metadata.remove(key)),
            }
        }
        self.apply_place(&mut drawer.place, drawer.metadata.get_or_insert_default());
    }

    /// Keeps each place field equal to the metadata key of the same name.
    fn apply_place(&self, place: &mut DrawerPlace, metadata: &mut Metadata) {
        for key in DrawerPlace::TEXT_KEYS {
            let Some(field) = place.text_field_mut(key) else {
                continue;
            };
            // The place field leads, and metadata follows only where the key already is text, so that a
            // patch adds no key that the caller did not give.
            if let Some(text) = self.place.text_field(key) {
                *field = Some(text.to_owned());
                if metadata.get(key).is_some_and(|value| value.as_text().is_some()) {
                    metadata.insert(key, text);
                }
            } else if let Some(value) = self.metadata.get(key) {
                // Removing the key, or setting it to something other than text, clears the field with it.
                *field = value.as_ref().and_then(MetadataValue::as_text).map(str::to_owned);
            }
        }
        place.span = self.place.span.or(place.span);
        if let Some(time) = self.place.said_at {
            place.said_at = Some(time);
            if metadata
                .get("said_at")
                .is_some_and(|value| value.as_text().is_some())
            {
                metadata.insert("said_at", time.to_string());
            }
        } else if let Some(value) = self.metadata.get("said_at") {
            let text = value.as_ref().and_then(MetadataValue::as_text);
            place.said_at = text.and_then(|text| text.parse().ok());
        }
    }
}

/// The drawers to delete.
#[derive(Debug, Clone, PartialEq)]
pub enum DeleteSelection {
    /// Drawers with these ids.
    Ids(Vec<DrawerId>),
    /// All drawers that meet the condition; one that [restricts nothing](DrawerCondition::is_unrestricted) is refused.
    Matching(DrawerCondition),
}

/// The result of a write, returned once it is durable. Every id of the batch appears in exactly one list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Ids that were filed for the first time.
    pub added: Vec<DrawerId>,
    /// Ids that existed and were left unchanged.
    pub kept: Vec<DrawerId>,
    /// Ids that existed and were replaced as a whole.
    pub replaced: Vec<DrawerId>,
    /// Ids that existed and were changed in part.
    pub updated: Vec<DrawerId>,
    /// Ids that existed and were removed.
    pub deleted: Vec<DrawerId>,
    /// Ids that were to be changed or removed and did not exist.
    pub missing: Vec<DrawerId>,
    /// Drawers not filed because the same piece of the same source is filed under another id.
    pub twins: Vec<DrawerTwin>,
    /// Ids among the added, replaced and updated ones that now have no vector.
    pub without_vector: Vec<DrawerId>,
    /// The sequence number of the last change; if nothing changed, the one that `info` reports to the same handle.
    pub seq: u64,
}

/// A drawer that was not filed because it already exists under another id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrawerTwin {
    /// The id it was given under.
    pub given: DrawerId,
    /// The id it is filed under.
    pub existing: DrawerId,
}

/// Refuses, before anything is written, a batch that no backend may accept: one that is empty, repeats an id, has
/// vectors that are not finite, of unequal length or, under the metric `cosine`, all zero, or contains an empty update
/// or an unbounded delete.
///
/// Every backend calls this first, so that all refuse the same batches with the same messages.
pub fn check_batch(batch: &[Write], metric: Metric, dimension: Option<usize>) -> Result<()> {
    if batch.is_empty() {
        return Err(Error::invalid("the batch is empty"));
    }
    // With an id twice, the outcome would depend on the order inside the batch, and the receipt could
    // list it in two places.
    let mut seen = BTreeSet::new();
    let mut once = |id: &DrawerId| {
        if seen.insert(id.clone()) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the id {id:?} appears twice in one batch"
        )))
    };
    // In an empty collection the first vector of the batch fixes the length of all the others.
    let mut dimension = dimension;
    for write in batch {
        match write {
            Write::Add(drawer) | Write::Upsert(drawer) => {
                once(&drawer.id)?;
                drawer
                    .check_fields(metric)
                    .map_err(|error| error.with_context("id", &drawer.id))?;
                check_dimension(&drawer.id, drawer.embedding.as_deref(), &mut dimension)?;
            }
            Write::Update(patch) => {
                once(&patch.id)?;
                patch
                    .check_fields(metric)
                    .map_err(|error| error.with_context("id", &patch.id))?;
                check_dimension(&patch.id, patch.embedding.as_deref(), &mut dimension)?;
            }
            Write::Delete(DeleteSelection::Ids(ids)) if ids.is_empty() => {
                return Err(Error::invalid("a delete lists no ids"));
            }
            Write::Delete(DeleteSelection::Ids(ids)) => ids.iter().try_for_each(&mut once)?,
            // A filter that was meant to be filled in and is empty would delete every drawer of the
            // collection.
            Write::Delete(DeleteSelection::Matching(condition)) if condition.is_unrestricted() => {
                return Err(Error::invalid(
                    "a delete by filter needs a filter that restricts something",
                ));
            }
            Write::Delete(DeleteSelection::Matching(_)) => {}
        }
    }
    Ok(())
}

/// Refuses a batch that [expects](ApplyRequest::expects) a drawer which is not stored as it was read, apart from its
/// vector. `stored` is the drawer as it is now, if the caller sees it.
pub fn check_expected(expected: &Drawer, stored: Option<&Drawer>) -> Result<()> {
    if stored.is_some_and(|stored| stored.is_same_apart_from_vector(expected)) {
        return Ok(());
    }
    let change = if stored.is_some() { "changed" } else { "removed" };
    let message = format!(
        "the drawer {:?} was {change} since it was read",
        expected.id.as_str()
    );
    Err(Error::new(ErrorKind::Conflict, message)
        .with_context("id", &expected.id)
        .with_hint("nothing was written; read it again"))
}

fn check_embedding(vector: Option<&[f32]>, metric: Metric) -> Result<()> {
    vector.map_or(Ok(()), |vector| check_vector(vector, metric))
}

fn check_dimension(id: &DrawerId, vector: Option<&[f32]>, expected: &mut Option<usize>) -> Result<()> {
    let Some(vector) = vector else { return Ok(()) };
    match *expected {
        Some(dimension) if dimension != vector.len() => {
            Err(dimension_mismatch(dimension, vector.len()).with_context("id", id))
        }
        _ => {
            *expected = Some(vector.len());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    fn id(text: &str) -> DrawerId {
        DrawerId::new(text).unwrap()
    }

    #[test]
    fn a_delete_that_asks_nothing_is_refused_however_it_is_written() {
        let nothing = [
            Filter::All,
            Filter::And(vec![]),
            Filter::And(vec![Filter::All]),
            Filter::Or(vec![Filter::text_equals("a", "b"), Filter::All]),
        ];
        for filter in nothing {
            let batch = [Write::Delete(DeleteSelection::Matching(filter.clone().into()))];
            assert_eq!(
                check_batch(&batch, Metric::Cosine, None).unwrap_err().kind(),
                ErrorKind::Invalid,
                "{filter:?}"
            );
        }
        let batch = [Write::Delete(DeleteSelection::Matching(
            Filter::text_equals("a", "b").into(),
        ))];
        assert!(check_batch(&batch, Metric::Cosine, None).is_ok());
    }

    #[test]
    fn a_patch_keeps_place_and_metadata_one() {
        let mut new = NewDrawer::new(id("a"), "text");
        new.metadata = Metadata::new().with_entry("wing", "old").with_entry("n", 1_i64);
        let mut drawer = new.to_filed_drawer(Timestamp::from_micros(0).unwrap()).unwrap();
        assert_eq!(drawer.place.wing.as_deref(), Some("old"));
        let place = DrawerPlace {
            wing: Some("new".into()),
            ..DrawerPlace::default()
        };
        DrawerPatch {
            place,
            ..DrawerPatch::new(id("a"))
        }
        .apply_to(&mut drawer);
        assert_eq!(drawer.metadata.as_ref().unwrap().get("wing"), Some(&"new".into()));
        let metadata = BTreeMap::from([("wing".to_owned(), None)]);
        DrawerPatch {
            metadata,
            ..DrawerPatch::new(id("a"))
        }
        .apply_to(&mut drawer);
        assert_eq!(
            (drawer.place.wing.as_deref(), drawer.metadata.unwrap().len()),
            (None, 1)
        );
    }

    #[test]
    fn a_new_text_without_a_new_vector_has_none() {
        let mut new = NewDrawer::new(id("a"), "text");
        new.embedding = Some(vec![1.0]);
        let mut drawer = new.to_filed_drawer(Timestamp::from_micros(0).unwrap()).unwrap();
        DrawerPatch {
            document: Some("text".into()),
            ..DrawerPatch::new(id("a"))
        }
        .apply_to(&mut drawer);
        assert!(drawer.embedding.is_some(), "the same text keeps its vector");
        DrawerPatch {
            document: Some("other".into()),
            ..DrawerPatch::new(id("a"))
        }
        .apply_to(&mut drawer);
        assert_eq!(drawer.embedding, None);
    }
}
