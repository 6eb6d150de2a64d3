//! `wake_up`: what to read at the start of a session.

use loci_core::Result;
use loci_engine::wake_up::{FEWEST_TOKENS, WakeUpRequest, wake_up};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::tool::{Call, Effect, Reply, Tool};

pub(crate) struct WakeUp;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    wing: Option<String>,
    tokens: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Quoted data
    text: String,
    drawers: Vec<String>,
}

impl Tool for WakeUp {
    const NAME: &'static str = "wake_up";
    const ABOUT: &'static str = "Read at the start of a session: who I am, what matters most, what is newest. Each line \
        is cited.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let budget = Budget::of(input.tokens)?;
        let collection = call.house.read()?;
        let mut tokens = budget.tokens();
        loop {
            let report = wake_up(
                collection.as_ref(),
                &WakeUpRequest {
                    wing: input.wing.clone(),
                    tokens: tokens.max(FEWEST_TOKENS),
                    now: call.house.now(),
                },
            )?;
            let text = report.text.clone();
            let value = Output {
                text: report.text,
                drawers: report.drawers.iter().map(ToString::to_string).collect(),
            };
            let mut left = budget;
            if left.spend(&text, &value) || tokens <= FEWEST_TOKENS {
                return Ok(Reply { text, value });
            }
            tokens = (tokens * 3 / 4).max(FEWEST_TOKENS);
        }
    }
}
