//! `mempalace_check_duplicate`: whether something like a text is filed already.

use loci_core::{ErrorKind, Filter, Hit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use super::drawer::named;
use crate::mcp::receipt::check_text;
use crate::mcp::shown::rounded;
use crate::mcp::tool::{Call, Effect};
use crate::mcp::tools::check_duplicate::alike;

/// From which similarity on texts count as the same where nobody says.
pub(super) const SAME: f64 = 0.9;
/// How much of a text is shown, in characters.
const SHOWN: usize = 200;

pub(super) struct CheckDuplicate;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    content: String,
    /// 0 to 1 [0.9]
    threshold: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    is_duplicate: bool,
    matches: Vec<Match>,
}

/// A drawer that says nearly the same.
#[derive(Debug, Serialize)]
pub(super) struct Match {
    pub(super) id: String,
    wing: String,
    room: String,
    similarity: f64,
    content: String,
}

impl Namesake for CheckDuplicate {
    const NAME: &'static str = "mempalace_check_duplicate";
    const ABOUT: &'static str = "Whether nearly the same text is filed already; look before filing.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        check_text("content", &input.content)?;
        let matches = matches(call, &input.content, input.threshold.unwrap_or(SAME))?;
        Ok(Output {
            is_duplicate: !matches.is_empty(),
            matches,
        })
    }
}

/// The drawers at least so like a text. Nothing is like it where there is no palace yet.
pub(super) fn matches(call: &Call<'_>, content: &str, least: f64) -> Result<Vec<Match>> {
    let collection = match call.house.read() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let found = alike(
        call.house,
        collection.as_ref(),
        content,
        Filter::All,
        least as f32,
    )?;
    Ok(found.into_iter().map(shown).collect())
}

fn shown((hit, similarity): (Hit, f32)) -> Match {
    let place = &hit.drawer.place;
    Match {
        id: hit.drawer.id.to_string(),
        wing: named(place.wing.as_deref()),
        room: named(place.room.as_deref()),
        similarity: rounded(similarity),
        content: preview(hit.drawer.document.as_deref().unwrap_or_default()),
    }
}

/// The beginning of a text, as long as MemPalace shows it.
pub(super) fn preview(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown
}
