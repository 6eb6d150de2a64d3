//! A drawer as every door shows it.

use loci_core::{
    CollectionName, Context, Drawer, DrawerId, Metadata, OriginKind, Provenance, Span, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{address, find_flags};

/// The most that agents are shown of a name, in bytes.
const LONGEST_NAME: usize = 240;

/// A drawer, or the part of it that is shown. A field without a value is null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DrawerView {
    /// Its collection; only lines of an export name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub collection: Option<CollectionName>,
    /// Its id.
    #[schemars(with = "String")]
    pub id: DrawerId,
    /// Its text; null for a drawer without any.
    pub text: Option<String>,
    /// The text is cut; asking for the drawer by its id returns all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Its metadata, exactly as given.
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub metadata: Option<Metadata>,
    /// The project, person or agent.
    pub wing: Option<String>,
    /// The topic within the wing.
    pub room: Option<String>,
    /// The file, conversation or note it was cut from.
    pub source: Option<String>,
    /// The bytes and lines of its source that it is.
    #[schemars(with = "Option<std::collections::BTreeMap<String, u64>>")]
    pub span: Option<Span>,
    /// The speaker.
    pub speaker: Option<String>,
    /// human, assistant, tool_call, tool_result, thinking, system, file, note, diary…
    pub kind: Option<String>,
    /// When it was said, in UTC.
    #[schemars(with = "Option<String>")]
    pub said_at: Option<Timestamp>,
    /// When it was filed, in UTC.
    #[schemars(with = "Option<String>")]
    pub filed_at: Option<Timestamp>,
    /// How far to believe it, by the way it came in.
    pub trust: TrustMark,
    /// The door it came through, the kind of place it came from, and who filed it, where that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub provenance: Option<Provenance>,
    /// Its address among the resources of an agent's server; only agents get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Reasons to read the text with care; only agents get them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<&'static str>,
    /// How often it was used.
    #[serde(skip_serializing_if = "is_zero")]
    pub uses: u64,
    /// Its exact vector, or null, where vectors were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Option<Vec<f32>>>,
    /// The place its vector was found in, where a backend has several and vectors were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_from: Option<&'static str>,
    /// The text indexed around its own; only lines of an export hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub context: Option<Context>,
    /// Damage of the stored bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<Drawer> for DrawerView {
    fn from(drawer: Drawer) -> Self {
        let trust = TrustMark::of_drawer(&drawer);
        let place = drawer.place;
        Self {
            collection: None,
            context: None,
            id: drawer.id,
            text: drawer.document,
            more: false,
            metadata: drawer.metadata,
            wing: place.wing,
            room: place.room,
            source: place.source,
            span: place.span,
            speaker: place.speaker,
            kind: place.kind,
            said_at: place.said_at,
            filed_at: drawer.filed_at,
            trust,
            provenance: drawer.provenance,
            address: None,
            flags: Vec::new(),
            uses: drawer.uses,
            embedding: None,
            vector_from: None,
            damage: drawer.damage,
        }
    }
}

impl DrawerView {
    /// A drawer with its vector, or null in its place.
    pub fn with_embedding(mut drawer: Drawer) -> Self {
        let (embedding, vector_from) = (drawer.embedding.take(), drawer.vector_from.0);
        Self {
            embedding: Some(embedding),
            vector_from,
            ..Self::from(drawer)
        }
    }

    /// Its whole text, empty for a drawer without any.
    pub fn whole_text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The same drawer for an agent: with its address and flags, long names cut, without metadata and other fields that an
    /// agent pays for and seldom needs.
    #[must_use]
    pub fn for_agent(self) -> Self {
        Self {
            address: Some(address::of_drawer(&self)),
            flags: find_flags(self.whole_text()),
            source: self.source.as_deref().map(shorten_name),
            speaker: self.speaker.as_deref().map(shorten_name),
            kind: self.kind.as_deref().map(shorten_name),
            metadata: None,
            span: None,
            provenance: None,
            uses: 0,
            damage: Vec::new(),
            ..self
        }
    }

    /// The same drawer with only this part of its text.
    #[must_use]
    pub fn excerpt(&self, part: &str) -> Self {
        Self {
            text: Some(part.to_owned()),
            more: part.len() < self.whole_text().len(),
            ..self.without_text()
        }
    }

    fn without_text(&self) -> Self {
        Self {
            collection: self.collection.clone(),
            context: self.context.clone(),
            id: self.id.clone(),
            text: None,
            more: self.more,
            metadata: self.metadata.clone(),
            wing: self.wing.clone(),
            room: self.room.clone(),
            source: self.source.clone(),
            span: self.span,
            speaker: self.speaker.clone(),
            kind: self.kind.clone(),
            said_at: self.said_at,
            filed_at: self.filed_at,
            trust: self.trust,
            provenance: self.provenance.clone(),
            address: self.address.clone(),
            flags: self.flags.clone(),
            uses: self.uses,
            embedding: self.embedding.clone(),
            vector_from: self.vector_from,
            damage: self.damage.clone(),
        }
    }
}

/// A name, cut where it is so long that nothing else would fit beside it.
fn shorten_name(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let begun = name
        .get(..name.floor_char_boundary(LONGEST_NAME))
        .unwrap_or_default();
    format!("{begun}…")
}

/// How far a text may be believed, by the way it came in and never by what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrustMark {
    /// The palace's owner said it.
    User,
    /// An agent said it.
    Agent,
    /// A tool printed it.
    Tool,
    /// A harness added it.
    Software,
    /// It stood in a file.
    File,
    /// Not known.
    Unknown,
}

impl TrustMark {
    /// The mark of a drawer: by its recorded provenance where words were filed as such, else by its kind.
    pub fn of_drawer(drawer: &Drawer) -> Self {
        match drawer.provenance.as_ref().map(|provenance| provenance.origin) {
            Some(OriginKind::Hand) => return Self::User,
            Some(OriginKind::Note) => return Self::Agent,
            _ => {}
        }
        match drawer.place.kind.as_deref() {
            Some("human") => Self::User,
            Some("assistant" | "thinking" | "tool_call" | "note" | "diary") => Self::Agent,
            Some("tool_result") => Self::Tool,
            Some("system") => Self::Software,
            Some("file") => Self::File,
            _ if drawer.place.span.is_some() => Self::File,
            _ => Self::Unknown,
        }
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Software => "software",
            Self::File => "file",
            Self::Unknown => "unknown",
        }
    }
}
