//! `status`: what the palace holds and how far search reaches.

use loci_core::{ErrorKind, Facets, Result};
use loci_engine::status::embedder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::tool::{Call, Effect, Reply, Tool};

pub(crate) struct Status;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Output {
    palace: String,
    backend: String,
    /// false: there is none yet, `add` makes it
    exists: bool,
    drawers: u64,
    wings: u64,
    rooms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Drawers found by meaning
    by_meaning: u64,
    /// Drawers found by words
    by_words: u64,
    read_only: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for Status {
    const NAME: &'static str = "status";
    const ABOUT: &'static str =
        "Say what the palace holds, how far search reaches, and what is wrong, if anything.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(_: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let found = call.house.found()?;
        let palace = Output {
            palace: found.palace.id.clone(),
            backend: found.backend.descriptor().name.clone(),
            read_only: call.house.scope.read_only,
            ..Output::default()
        };
        let collection = match call.house.read() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let text = format!("There is no palace at {} yet.", palace.palace);
                return Ok(Reply { text, value: palace });
            }
            opened => opened?,
        };
        let info = collection.info()?;
        let facets = collection.facets(&Facets::by_room())?;
        let mut wings: Vec<_> = facets.iter().filter_map(|facet| facet.values.first()).collect();
        wings.dedup();
        let value = Output {
            exists: true,
            drawers: info.drawers,
            wings: wings.len() as u64,
            rooms: facets.len() as u64,
            model: embedder(&info.identity, info.dimension).model,
            by_meaning: info.coverage.nearest,
            by_words: info.coverage.lexical,
            warnings: info
                .warnings
                .iter()
                .take(5)
                .map(|finding| finding.message.clone())
                .collect(),
            ..palace
        };
        let mut text = format!(
            "{}: {} drawers in {} wings and {} rooms; {} found by meaning, {} by words.",
            value.palace, value.drawers, value.wings, value.rooms, value.by_meaning, value.by_words
        );
        for warning in &value.warnings {
            text.push_str(&format!("\nWarning: {warning}"));
        }
        Ok(Reply { text, value })
    }
}
