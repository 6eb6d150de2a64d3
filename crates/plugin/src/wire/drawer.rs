//! Drawers on the wire.

use std::borrow::Cow;

use loci_core::{
    Drawer, DrawerContext, DrawerHit, DrawerId, DrawerPlace, Metadata, NewDrawer, Provenance, SourceSpan,
    Timestamp, VectorOrigin,
};
use serde::{Deserialize, Serialize, Serializer};

use super::WireResult;
use super::scalar::{MetadataForm, ReceivedMetadata};
use crate::frame::{BlobReader, put_values};

/// A place as it travels: only the fields that are set, times in microseconds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WirePlace<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    wing: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SourceSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    said_at: Option<i64>,
}

impl<'a> WirePlace<'a> {
    pub(crate) fn from_place(place: Cow<'a, DrawerPlace>) -> Self {
        let said_at = place.said_at.map(Timestamp::as_micros);
        let span = place.span;
        match place {
            Cow::Borrowed(place) => {
                let text = |field: &'a Option<String>| field.as_deref().map(Cow::Borrowed);
                Self {
                    wing: text(&place.wing),
                    room: text(&place.room),
                    source: text(&place.source),
                    speaker: text(&place.speaker),
                    kind: text(&place.kind),
                    span,
                    said_at,
                }
            }
            Cow::Owned(place) => Self {
                wing: place.wing.map(Cow::Owned),
                room: place.room.map(Cow::Owned),
                source: place.source.map(Cow::Owned),
                speaker: place.speaker.map(Cow::Owned),
                kind: place.kind.map(Cow::Owned),
                span,
                said_at,
            },
        }
    }

    pub(crate) fn into_place(self) -> WireResult<DrawerPlace> {
        Ok(DrawerPlace {
            wing: self.wing.map(Cow::into_owned),
            room: self.room.map(Cow::into_owned),
            source: self.source.map(Cow::into_owned),
            span: self.span,
            speaker: self.speaker.map(Cow::into_owned),
            kind: self.kind.map(Cow::into_owned),
            said_at: read_time(self.said_at)?,
        })
    }
}

/// Metadata as it travels.
pub(crate) enum WireMetadata<'a> {
    Sent(&'a Metadata),
    Received(Metadata),
}

impl Serialize for WireMetadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sent(metadata) => MetadataForm(metadata).serialize(serializer),
            Self::Received(metadata) => MetadataForm(metadata).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WireMetadata<'_> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ReceivedMetadata::deserialize(deserializer).map(|read| Self::Received(read.0))
    }
}

impl WireMetadata<'_> {
    fn into_metadata(self) -> Metadata {
        match self {
            Self::Sent(metadata) => metadata.clone(),
            Self::Received(metadata) => metadata,
        }
    }
}

/// A drawer as it travels, to be filed or as it was read. Its vector follows in the blob.
#[derive(Serialize, Deserialize)]
pub(crate) struct WireDrawer<'a> {
    id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<WireMetadata<'a>>,
    #[serde(default)]
    place: WirePlace<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filed_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Cow<'a, Provenance>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    uses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Cow<'a, DrawerContext>>,
    /// The number of values in its vector, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<usize>,
    #[serde(default, skip_serializing_if = "is_empty")]
    damage: Cow<'a, [String]>,
}

fn is_zero(uses: &u64) -> bool {
    *uses == 0
}

fn is_empty(list: &[String]) -> bool {
    list.is_empty()
}

fn read_time(micros: Option<i64>) -> WireResult<Option<Timestamp>> {
    let time = micros.map(Timestamp::from_micros).transpose();
    time.map_err(|error| error.to_string())
}

fn put_vector(blob: &mut Vec<u8>, vector: Option<&Vec<f32>>) -> Option<usize> {
    let vector = vector?;
    put_values(blob, vector);
    Some(vector.len())
}

impl<'a> WireDrawer<'a> {
    /// Returns the form of a drawer that was read, and appends its vector to `blob`.
    pub(crate) fn from_drawer(drawer: &'a Drawer, blob: &mut Vec<u8>) -> Self {
        Self {
            id: drawer.id.as_str().into(),
            document: drawer.document.as_deref().map(Cow::Borrowed),
            metadata: drawer.metadata.as_ref().map(WireMetadata::Sent),
            place: WirePlace::from_place(Cow::Borrowed(&drawer.place)),
            filed_at: drawer.filed_at.map(Timestamp::as_micros),
            provenance: drawer.provenance.as_ref().map(Cow::Borrowed),
            uses: drawer.uses,
            context: drawer.context.as_ref().map(Cow::Borrowed),
            values: put_vector(blob, drawer.embedding.as_ref()),
            damage: Cow::Borrowed(&drawer.damage),
        }
    }

    /// Returns the form of a drawer that was read, without its vector.
    pub(crate) fn without_vector(drawer: &'a Drawer) -> Self {
        Self {
            values: None,
            ..Self::from_drawer(drawer, &mut Vec::new())
        }
    }

    /// Returns the form of a drawer to be filed, with its place completed, and appends its vector to `blob`.
    pub(crate) fn from_new(new: &'a NewDrawer, blob: &mut Vec<u8>) -> Self {
        // Completed here, so that a plug-in needs no rules for places and no reader of times. A contradiction was
        // refused before.
        let place = new.place.complete_from(&new.metadata);
        Self {
            id: new.id.as_str().into(),
            document: (!new.wordless).then_some(Cow::Borrowed(new.document.as_str())),
            metadata: Some(WireMetadata::Sent(&new.metadata)),
            place: WirePlace::from_place(place.map_or(Cow::Borrowed(&new.place), Cow::Owned)),
            filed_at: new.filed_at.map(Timestamp::as_micros),
            provenance: new.provenance.as_ref().map(Cow::Borrowed),
            uses: new.uses,
            context: new.context.as_ref().map(Cow::Borrowed),
            values: put_vector(blob, new.embedding.as_ref()),
            damage: Cow::Borrowed(&[]),
        }
    }

    /// Returns the number of bytes it takes, about.
    pub(crate) fn estimated_bytes(drawer: &Drawer) -> usize {
        let text = drawer.document.as_ref().map_or(0, String::len);
        let vector = drawer.embedding.as_ref().map_or(0, |vector| vector.len() * 4);
        let context = drawer
            .context
            .as_ref()
            .map_or(0, |around| around.before.len() + around.after.len());
        text + vector + context + 400
    }

    pub(crate) fn into_drawer(self, blob: &mut BlobReader<'_>) -> WireResult<Drawer> {
        Ok(Drawer {
            id: read_id(self.id)?,
            document: self.document.map(Cow::into_owned),
            metadata: self.metadata.map(WireMetadata::into_metadata),
            place: self.place.into_place()?,
            filed_at: read_time(self.filed_at)?,
            provenance: self.provenance.map(Cow::into_owned),
            uses: self.uses,
            context: self.context.map(Cow::into_owned),
            embedding: self.values.map(|count| blob.take_values(count)).transpose()?,
            vector_from: VectorOrigin::default(),
            damage: self.damage.into_owned(),
        })
    }

    pub(crate) fn into_new(self, blob: &mut BlobReader<'_>) -> WireResult<NewDrawer> {
        Ok(NewDrawer {
            id: read_id(self.id)?,
            wordless: self.document.is_none(),
            document: self.document.map(Cow::into_owned).unwrap_or_default(),
            context: self.context.map(Cow::into_owned),
            metadata: self.metadata.map(WireMetadata::into_metadata).unwrap_or_default(),
            place: self.place.into_place()?,
            filed_at: read_time(self.filed_at)?,
            provenance: self.provenance.map(Cow::into_owned),
            uses: self.uses,
            embedding: self.values.map(|count| blob.take_values(count)).transpose()?,
        })
    }
}

/// Reads the id of a drawer.
pub(crate) fn read_id(id: Cow<'_, str>) -> WireResult<DrawerId> {
    DrawerId::new(id).map_err(|error| error.to_string())
}

/// A hit as it travels: the list it belongs to and its drawer. Its score is in the blob, before the vector.
#[derive(Serialize, Deserialize)]
pub(crate) struct WireHit<'a> {
    list: usize,
    drawer: WireDrawer<'a>,
}

impl<'a> WireHit<'a> {
    pub(crate) fn from_hit(list: usize, hit: &'a DrawerHit, blob: &mut Vec<u8>) -> Self {
        put_values(blob, &[hit.score]);
        Self {
            list,
            drawer: WireDrawer::from_drawer(&hit.drawer, blob),
        }
    }

    /// Returns the hit and the number of its list.
    pub(crate) fn into_hit(self, blob: &mut BlobReader<'_>) -> WireResult<(usize, DrawerHit)> {
        let score = blob.take_values(1)?;
        let score = score.first().copied().ok_or("a hit has no score")?;
        let drawer = self.drawer.into_drawer(blob)?;
        Ok((self.list, DrawerHit { drawer, score }))
    }
}
