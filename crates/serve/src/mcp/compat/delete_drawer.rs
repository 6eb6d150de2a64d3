//! `mempalace_delete_drawer` and `mempalace_delete_drawers`: drawers removed by their ids.

use loci_core::{CollectionExt, DrawerId, Result, Selection, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use super::drawer::{Whole, find, find_one, ids, missing};
use super::fit::{self, Cut, Fitted};
use crate::mcp::tool::{Call, Effect};

pub(super) struct DeleteDrawer;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneInput {
    drawer_id: String,
}

#[derive(Debug, Serialize)]
pub(super) struct One {
    success: bool,
    drawer_id: String,
    #[serde(flatten)]
    gone: Gone,
}

/// What went with one id.
#[derive(Debug, Serialize)]
struct Gone {
    deleted_ids: Vec<String>,
    chunks_deleted: usize,
    /// There are no closets here.
    closets_deleted: u64,
}

impl Gone {
    fn of(ids: &[DrawerId]) -> Self {
        Self {
            deleted_ids: ids.iter().map(ToString::to_string).collect(),
            chunks_deleted: ids.len(),
            closets_deleted: 0,
        }
    }
}

impl Namesake for DeleteDrawer {
    const NAME: &'static str = "mempalace_delete_drawer";
    const ABOUT: &'static str = "Remove one drawer for good.";
    const EFFECT: Effect = Effect::Removes;
    type Input = OneInput;
    type Output = One;

    fn call(input: OneInput, call: &Call<'_>) -> Result<One> {
        let whole = find_one(call.house.read()?.as_ref(), &input.drawer_id)?;
        let gone = remove(call, whole.ids())?;
        if gone.is_empty() {
            return Err(missing(&whole.id));
        }
        Ok(One {
            success: true,
            drawer_id: input.drawer_id,
            gone: Gone::of(&gone),
        })
    }
}

pub(super) struct DeleteDrawers;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ManyInput {
    /// At most 500
    drawer_ids: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Many {
    success: bool,
    results: Vec<Outcome>,
    count: usize,
    deleted: usize,
    errors: usize,
    #[serde(flatten)]
    cut: Option<Cut>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Gone {
        drawer_id: String,
        #[serde(flatten)]
        gone: Gone,
    },
    Missing {
        drawer_id: String,
        error: String,
    },
}

impl Namesake for DeleteDrawers {
    const NAME: &'static str = "mempalace_delete_drawers";
    const ABOUT: &'static str =
        "Remove several drawers for good; one that is missing is an error beside the others.";
    const EFFECT: Effect = Effect::Removes;
    type Input = ManyInput;
    type Output = Many;

    fn call(input: ManyInput, call: &Call<'_>) -> Result<Many> {
        let ids = ids(&input.drawer_ids)?;
        let found = find(call.house.read()?.as_ref(), &ids)?;
        let meant: Vec<DrawerId> = found
            .iter()
            .filter_map(|(_, whole)| whole.as_ref())
            .flat_map(Whole::ids)
            .collect();
        let gone = match meant.is_empty() {
            true => Vec::new(),
            false => remove(call, meant)?,
        };
        let outcomes: Vec<_> = found
            .into_iter()
            .map(|(id, whole)| {
                let own = whole.map(|whole| whole.ids()).unwrap_or_default();
                let own: Vec<DrawerId> = own.into_iter().filter(|piece| gone.contains(piece)).collect();
                (id, own)
            })
            .collect();
        let deleted = outcomes.iter().filter(|(_, own)| !own.is_empty()).count();
        let Fitted { values, cut } = fit::fit(fit::budget()?, &outcomes, |(id, own), _| outcome(id, own));
        Ok(Many {
            success: deleted == outcomes.len(),
            count: values.len(),
            results: values,
            deleted,
            errors: outcomes.len() - deleted,
            cut,
        })
    }
}

fn outcome(id: &DrawerId, own: &[DrawerId]) -> Outcome {
    match own.is_empty() {
        true => Outcome::Missing {
            drawer_id: id.to_string(),
            error: missing(id).message().to_owned(),
        },
        false => Outcome::Gone {
            drawer_id: id.to_string(),
            gone: Gone::of(own),
        },
    }
}

/// Removes drawers and says which were there.
fn remove(call: &Call<'_>, ids: Vec<DrawerId>) -> Result<Vec<DrawerId>> {
    let receipt = call
        .house
        .file(|_, collection| collection.apply_batch(&[Write::Delete(Selection::Ids(ids.clone()))]))?;
    Ok(receipt.deleted)
}
