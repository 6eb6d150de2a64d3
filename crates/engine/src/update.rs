//! Update: changes the text, place or time of one drawer.

mod seen;

use loci_core::{
    CollectionReader, DeleteSelection, Drawer, DrawerId, DrawerPatch, DrawerPlace, Error, ErrorKind,
    GetRequest, OpenOptions, Result, Timestamp, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::note::{check_text, choose_wing, note_provenance, parse_optional_name};
use crate::palace::{DrawerAct, FilingSession, Palace};
use crate::seal::{DrawerSeals, FoundSeals, SealedSpan, SecretGuard, SecretTally, find_labels};
use crate::show::resolve_id;
use crate::undo::{EditedDrawer, apply_as_read};
use seen::read_one_whole;
pub use seen::{DrawerState, EditableDrawer};

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
    /// Its new speaker.
    pub speaker: Option<String>,
    /// Its new kind.
    pub kind: Option<String>,
    /// Its new time.
    pub said_at: Option<Timestamp>,
    /// The fields of its place that are emptied: wing, room, source, speaker or kind.
    pub cleared: Vec<&'static str>,
    /// The agent that changes it, as its client names itself.
    pub by: Option<String>,
    /// Whether the owner of the palace wrote the new text, and not an agent.
    pub by_hand: bool,
    /// Drawers removed in the same transaction, because the new text replaces them, too.
    pub absorbs: Vec<DrawerId>,
    /// The state in which the caller read the drawer. If it is in another by now, the change is a `Conflict`, and
    /// nothing is written.
    pub seen: Option<DrawerState>,
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
            speaker: None,
            kind: None,
            said_at: None,
            cleared: Vec::new(),
            by: None,
            by_hand: false,
            absorbs: Vec::new(),
            seen: None,
        }
    }

    /// Returns whether it asks for a change.
    pub fn changes_something(&self) -> bool {
        let texts = [
            &self.text,
            &self.wing,
            &self.room,
            &self.source,
            &self.speaker,
            &self.kind,
        ];
        texts.iter().any(|text| text.is_some()) || self.said_at.is_some() || !self.cleared.is_empty()
    }

    /// Refuses texts and names that cannot be stored, and puts names into the form in which they are.
    fn parse(&self) -> Result<Self> {
        if !self.changes_something() {
            return Err(Error::invalid("no change was given").with_hint("nothing was changed"));
        }
        if let Some(text) = &self.text {
            check_text(text)?;
        }
        Ok(Self {
            wing: parse_optional_name("wing", self.wing.as_deref())?,
            room: parse_optional_name("room", self.room.as_deref())?,
            ..self.clone()
        })
    }
}

impl Palace {
    /// Changes a drawer; a missing drawer is `NotFound`.
    pub fn update(&self, request: &UpdateRequest) -> Result<UpdateReport> {
        self.update_remembering(request, false).map(|(report, _)| report)
    }

    /// Changes a drawer, and returns what it replaced if that is to be remembered and can be.
    pub(crate) fn update_remembering(
        &self,
        request: &UpdateRequest,
        remembers: bool,
    ) -> Result<(UpdateReport, Option<EditedDrawer>)> {
        let request = request.parse()?;
        let act = if request.absorbs.is_empty() {
            DrawerAct::Changes
        } else {
            DrawerAct::ChangesAndRemoves
        };
        let palace = self.for_act(act)?;
        palace.run_change(|filing| palace.update_once(filing, &request, remembers))
    }

    /// Makes the change once; another run may follow on a fresh session.
    fn update_once(
        &self,
        filing: &FilingSession,
        request: &UpdateRequest,
        remembers: bool,
    ) -> Result<(UpdateReport, Option<EditedDrawer>)> {
        let reader = filing.reader();
        let id = resolve_id(reader, &request.id)?.ok_or_else(|| missing_drawer(&request.id))?;
        let read = if remembers || request.seen.is_some() {
            Some(read_one_whole(self, reader, &id)?.ok_or_else(|| missing_drawer(&id))?)
        } else {
            None
        };
        if let (Some(seen), Some(read)) = (&request.seen, &read) {
            seen.check(read)?;
        }
        let mut patch = self.plan_patch(request, reader, &id)?;
        let secrets = seal_patch(self, &mut patch, &request.absorbs)?;
        filing.embed_patch(&mut patch)?;
        let mut batch = vec![Write::Update(patch.clone())];
        if !request.absorbs.is_empty() {
            batch.push(Write::Delete(DeleteSelection::Ids(request.absorbs.clone())));
        }
        let expected = read.as_slice();
        let receipt = apply_as_read(self, filing.collection().as_ref(), &batch, expected)?;
        // Removed by another process between the lookup and the write.
        if receipt.missing.contains(&id) {
            return Err(missing_drawer(&id));
        }
        let report = UpdateReport {
            id,
            updated: true,
            secrets: secrets.describe(),
            seq: Some(receipt.seq).filter(|_| !self.access().is_restricted()),
        };
        let before = read.filter(|_| remembers && request.absorbs.is_empty());
        Ok((
            report,
            before.and_then(|before| remember(self, filing, before, &patch)),
        ))
    }

    /// Plans the change of the drawer `id`, before its secrets are sealed.
    fn plan_patch(
        &self,
        request: &UpdateRequest,
        reader: &dyn CollectionReader,
        id: &DrawerId,
    ) -> Result<DrawerPatch> {
        let mut patch = DrawerPatch::new(id.clone());
        patch.document.clone_from(&request.text);
        // Provenance speaks of the words: moving a drawer does not make the agent its author.
        patch.provenance = request
            .text
            .as_ref()
            .map(|_| note_provenance(self, request.by.as_deref(), request.by_hand));
        patch.place = DrawerPlace {
            room: request.room.clone(),
            source: request.source.clone(),
            speaker: request.speaker.clone(),
            kind: request.kind.clone(),
            said_at: request.said_at,
            ..DrawerPlace::default()
        };
        // A field is emptied through the metadata key of its name.
        patch
            .metadata
            .extend(request.cleared.iter().map(|key| ((*key).to_owned(), None)));
        if request.wing.is_some() {
            patch.place.wing = choose_wing(self, reader, request.wing.as_deref())?;
        }
        if request.wing.is_some() || request.cleared.contains(&"wing") {
            // A restricted caller must not move a drawer out of its own sight, nor into a wing that it cannot see.
            self.access().check_wing(reader, patch.place.wing.as_deref())?;
        }
        Ok(patch)
    }
}

/// Remembers a change that is durable. One that cannot be remembered cannot be undone, which is no reason to call it
/// failed.
fn remember(
    palace: &Palace,
    filing: &FilingSession,
    before: Drawer,
    patch: &DrawerPatch,
) -> Option<EditedDrawer> {
    let mut after = before.clone();
    patch.apply_to(&mut after);
    let stored = read_one_whole(palace, filing.reader(), &before.id).ok()??;
    // Another process may have changed it since, and a backend may store it otherwise than it was given.
    let is_known = stored.is_same_apart_from_vector(&after) && before.damage.is_empty();
    is_known.then(|| EditedDrawer::new(palace, filing, before, stored).ok())?
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
