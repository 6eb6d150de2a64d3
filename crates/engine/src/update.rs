//! Update: changes the text, place or time of one drawer.

use loci_core::{
    CollectionExt, DeleteSelection, DrawerId, DrawerPatch, DrawerPlace, Error, ErrorKind, GetRequest,
    OpenOptions, Result, Timestamp, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::note::{check_text, choose_wing, note_provenance, parse_optional_name};
use crate::palace::Palace;
use crate::seal::{DrawerSeals, FoundSeals, SealedSpan, SecretGuard, SecretTally, find_labels};
use crate::show::resolve_id;

/// A change of a drawer. Fields that are `None` stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateRequest {
    /// The drawer's id, or a prefix of it.
    pub id: DrawerId,
    /// Its new text.
    pub text: Option<String>,
    /// Its new wing, in any spelling.
    pub wing: Option<String>,
    /// Its new room.
    pub room: Option<String>,
    /// Its new source.
    pub source: Option<String>,
    /// Its new time.
    pub said_at: Option<Timestamp>,
    /// The agent that changes it, as its client names itself.
    pub by: Option<String>,
    /// Drawers removed in the same transaction, because the new text replaces them, too.
    pub absorbs: Vec<DrawerId>,
}

/// The outcome of an update, which is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UpdateReport {
    /// The drawer's whole id.
    #[schemars(with = "String")]
    pub id: DrawerId,
    /// Always true; a missing drawer is an error.
    pub updated: bool,
    /// Secrets found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub secrets: Option<String>,
    /// The sequence number of the change. It counts changes of the whole palace, so restricted callers do not
    /// get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

impl UpdateRequest {
    /// Creates a request for the drawer `id` that changes nothing yet.
    pub fn new(id: DrawerId) -> Self {
        Self {
            id,
            text: None,
            wing: None,
            room: None,
            source: None,
            said_at: None,
            by: None,
            absorbs: Vec::new(),
        }
    }

    fn changes_something(&self) -> bool {
        let texts = [&self.text, &self.wing, &self.room, &self.source];
        texts.iter().any(|text| text.is_some()) || self.said_at.is_some()
    }
}

impl Palace {
    /// Changes a drawer; a missing drawer is `NotFound`.
    pub fn update(&self, request: &UpdateRequest) -> Result<UpdateReport> {
        if !request.changes_something() {
            return Err(Error::invalid("no change was given").with_hint("nothing was changed"));
        }
        if let Some(text) = &request.text {
            check_text(text)?;
        }
        let wing = parse_optional_name("wing", request.wing.as_deref())?;
        let room = parse_optional_name("room", request.room.as_deref())?;
        self.run_change(|filing| {
            let reader = filing.reader();
            let id = resolve_id(reader, &request.id)?.ok_or_else(|| missing_drawer(&request.id))?;
            let mut patch = DrawerPatch::new(id.clone());
            patch.document.clone_from(&request.text);
            // Provenance speaks of the words: moving a drawer does not make the agent its author.
            patch.provenance = request
                .text
                .as_ref()
                .map(|_| note_provenance(self, request.by.as_deref()));
            patch.place = DrawerPlace {
                room: room.clone(),
                source: request.source.clone(),
                said_at: request.said_at,
                ..DrawerPlace::default()
            };
            if wing.is_some() {
                patch.place.wing = choose_wing(self, reader, wing.as_deref())?;
                // A restricted caller must not move a drawer out of its own sight, nor into a wing that it
                // cannot see.
                self.access().check_wing(reader, patch.place.wing.as_deref())?;
            }
            let secrets = seal_patch(self, &mut patch, &request.absorbs)?;
            filing.embed_patch(&mut patch)?;
            let mut batch = vec![Write::Update(patch)];
            if !request.absorbs.is_empty() {
                batch.push(Write::Delete(DeleteSelection::Ids(request.absorbs.clone())));
            }
            let receipt = filing.collection().apply_batch(&batch)?;
            // Removed by another process between the lookup and the write.
            if receipt.missing.contains(&id) {
                return Err(missing_drawer(&id));
            }
            Ok(UpdateReport {
                id,
                updated: true,
                secrets: secrets.describe(),
                seq: Some(receipt.seq).filter(|_| !self.access().is_restricted()),
            })
        })
    }
}

/// Seals the secrets of a new text. Labels stay known that the drawer has in its metadata, and those in the new text that
/// it, or a drawer that the new text replaces, had before.
fn seal_patch(palace: &Palace, patch: &mut DrawerPatch, absorbs: &[DrawerId]) -> Result<SecretTally> {
    let mut found = SecretTally::default();
    let Some(text) = &mut patch.document else {
        return Ok(found);
    };
    let guard = SecretGuard::new(palace);
    let sealed = guard.guard_text(text, &mut found)?;
    let whole = palace.open_whole(&OpenOptions::default())?;
    let replaced = std::iter::once(&patch.id).chain(absorbs);
    let stored = whole.get(&GetRequest::by_ids(replaced.cloned()))?;
    let seals = FoundSeals::look_up(whole.as_ref(), stored.iter())?;
    let known: Vec<SealedSpan> = stored
        .iter()
        .flat_map(|drawer| seals.spans_of(&drawer.id).to_vec())
        .collect();
    let mut spans: Vec<SealedSpan> = seals.spans_of(&patch.id).to_vec();
    spans.retain(|span| !span.is_in_text());
    if let Some(sealed) = sealed {
        spans.extend(sealed.spans());
        *text = sealed.text;
    }
    for label in find_labels(text, &known) {
        if !spans.iter().any(|span| span.is_at_place_of(&label)) {
            spans.push(label);
        }
    }
    guard.store_seals(&[DrawerSeals {
        id: &patch.id,
        text,
        spans: &spans,
    }])?;
    Ok(found)
}

fn missing_drawer(id: &DrawerId) -> Error {
    let message = format!("no drawer has the id {}", id.as_str());
    Error::new(ErrorKind::NotFound, message)
        .with_hint("nothing was changed; ids come from `search` and `list`")
}
