//! `check_duplicate`: whether something like a text is filed already.

use loci_core::{Collection, Filter, Hit, IdentityState, Include, Lexical, Query, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::house::House;
use crate::mcp::budget::Budget;
use crate::mcp::receipt::check_text;
use crate::mcp::reply::page;
use crate::mcp::shown::{Brief, QUOTED, Shown, beginning, rounded};
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::within::Within;

/// From which similarity on texts count as the same where nobody says.
const SAME: f64 = 0.9;
/// How many are looked at.
const LOOKED_AT: usize = 5;

pub(crate) struct CheckDuplicate;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    text: String,
    wing: Option<String>,
    /// Least similarity, 0 to 1 [0.9]
    threshold: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    duplicate: bool,
    #[schemars(with = "Vec<Brief>")]
    matches: Vec<Shown>,
}

impl Tool for CheckDuplicate {
    const NAME: &'static str = "check_duplicate";
    const ABOUT: &'static str = "Look whether nearly the same text is filed already, before adding it.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        check_text("text", &input.text)?;
        let least = input.threshold.unwrap_or(SAME) as f32;
        let collection = call.house.read()?;
        let within = Within {
            wing: input.wing.as_deref(),
            ..Within::default()
        };
        let filter = within.filter(collection.as_ref())?;
        let matches = alike(call.house, collection.as_ref(), &input.text, filter, least)?;
        let page = page(Budget::of(None)?, &matches, |at, (hit, similarity), size| {
            let text = hit.drawer.document.as_deref().unwrap_or_default();
            let mut shown = Shown::of(&hit.drawer, beginning(text, size));
            shown.score = Some(rounded(*similarity));
            (shown.line(at + 1), shown)
        });
        let duplicate = !page.values.is_empty();
        let text = match duplicate {
            true => format!("{QUOTED} Filed already:\n{}", page.lines.join("\n")),
            false => "Nothing like it is filed.".to_owned(),
        };
        let matches = page.values;
        Ok(Reply {
            text,
            value: Output { duplicate, matches },
        })
    }
}

/// The drawers most like a text, with how like it they are: by vector, or letter by letter where there is no model.
pub(crate) fn alike(
    house: &House,
    collection: &dyn Collection,
    text: &str,
    filter: Filter,
    least: f32,
) -> Result<Vec<(Hit, f32)>> {
    let embedder = match &collection.info()?.identity {
        IdentityState::Known(identity) => house.embedders().find(identity).ok(),
        _ => None,
    };
    let vector = match &embedder {
        Some(embedder) => embedder.passages(&[text])?.pop(),
        None => None,
    };
    let hits = match &vector {
        Some(vector) => {
            let mut query = Query::nearest(vector.clone(), LOOKED_AT);
            query.filter = filter;
            query.include = Include {
                embedding: true,
                ..Include::default()
            };
            collection.query(&query)?.pop().unwrap_or_default()
        }
        None => equal(collection, text, filter)?,
    };
    let similarity = |hit: &Hit| {
        let same = hit.drawer.document.as_deref() == Some(text);
        match (&hit.drawer.embedding, &vector) {
            _ if same => 1.0,
            (Some(own), Some(asked)) => cosine(own, asked),
            _ => 0.0,
        }
    };
    let hits = hits.into_iter().map(|hit| {
        let similarity = similarity(&hit);
        (hit, similarity)
    });
    Ok(hits.filter(|(_, similarity)| *similarity >= least).collect())
}

/// Drawers of exactly this text, among those that share its words.
fn equal(collection: &dyn Collection, text: &str, filter: Filter) -> Result<Vec<Hit>> {
    let request = Lexical {
        filter,
        ..Lexical::words(beginning(text, 400), LOOKED_AT)
    };
    let same = |hit: &Hit| hit.drawer.document.as_deref() == Some(text);
    Ok(collection.lexical(&request)?.into_iter().filter(same).collect())
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    (dot(one, other) / (dot(one, one) * dot(other, other)).sqrt().max(f64::MIN_POSITIVE)) as f32
}
