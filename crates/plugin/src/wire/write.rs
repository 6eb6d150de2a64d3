//! Writes on the wire.

use std::borrow::Cow;
use std::collections::BTreeMap;

use loci_core::{
    DeleteSelection, DrawerContext, DrawerPatch, DrawerPlace, MetadataValue, Provenance, Timestamp, Write,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use super::WireResult;
use super::drawer::{WireDrawer, WirePlace, read_id};
use super::filter::WireCondition;
use super::scalar::{ValueForm, parse_value};
use crate::frame::{BlobReader, put_values};

/// One write as it travels.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireWrite<'a> {
    Add(WireDrawer<'a>),
    Upsert(WireDrawer<'a>),
    Update(WirePatch<'a>),
    Delete(Vec<Cow<'a, str>>),
    DeleteMatching(WireCondition),
}

impl<'a> WireWrite<'a> {
    /// Returns the form of a write, and appends its vector to `blob`.
    pub(crate) fn from_write(write: &'a Write, blob: &mut Vec<u8>) -> Self {
        match write {
            Write::Add(new) => Self::Add(WireDrawer::from_new(new, blob)),
            Write::Upsert(new) => Self::Upsert(WireDrawer::from_new(new, blob)),
            Write::Update(patch) => Self::Update(WirePatch::from_patch(patch, blob)),
            Write::Delete(DeleteSelection::Ids(ids)) => {
                Self::Delete(ids.iter().map(|id| id.as_str().into()).collect())
            }
            Write::Delete(DeleteSelection::Matching(condition)) => {
                Self::DeleteMatching(WireCondition::new(&condition.filter, &condition.document))
            }
        }
    }

    pub(crate) fn into_write(self, blob: &mut BlobReader<'_>) -> WireResult<Write> {
        Ok(match self {
            Self::Add(drawer) => Write::Add(drawer.into_new(blob)?),
            Self::Upsert(drawer) => Write::Upsert(drawer.into_new(blob)?),
            Self::Update(patch) => Write::Update(patch.into_patch(blob)?),
            Self::Delete(ids) => {
                let ids = ids.into_iter().map(read_id).collect::<WireResult<_>>()?;
                Write::Delete(DeleteSelection::Ids(ids))
            }
            Self::DeleteMatching(condition) => Write::Delete(DeleteSelection::Matching(condition.parse()?)),
        })
    }
}

/// Returns the forms of a batch and the vectors behind them.
pub(crate) fn wire_batch(writes: &[Write]) -> (Vec<WireWrite<'_>>, Vec<u8>) {
    let values = |write: &Write| match write {
        Write::Add(new) | Write::Upsert(new) => new.embedding.as_ref().map_or(0, Vec::len),
        Write::Update(patch) => patch.embedding.as_ref().map_or(0, Vec::len),
        Write::Delete(_) => 0,
    };
    let mut blob = Vec::with_capacity(4 * writes.iter().map(values).sum::<usize>());
    let forms = writes
        .iter()
        .map(|write| WireWrite::from_write(write, &mut blob))
        .collect();
    (forms, blob)
}

/// Reads a batch with its vectors.
pub(crate) fn read_batch(forms: Vec<WireWrite<'_>>, mut blob: BlobReader<'_>) -> WireResult<Vec<Write>> {
    let writes = forms
        .into_iter()
        .map(|form| form.into_write(&mut blob))
        .collect::<WireResult<_>>()?;
    blob.check_end()?;
    Ok(writes)
}

/// An update as it travels: only the fields to change.
#[derive(Serialize, Deserialize)]
pub(crate) struct WirePatch<'a> {
    id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Cow<'a, DrawerContext>>,
    #[serde(
        default,
        serialize_with = "write_changes",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    metadata: BTreeMap<Cow<'a, str>, PatchedValue<'a>>,
    #[serde(default)]
    place: WirePlace<'a>,
    /// The time under the metadata key `said_at`, if that is set to a text that is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata_said_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Cow<'a, Provenance>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<usize>,
}

/// The new value of a metadata key; `null` removes the key.
#[derive(Deserialize)]
#[serde(from = "Json")]
enum PatchedValue<'a> {
    Sent(Option<&'a MetadataValue>),
    Received(Json),
}

impl From<Json> for PatchedValue<'_> {
    fn from(json: Json) -> Self {
        Self::Received(json)
    }
}

fn write_changes<S: Serializer>(
    changes: &BTreeMap<Cow<'_, str>, PatchedValue<'_>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(changes.iter().map(|(key, value)| match value {
        PatchedValue::Sent(value) => (key, value.map(ValueForm)),
        PatchedValue::Received(_) => (key, None),
    }))
}

impl<'a> WirePatch<'a> {
    fn from_patch(patch: &'a DrawerPatch, blob: &mut Vec<u8>) -> Self {
        let said = patch.metadata.get("said_at").and_then(Option::as_ref);
        let said = said
            .and_then(MetadataValue::as_text)
            .and_then(|text| text.parse::<Timestamp>().ok());
        let changes = patch.metadata.iter();
        Self {
            id: patch.id.as_str().into(),
            document: patch.document.as_deref().map(Cow::Borrowed),
            context: patch.context.as_ref().map(Cow::Borrowed),
            metadata: changes
                .map(|(key, value)| (Cow::Borrowed(key.as_str()), PatchedValue::Sent(value.as_ref())))
                .collect(),
            place: WirePlace::from_place(Cow::Borrowed(&patch.place)),
            metadata_said_at: said.map(Timestamp::as_micros),
            provenance: patch.provenance.as_ref().map(Cow::Borrowed),
            values: patch.embedding.as_ref().map(|vector| {
                put_values(blob, vector);
                vector.len()
            }),
        }
    }

    fn into_patch(self, blob: &mut BlobReader<'_>) -> WireResult<DrawerPatch> {
        let place: DrawerPlace = self.place.into_place()?;
        let changes = self.metadata.into_iter().map(|(key, value)| {
            let value = match value {
                PatchedValue::Sent(value) => value.cloned(),
                PatchedValue::Received(Json::Null) => None,
                PatchedValue::Received(json) => Some(parse_value(json)?),
            };
            Ok((key.into_owned(), value))
        });
        Ok(DrawerPatch {
            id: read_id(self.id)?,
            document: self.document.map(Cow::into_owned),
            context: self.context.map(Cow::into_owned),
            metadata: changes.collect::<WireResult<_>>()?,
            place,
            embedding: self.values.map(|count| blob.take_values(count)).transpose()?,
            provenance: self.provenance.map(Cow::into_owned),
        })
    }
}
