//! `delete`: removes drawers; more than one only by whoever knows how many.

use loci_core::{
    Collection, CollectionExt, DrawerId, Error, ErrorKind, Filter, Get, Include, Result, Selection, Write,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get::ids;
use crate::mcp::receipt;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::within::Within;

/// How many of the ids that would go are named.
const SAMPLE: usize = 10;

pub(crate) struct Delete;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(default)]
    ids: Vec<String>,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    /// How many will go, as the call without it said; needed for more than one
    count: Option<u64>,
    dry_run: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    matched: u64,
    deleted: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Some that would go
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sample: Vec<String>,
}

impl Tool for Delete {
    const NAME: &'static str = "delete";
    const ABOUT: &'static str = "Remove drawers by ids, or by wing, room or source, for good. For more than one, call \
        first without count: nothing goes, and `matched` is the count to repeat.";
    const EFFECT: Effect = Effect::Removes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let collection = call.house.read()?;
        let (found, missing) = meant(&input, collection.as_ref())?;
        let matched = found.len() as u64;
        let missing = receipt::told(&missing, receipt::TOLD);
        if let Some(count) = input.count.filter(|count| *count != matched) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("{matched} drawers match, not {count}"),
            )
            .hint("nothing was removed; look again without count"));
        }
        let only_counted = matched > 1 && input.count.is_none();
        if input.dry_run == Some(true) || only_counted {
            let sample = found.iter().take(SAMPLE).map(ToString::to_string).collect();
            let text = format!("{matched} would be removed; nothing was. Call again with count {matched}");
            let value = Output {
                matched,
                deleted: 0,
                missing,
                sample,
            };
            return Ok(Reply { text, value });
        }
        let receipt = call
            .house
            .file(|_, collection| collection.apply_batch(&[Write::Delete(Selection::Ids(found.clone()))]))?;
        let deleted = receipt.deleted.len() as u64;
        if deleted == 0 {
            return Err(receipt::missing(&found));
        }
        Ok(Reply {
            text: format!("{deleted} removed"),
            value: Output {
                matched,
                deleted,
                missing,
                sample: Vec::new(),
            },
        })
    }
}

/// The drawers that are meant, and the ids that are not there.
fn meant(input: &Input, collection: &dyn Collection) -> Result<(Vec<DrawerId>, Vec<DrawerId>)> {
    let within = Within {
        wing: input.wing.as_deref(),
        room: input.room.as_deref(),
        source: input.source.as_deref(),
        ..Within::default()
    };
    let filter = within.filter(collection)?;
    let asked = match input.ids.is_empty() {
        true => None,
        false => Some(ids(&input.ids)?),
    };
    if asked.is_none() && filter.asks_nothing() {
        return Err(Error::invalid("nothing says which drawers to remove")
            .hint("nothing was removed; give ids, or a wing, room or source"));
    }
    let named = match filter == Filter::All {
        true => "these ids".to_owned(),
        false => "that wing, room or source".to_owned(),
    };
    let found = collection.get(&Get {
        ids: asked.clone(),
        filter,
        include: Include::NOTHING,
        ..Get::default()
    })?;
    let found: Vec<DrawerId> = found.into_iter().map(|drawer| drawer.id).collect();
    let missing: Vec<DrawerId> = asked
        .unwrap_or_default()
        .into_iter()
        .filter(|id| !found.contains(id))
        .collect();
    match (found.is_empty(), missing.is_empty()) {
        (true, false) => Err(receipt::missing(&missing)),
        (true, true) => Err(Error::new(ErrorKind::NotFound, format!("no drawer has {named}"))
            .hint("nothing was removed; `wings` shows what there is")),
        _ => Ok((found, missing)),
    }
}
