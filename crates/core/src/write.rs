//! Writes and what they return: add, upsert, update, delete, and the receipt.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Context, Drawer, DrawerCondition, DrawerId, Error, ErrorKind, IdempotencyKey, Metadata, Place,
    Provenance, Result, Timestamp, Value, Whereabouts,
};

/// A batch to apply, and how.
#[derive(Debug, Clone, Copy)]
pub struct ApplyRequest<'a> {
    /// The writes, in order.
    pub writes: &'a [Write],
    /// Makes a repetition harmless: a batch applied before under this key, by any process within the last day, is not
    /// applied again and its receipt is returned as it was. The key together with other writes is `Conflict`. A batch
    /// that failed leaves its key unused; each collection has keys of its own, and so has each `visible` filter.
    pub key: Option<&'a IdempotencyKey>,
    /// How long this may take, waiting included; when it is used up nothing was written and the call fails with
    /// `TimedOut`.
    pub budget: Option<Duration>,
}

impl<'a> ApplyRequest<'a> {
    /// These writes, without key or budget.
    pub fn batch(writes: &'a [Write]) -> Self {
        Self {
            writes,
            key: None,
            budget: None,
        }
    }

    /// The same request under an idempotency key.
    #[must_use]
    pub fn under_key(mut self, key: &'a IdempotencyKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The same request with a time budget.
    #[must_use]
    pub fn within(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }
}

/// One change to a collection. A batch of them is applied in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Files a new drawer; one that exists under this id is left as it is and listed as kept, and so is one that is
    /// filed for the same piece of the same source under another id, listed among the twins.
    Add(NewDrawer),
    /// Files a drawer, replacing whole whatever stood under this id.
    Upsert(NewDrawer),
    /// Changes the given fields of a drawer; a missing id is listed as missing and nothing is created.
    Update(Patch),
    /// Removes drawers; ids that are not there are listed as missing.
    Delete(Selection),
}

/// A drawer to be filed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDrawer {
    /// Its name within the collection.
    pub id: DrawerId,
    /// The text, kept verbatim; may be empty.
    pub document: String,
    /// Whether it has no text at all, which is not the same as an empty one; `document` is then empty.
    pub wordless: bool,
    /// Text to index around the document.
    pub context: Option<Context>,
    /// What is known beside the text, kept exactly.
    pub metadata: Metadata,
    /// Where it is filed; empty fields are completed from metadata keys of the same name.
    pub place: Place,
    /// When it was filed; now, if not given.
    pub filed_at: Option<Timestamp>,
    /// Who files it, through which door and from where; unrecorded if not given.
    pub provenance: Option<Provenance>,
    /// How often it has been used so far.
    pub uses: u64,
    /// Its exact vector; without one it is found by keyword, id and filter only.
    pub embedding: Option<Vec<f32>>,
}

impl NewDrawer {
    /// A drawer with an id and a text and nothing else.
    pub fn new(id: DrawerId, document: impl Into<String>) -> Self {
        Self {
            id,
            document: document.into(),
            wordless: false,
            context: None,
            metadata: Metadata::new(),
            place: Place::default(),
            filed_at: None,
            provenance: None,
            uses: 0,
            embedding: None,
        }
    }

    /// The drawer this becomes once filed at `filed_at`, with its place completed from its metadata.
    pub fn filed(&self, filed_at: Timestamp) -> Result<Drawer> {
        Ok(Drawer {
            id: self.id.clone(),
            document: (!self.wordless).then(|| self.document.clone()),
            metadata: Some(self.metadata.clone()),
            place: self.place.completed_from(&self.metadata)?,
            filed_at: Some(self.filed_at.unwrap_or(filed_at)),
            provenance: self.provenance.clone(),
            uses: self.uses,
            context: self.context.clone(),
            embedding: self.embedding.clone(),
            vector_from: Whereabouts::default(),
            damage: Vec::new(),
        })
    }

    fn check(&self) -> Result<()> {
        self.metadata.check()?;
        self.place.completed_from(&self.metadata)?;
        if let Some(span) = &self.place.span {
            span.check()?;
        }
        if self.wordless && !self.document.is_empty() {
            return Err(Error::invalid("a drawer is said to have no text, and has one"));
        }
        if i64::try_from(self.uses).is_err() {
            return Err(Error::invalid(format!("{} uses do not fit", self.uses)));
        }
        self.embedding.as_deref().map_or(Ok(()), check_vector)
    }
}

/// The fields of a drawer to change; what is not given stays.
///
/// A new document without a new embedding takes the old vector away, because it no longer speaks for the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    /// The drawer to change.
    pub id: DrawerId,
    /// Its new text.
    pub document: Option<String>,
    /// Its new context.
    pub context: Option<Context>,
    /// Metadata keys to set, or to remove where `None`; other keys stay.
    pub metadata: BTreeMap<String, Option<Value>>,
    /// Place fields to set; `None` fields stay.
    pub place: Place,
    /// Its new vector.
    pub embedding: Option<Vec<f32>>,
    /// The provenance of the new text.
    pub provenance: Option<Provenance>,
}

impl Patch {
    /// A patch that changes nothing yet.
    pub fn new(id: DrawerId) -> Self {
        Self {
            id,
            document: None,
            context: None,
            metadata: BTreeMap::new(),
            place: Place::default(),
            embedding: None,
            provenance: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.document.is_none()
            && self.context.is_none()
            && self.metadata.is_empty()
            && self.place == Place::default()
            && self.embedding.is_none()
            && self.provenance.is_none()
    }

    fn check(&self) -> Result<()> {
        if self.is_empty() {
            return Err(Error::invalid("an update changes nothing"));
        }
        let set: Metadata = self
            .metadata
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
            .collect();
        set.check()?;
        if self.metadata.contains_key("") {
            return Err(Error::invalid("a metadata key is empty"));
        }
        self.place.completed_from(&set)?;
        if let Some(span) = &self.place.span {
            span.check()?;
        }
        self.embedding.as_deref().map_or(Ok(()), check_vector)
    }

    /// Changes `drawer`, which must hold all its fields, as this patch says.
    pub fn apply_to(&self, drawer: &mut Drawer) {
        if let Some(document) = &self.document
            && drawer.document.as_ref() != Some(document)
        {
            drawer.document = Some(document.clone());
            drawer.embedding = None;
        }
        if let Some(context) = &self.context {
            drawer.context = Some(context.clone());
        }
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

    /// Keeps the rule that a place field and the metadata key of its name are one thing.
    fn apply_place(&self, place: &mut Place, metadata: &mut Metadata) {
        for key in Place::TEXT_KEYS {
            let Some(field) = place.text_mut(key) else {
                continue;
            };
            if let Some(text) = self.place.text(key) {
                *field = Some(text.to_owned());
                if metadata.get(key).is_some_and(|value| value.as_text().is_some()) {
                    metadata.insert(key, text);
                }
            } else if let Some(value) = self.metadata.get(key) {
                *field = value.as_ref().and_then(Value::as_text).map(str::to_owned);
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
            let text = value.as_ref().and_then(Value::as_text);
            place.said_at = text.and_then(|text| text.parse().ok());
        }
    }
}

/// Which drawers to delete.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// These.
    Ids(Vec<DrawerId>),
    /// All that meet the condition; one that [asks nothing](DrawerCondition::asks_nothing) is refused.
    Matching(DrawerCondition),
}

/// What a write did, returned once it is durable. Every id of the batch stands in exactly one list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Filed for the first time.
    pub added: Vec<DrawerId>,
    /// Was there already and was left as it is.
    pub kept: Vec<DrawerId>,
    /// Was there and was replaced whole.
    pub replaced: Vec<DrawerId>,
    /// Was there and was changed in part.
    pub updated: Vec<DrawerId>,
    /// Was there and was removed.
    pub deleted: Vec<DrawerId>,
    /// Was to be changed or removed and was not there.
    pub missing: Vec<DrawerId>,
    /// Was not filed because the same piece of the same source is filed under another id.
    pub twins: Vec<Twin>,
    /// Of those added, replaced or updated: which have no vector now.
    pub without_vector: Vec<DrawerId>,
    /// The sequence number of the last change; where nothing changed, the one that `info` shows the same handle.
    pub seq: u64,
}

/// A drawer that was not filed because it is there under another id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twin {
    /// The id it was given under.
    pub given: DrawerId,
    /// The id it is filed under.
    pub existing: DrawerId,
}

/// Refuses, before anything is written, a batch that no backend may accept: empty, with an id named twice, with
/// vectors that are not finite, zero or of unequal length, with an empty update or an unbounded delete.
///
/// Every backend calls this first, so that they all refuse the same things in the same words.
pub fn check_batch(batch: &[Write], dimension: Option<usize>) -> Result<()> {
    if batch.is_empty() {
        return Err(Error::invalid("the batch is empty"));
    }
    let mut seen = BTreeSet::new();
    let mut once = |id: &DrawerId| {
        if seen.insert(id.clone()) {
            return Ok(());
        }
        Err(Error::invalid(format!("the id {id:?} stands twice in one batch")))
    };
    let mut dimension = dimension;
    for write in batch {
        match write {
            Write::Add(drawer) | Write::Upsert(drawer) => {
                once(&drawer.id)?;
                drawer.check().map_err(|error| error.with("id", &drawer.id))?;
                check_dimension(&drawer.id, drawer.embedding.as_deref(), &mut dimension)?;
            }
            Write::Update(patch) => {
                once(&patch.id)?;
                patch.check().map_err(|error| error.with("id", &patch.id))?;
                check_dimension(&patch.id, patch.embedding.as_deref(), &mut dimension)?;
            }
            Write::Delete(Selection::Ids(ids)) if ids.is_empty() => {
                return Err(Error::invalid("a delete names no ids"));
            }
            Write::Delete(Selection::Ids(ids)) => ids.iter().try_for_each(&mut once)?,
            Write::Delete(Selection::Matching(condition)) if condition.asks_nothing() => {
                return Err(Error::invalid(
                    "a delete by filter needs a filter that asks for something",
                ));
            }
            Write::Delete(Selection::Matching(_)) => {}
        }
    }
    Ok(())
}

/// Refuses a vector with a value that is not finite, or that is all zero or empty.
pub fn check_vector(vector: &[f32]) -> Result<()> {
    if vector.is_empty() {
        return Err(Error::invalid("the vector is empty"));
    }
    if let Some(at) = vector.iter().position(|value| !value.is_finite()) {
        return Err(Error::invalid(format!(
            "the vector's value {at} is not a finite number"
        )));
    }
    if vector.iter().all(|value| *value == 0.0) {
        return Err(Error::invalid("the vector is all zero"));
    }
    Ok(())
}

fn check_dimension(id: &DrawerId, vector: Option<&[f32]>, expected: &mut Option<usize>) -> Result<()> {
    let Some(vector) = vector else { return Ok(()) };
    match *expected {
        Some(dimension) if dimension != vector.len() => {
            Err(dimension_mismatch(dimension, vector.len()).with("id", id))
        }
        _ => {
            *expected = Some(vector.len());
            Ok(())
        }
    }
}

/// The error for a vector of another length than the collection's.
pub fn dimension_mismatch(expected: usize, found: usize) -> Error {
    Error::new(
        ErrorKind::DimensionMismatch,
        format!("the vector has {found} values; this collection's vectors have {expected}"),
    )
    .hint("nothing was written; use vectors of the collection's own model")
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
            Filter::Or(vec![Filter::text("a", "b"), Filter::All]),
        ];
        for filter in nothing {
            let batch = [Write::Delete(Selection::Matching(filter.clone().into()))];
            assert_eq!(
                check_batch(&batch, None).unwrap_err().kind(),
                ErrorKind::Invalid,
                "{filter:?}"
            );
        }
        let batch = [Write::Delete(Selection::Matching(Filter::text("a", "b").into()))];
        assert!(check_batch(&batch, None).is_ok());
    }

    #[test]
    fn a_patch_keeps_place_and_metadata_one() {
        let mut new = NewDrawer::new(id("a"), "text");
        new.metadata = Metadata::new().with("wing", "old").with("n", 1_i64);
        let mut drawer = new.filed(Timestamp::from_micros(0).unwrap()).unwrap();
        assert_eq!(drawer.place.wing.as_deref(), Some("old"));
        let place = Place {
            wing: Some("new".into()),
            ..Place::default()
        };
        Patch {
            place,
            ..Patch::new(id("a"))
        }
        .apply_to(&mut drawer);
        assert_eq!(drawer.metadata.as_ref().unwrap().get("wing"), Some(&"new".into()));
        let metadata = BTreeMap::from([("wing".to_owned(), None)]);
        Patch {
            metadata,
            ..Patch::new(id("a"))
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
        let mut drawer = new.filed(Timestamp::from_micros(0).unwrap()).unwrap();
        Patch {
            document: Some("text".into()),
            ..Patch::new(id("a"))
        }
        .apply_to(&mut drawer);
        assert!(drawer.embedding.is_some(), "the same text keeps its vector");
        Patch {
            document: Some("other".into()),
            ..Patch::new(id("a"))
        }
        .apply_to(&mut drawer);
        assert_eq!(drawer.embedding, None);
    }

    #[test]
    fn vectors_that_mean_nothing_are_refused() {
        for vector in [vec![], vec![0.0, -0.0], vec![f32::NAN], vec![1.0, f32::INFINITY]] {
            assert!(check_vector(&vector).is_err(), "{vector:?}");
        }
        assert!(check_vector(&[0.0, 1e-30]).is_ok());
    }
}
