//! `update`: changes a drawer's text or what is known of it.

use loci_core::{CollectionExt, DrawerId, Error, Patch, Place, Result, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::receipt;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::within::time;

pub(crate) struct Update;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    id: String,
    text: Option<String>,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    said_at: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    id: String,
    updated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
}

impl Tool for Update {
    const NAME: &'static str = "update";
    const ABOUT: &'static str = "Correct a drawer: replace its text or where and when it is filed. What is not given \
        stays.";
    const EFFECT: Effect = Effect::Removes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        if let Some(text) = &input.text {
            receipt::check_text("text", text)?;
        }
        let id = DrawerId::new(input.id.as_str())?;
        let given = [
            &input.text,
            &input.wing,
            &input.room,
            &input.source,
            &input.said_at,
        ];
        if given.iter().all(|field| field.is_none()) {
            return Err(Error::invalid("nothing says what to change").hint("nothing was changed"));
        }
        let said_at = time("said_at", input.said_at.as_deref())?;
        // A palace that is not there has nothing to change and is not made.
        call.house.read()?;
        let receipt = call.house.file(|filing, collection| {
            let mut patch = Patch::new(id.clone());
            patch.document.clone_from(&input.text);
            patch.provenance = input.text.as_ref().map(|_| call.provenance());
            patch.place = Place {
                wing: match &input.wing {
                    Some(wing) => receipt::wing(Some(wing), collection, call)?,
                    None => None,
                },
                room: input
                    .room
                    .as_deref()
                    .map(|room| receipt::name("room", room))
                    .transpose()?,
                source: input.source.clone(),
                said_at,
                ..Place::default()
            };
            if patch.place.wing.is_some() {
                call.house
                    .scope
                    .check_wing(collection, patch.place.wing.as_deref())?;
            }
            filing.embed_patch(&mut patch)?;
            collection.apply_batch(&[Write::Update(patch)])
        })?;
        if !receipt.missing.is_empty() {
            return Err(receipt::missing(&receipt.missing));
        }
        Ok(Reply {
            text: format!("updated {id}"),
            value: Output {
                id: id.to_string(),
                updated: true,
                seq: Some(receipt.seq).filter(|_| call.house.scope.wings.is_empty()),
            },
        })
    }
}
