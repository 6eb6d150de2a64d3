//! `status`: what the palace holds and how far search reaches.

use loci_core::{ErrorKind, Result};
use loci_engine::status::embedder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words;

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
        "What the palace holds, how far search reaches, and what is wrong, if anything.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(_: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let address = call.palace.address()?;
        let palace = Output {
            palace: address.reference.id.clone(),
            backend: address.backend.descriptor().name.clone(),
            read_only: call.palace.access().read_only,
            ..Output::default()
        };
        let overview = match call.palace.overview() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let text = format!("There is no palace at {} yet.", palace.palace);
                return Ok(Reply { text, value: palace });
            }
            read => read?,
        };
        let info = &overview.info;
        let value = Output {
            exists: true,
            drawers: info.drawers,
            wings: overview.wings.len() as u64,
            rooms: overview.wings.iter().map(|wing| wing.rooms.len() as u64).sum(),
            model: embedder(&info.identity, info.dimension).model,
            by_meaning: info.coverage.nearest,
            by_words: info.coverage.lexical,
            warnings: words::warnings(&info.warnings),
            ..palace
        };
        let mut text = format!(
            "{}: {} drawers in {} wings and {} rooms; {} found by meaning, {} by words.",
            value.palace, value.drawers, value.wings, value.rooms, value.by_meaning, value.by_words
        );
        words::end(&mut text, &value.warnings, None);
        Ok(Reply { text, value })
    }
}
