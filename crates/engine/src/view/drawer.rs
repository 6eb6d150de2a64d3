//! A drawer as every interface shows it.

use loci_core::{
    CollectionName, Drawer, DrawerContext, DrawerId, Metadata, OriginKind, Provenance, SourceSpan, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{NullableValue, address, find_flags};
use crate::seal::SealedSpan;

/// The longest name shown to agents, in bytes.
const LONGEST_NAME: usize = 240;

/// A drawer, or the shown part of it. A field without a value is null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DrawerView {
    /// Its collection; only lines of an export name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<CollectionName>,
    /// Its id.
    pub id: DrawerId,
    /// Its text; null if it has none.
    pub text: Option<String>,
    /// The text is cut; asking for the drawer by its id returns all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Its metadata, exactly as given.
    pub metadata: Option<Metadata>,
    /// The project, person or agent.
    pub wing: Option<String>,
    /// The topic within the wing.
    pub room: Option<String>,
    /// The file, conversation or note it was cut from.
    pub source: Option<String>,
    /// Its bytes and lines in the source.
    pub span: Option<SourceSpan>,
    /// The speaker.
    pub speaker: Option<String>,
    /// human, assistant, tool_call, tool_result, thinking, system, file, note, diary…
    pub kind: Option<String>,
    /// The time it was said, in UTC.
    pub said_at: Option<Timestamp>,
    /// The time it was filed, in UTC.
    pub filed_at: Option<Timestamp>,
    /// Its trustworthiness, by the way it was filed.
    pub trust: TrustMark,
    /// The interface it came through, its kind of origin and its filer, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Its address as an MCP resource; only agents get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Reasons to read the text with care; only agents get them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<&'static str>,
    /// The number of times it was used.
    #[serde(skip_serializing_if = "is_zero")]
    pub uses: u64,
    /// Its exact vector, or null, if vectors were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NullableValue<Vec<f32>>")]
    pub embedding: Option<Option<Vec<f32>>>,
    /// The place its vector was read from, if a backend has several and vectors were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_from: Option<&'static str>,
    /// The text indexed around its own; only lines of an export have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<DrawerContext>,
    /// The labels in it that stand for secrets, with the secrets encrypted; only lines of an export have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seals: Vec<SealedSpan>,
    /// Damage found in the stored bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<Drawer> for DrawerView {
    fn from(drawer: Drawer) -> Self {
        // Before the fields are moved out, because the mark depends on several of them.
        let trust = TrustMark::from_drawer(&drawer);
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
            seals: Vec::new(),
            damage: drawer.damage,
        }
    }
}

impl DrawerView {
    /// Converts a drawer with its vector, or null if it has none.
    pub fn with_embedding(mut drawer: Drawer) -> Self {
        let (embedding, vector_from) = (drawer.embedding.take(), drawer.vector_from.0);
        Self {
            embedding: Some(embedding),
            vector_from,
            ..Self::from(drawer)
        }
    }

    /// Returns its whole text, empty if it has none.
    pub fn whole_text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the view for an agent: with address and flags, with long names cut, and without metadata and other
    /// fields that cost tokens and are seldom needed.
    #[must_use]
    pub fn for_agent(self) -> Self {
        Self {
            // From the uncut fields: an address needs the span and the whole names, flags the whole text.
            address: Some(address::format_drawer_address(&self)),
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

    /// Returns the same drawer with only this part of its text.
    #[must_use]
    pub fn with_excerpt(&self, part: &str) -> Self {
        Self {
            text: Some(part.to_owned()),
            more: part.len() < self.whole_text().len(),
            ..self.without_text()
        }
    }

    fn without_text(&self) -> Self {
        // Field by field rather than by a clone, which would copy a text of possibly many megabytes to drop it.
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
            seals: self.seals.clone(),
            damage: self.damage.clone(),
        }
    }
}

/// Cuts a name that would crowd out the rest of an answer.
pub(crate) fn shorten_name(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let begun = name
        .get(..name.floor_char_boundary(LONGEST_NAME))
        .unwrap_or_default();
    format!("{begun}…")
}

/// The trustworthiness of a text, by the way it was filed and never by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrustMark {
    /// The palace's owner said it.
    User,
    /// An agent said it.
    Agent,
    /// A tool printed it.
    Tool,
    /// An agent's harness added it.
    Software,
    /// It was read from a file.
    File,
    /// Its origin is unknown.
    Unknown,
}

impl TrustMark {
    /// Returns the mark of a drawer, by its recorded provenance. Without one, the words of a person are never those of
    /// the owner, because the kind is a field that the filer writes.
    pub fn from_drawer(drawer: &Drawer) -> Self {
        let Some(provenance) = &drawer.provenance else {
            return Self::without_provenance(drawer);
        };
        match provenance.origin {
            OriginKind::Hand => Self::User,
            OriginKind::Note => Self::Agent,
            OriginKind::HarnessTranscript => Self::from_message_kind(drawer.place.kind.as_deref()),
            OriginKind::File | OriginKind::LooseTranscript => Self::File,
            OriginKind::Export | OriginKind::ForeignMemory => Self::Unknown,
        }
    }

    /// Returns the mark of a message that a harness wrote down.
    fn from_message_kind(kind: Option<&str>) -> Self {
        match kind {
            Some("human") => Self::User,
            Some("assistant" | "thinking" | "tool_call") => Self::Agent,
            Some("tool_result") => Self::Tool,
            Some("system") => Self::Software,
            _ => Self::Unknown,
        }
    }

    /// Returns the mark of a drawer that was filed before provenance was recorded, or by another program.
    fn without_provenance(drawer: &Drawer) -> Self {
        match drawer.place.kind.as_deref() {
            Some("tool_result") => Self::Tool,
            Some("system") => Self::Software,
            Some("file") => Self::File,
            Some("human" | "assistant" | "thinking" | "tool_call" | "note" | "diary") => Self::Unknown,
            // An unknown kind with a span was still cut from a source, most likely a file.
            _ if drawer.place.span.is_some() => Self::File,
            _ => Self::Unknown,
        }
    }

    /// Returns its name in JSON.
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

#[cfg(test)]
mod tests {
    use loci_core::FilingDoor;

    use super::*;

    #[track_caller]
    fn check(origin: Option<OriginKind>, kind: &str, mark: TrustMark) {
        let mut drawer = Drawer::with_id_only(DrawerId::new("a").unwrap());
        drawer.place.kind = Some(kind.to_owned());
        drawer.provenance = origin.map(|origin| Provenance::new(FilingDoor::Terminal, origin));
        assert_eq!(TrustMark::from_drawer(&drawer), mark, "{origin:?} {kind}");
    }

    #[test]
    fn trust_follows_from_provenance_and_never_from_the_kind_that_a_source_gives() {
        use OriginKind::{Export, File, ForeignMemory, Hand, HarnessTranscript, LooseTranscript, Note};
        for kind in ["human", "assistant", "system", "file", "identity", "user"] {
            check(Some(Hand), kind, TrustMark::User);
            check(Some(Note), kind, TrustMark::Agent);
            for origin in [File, LooseTranscript] {
                check(Some(origin), kind, TrustMark::File);
            }
            for origin in [Export, ForeignMemory] {
                check(Some(origin), kind, TrustMark::Unknown);
            }
        }
        for (kind, mark) in [
            ("human", TrustMark::User),
            ("assistant", TrustMark::Agent),
            ("thinking", TrustMark::Agent),
            ("tool_call", TrustMark::Agent),
            ("tool_result", TrustMark::Tool),
            ("system", TrustMark::Software),
            ("owner", TrustMark::Unknown),
        ] {
            check(Some(HarnessTranscript), kind, mark);
        }
    }

    #[test]
    fn without_provenance_no_words_are_the_owners() {
        check(None, "human", TrustMark::Unknown);
        check(None, "assistant", TrustMark::Unknown);
        check(None, "tool_result", TrustMark::Tool);
        check(None, "system", TrustMark::Software);
        check(None, "file", TrustMark::File);
        check(None, "owner", TrustMark::Unknown);
    }
}
