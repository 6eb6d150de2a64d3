//! Diaries of agents: ordinary drawers in an agent's wing, found by search like any other.

use loci_core::{
    CollectionReader, DrawerId, DrawerOrder, DrawerPlace, Metadata, NewDrawer, PalaceFinding, Result,
    Timestamp,
};
use serde::Serialize;

use crate::list::{ListRequest, list_drawers};
use crate::note::{
    NoteReport, check_text, choose_wing, derive_id_from_key, file_words, note_provenance, parse_name,
    parse_optional_name,
};
use crate::palace::{DrawerAct, Palace, PalaceSession};
use crate::view::{DrawerScope, DrawerView};

/// The room of every diary, and the kind of its drawers.
pub const DIARY: &str = "diary";

/// A diary entry to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiaryEntryRequest {
    /// The agent whose diary it is.
    pub agent: String,
    /// The entry, kept verbatim.
    pub text: String,
    /// Its topic.
    pub topic: Option<String>,
    /// The wing of the diary; see [`DiaryRequest::wing`].
    pub wing: Option<String>,
    /// A key under which retries write once.
    pub idempotency_key: Option<String>,
    /// The agent that files it, as its client names itself.
    pub by: Option<String>,
}

/// A written diary entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiaryEntryReport {
    /// The outcome of filing it.
    #[serde(flatten)]
    pub note: NoteReport,
    /// The agent's name as it is stored.
    pub agent: String,
    /// The time it was written.
    pub said_at: Timestamp,
}

/// A request for a page of a diary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiaryRequest {
    /// The agent whose diary it is.
    pub agent: String,
    /// The wing of the diary. If none is named: for a restricted caller the first of its wings, else a wing
    /// with the agent's name.
    pub wing: Option<String>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
    /// The most entries on the page.
    pub limit: usize,
}

/// A page of a diary, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiaryReport {
    /// The agent's name as it is stored.
    pub agent: String,
    /// The entries.
    pub entries: Vec<DrawerView>,
    /// The number of entries in the diary.
    pub total: u64,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
    /// Damage, and an agent or wing that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Writes an entry, creating the palace if it does not exist.
    pub fn write_diary(&self, request: &DiaryEntryRequest) -> Result<DiaryEntryReport> {
        check_text(&request.text)?;
        let agent = parse_name("agent", &request.agent)?;
        let wing = parse_optional_name("wing", request.wing.as_deref())?;
        let said_at = self.now();
        let mut metadata = Metadata::new();
        if let Some(topic) = &request.topic {
            metadata.insert("topic", topic.clone());
        }
        let palace = self.for_act(DrawerAct::Changes)?;
        let (note, _) = file_words(&palace, &|reader, guard| {
            let draft = NewDrawer {
                metadata: metadata.clone(),
                provenance: Some(note_provenance(&palace, request.by.as_deref(), false)),
                place: DrawerPlace {
                    wing: Some(diary_wing(&palace, reader, wing.as_deref(), &agent)?),
                    room: Some(DIARY.into()),
                    speaker: Some(agent.clone()),
                    kind: Some(DIARY.into()),
                    said_at: Some(said_at),
                    ..DrawerPlace::default()
                },
                ..NewDrawer::new(
                    derive_entry_id(&agent, said_at, &request.text)?,
                    request.text.clone(),
                )
            };
            let mut sealed = guard.guard_drawer(draft, Vec::new())?;
            // Without a key the time is part of the id: a diary may well say the same on two days.
            sealed.drawer.id = match &request.idempotency_key {
                Some(key) => derive_id_from_key(key)?,
                None => derive_entry_id(&agent, said_at, &sealed.drawer.document)?,
            };
            Ok(sealed)
        })?;
        Ok(DiaryEntryReport { note, agent, said_at })
    }

    /// Reads a page of a diary.
    pub fn read_diary(&self, request: &DiaryRequest) -> Result<DiaryReport> {
        let agent = parse_name("agent", &request.agent)?;
        self.read(|session| read_entries(session, request, &agent))
    }
}

fn read_entries(session: &PalaceSession<'_>, request: &DiaryRequest, agent: &str) -> Result<DiaryReport> {
    let wing = diary_wing(session.palace(), session.reader(), request.wing.as_deref(), agent)?;
    let page = ListRequest {
        scope: DrawerScope {
            wing: Some(wing),
            room: Some(DIARY.into()),
            speaker: Some(agent.to_owned()),
            ..DrawerScope::default()
        },
        order: DrawerOrder::NewestSaid,
        cursor: request.cursor.clone(),
        limit: request.limit,
        embeddings: false,
        total: true,
    };
    let report = list_drawers(session, &page, 0)?;
    let mut warnings = session.collect_findings();
    if report.total == Some(0) {
        // Only names the caller gave are worth a warning; the diary's default wing and room are not.
        warnings.extend(session.unknown_names(&DrawerScope {
            wing: request.wing.clone(),
            speaker: Some(agent.to_owned()),
            ..DrawerScope::default()
        })?);
    }
    Ok(DiaryReport {
        agent: agent.to_owned(),
        entries: report.drawers,
        total: report.total.unwrap_or_default(),
        next: report.next,
        warnings,
    })
}

fn diary_wing(
    palace: &Palace,
    reader: &dyn CollectionReader,
    named: Option<&str>,
    agent: &str,
) -> Result<String> {
    match choose_wing(palace, reader, named)? {
        Some(wing) => Ok(wing),
        None => crate::mine::spell_wing(reader, agent),
    }
}

/// Derives the id of an entry; the same words at another time are another entry.
fn derive_entry_id(agent: &str, said_at: Timestamp, text: &str) -> Result<DrawerId> {
    let mut hasher = blake3::Hasher::new_derive_key("loci mcp diary entry");
    for part in [agent, &said_at.to_string(), text] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    DrawerId::new(hasher.finalize().to_hex().chars().take(32).collect::<String>())
}
