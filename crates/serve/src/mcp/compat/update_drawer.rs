//! `mempalace_update_drawer`: another text, wing or room for a drawer.

use loci_core::{Collection, CollectionExt, DrawerId, Patch, Place, Result, Selection, Write};
use loci_engine::filing::Filing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use super::drawer::{find_one, missing};
use crate::mcp::receipt;
use crate::mcp::tool::{Call, Effect};

pub(super) struct UpdateDrawer;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    drawer_id: String,
    content: Option<String>,
    wing: Option<String>,
    room: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    success: bool,
    drawer_id: String,
    wing: String,
    room: String,
    /// There are no closets here.
    closets_deleted: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    noop: bool,
}

impl Namesake for UpdateDrawer {
    const NAME: &'static str = "mempalace_update_drawer";
    const ABOUT: &'static str = "Replace the text, wing or room of a drawer; what is not given stays.";
    const EFFECT: Effect = Effect::Removes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        if let Some(content) = &input.content {
            receipt::check_text("content", content)?;
        }
        let ids = find_one(call.house.read()?.as_ref(), &input.drawer_id)?.ids();
        let noop = input.content.is_none() && input.wing.is_none() && input.room.is_none();
        if !noop {
            let receipt = call.house.file(|filing, collection| {
                collection.apply_batch(&changes(&input, &ids, filing, collection, call)?)
            })?;
            if let Some(gone) = receipt.missing.first() {
                return Err(missing(gone));
            }
        }
        let first = find_one(call.house.read()?.as_ref(), &input.drawer_id)?;
        let place = first
            .first()
            .map(|drawer| drawer.place.clone())
            .unwrap_or_default();
        Ok(Output {
            success: true,
            drawer_id: input.drawer_id,
            wing: place.wing.unwrap_or_default(),
            room: place.room.unwrap_or_default(),
            closets_deleted: 0,
            noop,
        })
    }
}

/// What changes: every piece goes to the new place, and a new text is the first piece and the only one.
fn changes(
    input: &Input,
    ids: &[DrawerId],
    filing: &Filing,
    collection: &dyn Collection,
    call: &Call<'_>,
) -> Result<Vec<Write>> {
    let wing = match &input.wing {
        Some(wing) => receipt::wing(Some(wing), collection, call)?,
        None => None,
    };
    let room = input.room.as_deref().map(|room| receipt::name("room", room));
    let place = Place {
        wing,
        room: room.transpose()?,
        ..Place::default()
    };
    let (patched, removed) = match &input.content {
        Some(_) => ids.split_at(ids.len().min(1)),
        None => (ids, [].as_slice()),
    };
    let mut batch = Vec::with_capacity(patched.len() + 1);
    for id in patched {
        let mut patch = Patch::new(id.clone());
        patch.document.clone_from(&input.content);
        patch.provenance = input.content.as_ref().map(|_| call.provenance());
        patch.place = place.clone();
        filing.embed_patch(&mut patch)?;
        batch.push(Write::Update(patch));
    }
    if !removed.is_empty() {
        batch.push(Write::Delete(Selection::Ids(removed.to_vec())));
    }
    Ok(batch)
}
