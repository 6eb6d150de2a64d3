//! `mempalace_add_drawer`: files a text.

use loci_core::{DrawerId, Get, Include, Metadata, NewDrawer, Place, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use crate::mcp::receipt;
use crate::mcp::tool::{Call, Effect};

/// Who filed it where nobody says.
const SOMEBODY: &str = "mcp";

pub(super) struct AddDrawer;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// Project, person or agent
    wing: String,
    /// Topic
    room: String,
    /// Kept verbatim
    content: String,
    source_file: Option<String>,
    /// [mcp]
    added_by: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    success: bool,
    pub(super) drawer_id: String,
    pub(super) wing: String,
    pub(super) room: String,
    /// A text of any length is one drawer here.
    chunks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
}

impl Namesake for AddDrawer {
    const NAME: &'static str = "mempalace_add_drawer";
    const ABOUT: &'static str = "File a text verbatim in a wing and room; the same text there is filed once.";
    const EFFECT: Effect = Effect::Adds;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        let note = Note {
            wing: &input.wing,
            room: &input.room,
            content: &input.content,
            source_file: input.source_file.as_deref(),
            added_by: input.added_by.as_deref().unwrap_or(SOMEBODY),
        };
        file(&note, call)
    }
}

/// A text to be filed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note<'a> {
    pub(super) wing: &'a str,
    pub(super) room: &'a str,
    pub(super) content: &'a str,
    pub(super) source_file: Option<&'a str>,
    pub(super) added_by: &'a str,
}

/// Files a text under an id made from it and its place, so that whoever tries again writes once.
pub(super) fn file(note: &Note<'_>, call: &Call<'_>) -> Result<Output> {
    receipt::check_text("content", note.content)?;
    let now = call.house.now();
    let filed = receipt::file(call, |collection| {
        let place = Place {
            wing: receipt::wing(Some(note.wing), collection, call)?,
            room: Some(receipt::name("room", note.room)?),
            source: note.source_file.map(str::to_owned),
            speaker: call.client.clone(),
            kind: Some("note".into()),
            said_at: Some(now),
            span: None,
        };
        let id = receipt::derived(collection, &place, note.content)?;
        Ok(NewDrawer {
            metadata: Metadata::new().with("added_by", note.added_by),
            place,
            provenance: Some(call.provenance()),
            ..NewDrawer::new(id, note.content)
        })
    })?;
    let (wing, room) = whereabouts(&filed.id, call)?;
    Ok(Output {
        success: true,
        drawer_id: filed.id,
        wing,
        room,
        chunks: 1,
        reason: (filed.outcome == "kept").then_some("already_exists"),
    })
}

/// The wing and room a drawer is in.
pub(super) fn whereabouts(id: &str, call: &Call<'_>) -> Result<(String, String)> {
    let request = Get {
        include: Include::NOTHING,
        ..Get::ids([DrawerId::new(id)?])
    };
    let drawer = call.house.read()?.get(&request)?.pop();
    let place = drawer.map(|drawer| drawer.place).unwrap_or_default();
    Ok((place.wing.unwrap_or_default(), place.room.unwrap_or_default()))
}
