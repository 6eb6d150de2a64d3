//! `mempalace_reconnect`: there is nothing to reconnect; it says so and how much is there.

use loci_core::{ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use crate::mcp::tool::{Call, Effect};

pub(super) struct Reconnect;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    success: bool,
    message: &'static str,
    drawers: u64,
    vector_disabled: bool,
}

impl Namesake for Reconnect {
    const NAME: &'static str = "mempalace_reconnect";
    const ABOUT: &'static str = "Not needed: every call sees what others wrote.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(_: Input, call: &Call<'_>) -> Result<Output> {
        let (drawers, nearest) = match call.house.read() {
            Err(error) if error.kind() == ErrorKind::NotFound => (0, 0),
            opened => {
                let info = opened?.info()?;
                (info.drawers, info.coverage.nearest)
            }
        };
        Ok(Output {
            success: true,
            message: "nothing to reconnect: every call sees what others wrote",
            drawers,
            vector_disabled: drawers > 0 && nearest == 0,
        })
    }
}
