//! `wake_up`: what to read at the start of a session.

use loci_core::Result;
use loci_engine::view::DrawerScope;
use loci_engine::wake_up::{FEWEST_TOKENS, WakeUpReport, WakeUpRequest, wake_up};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words;

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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
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
        call.palace.read(|session| {
            let mut tokens = budget.tokens();
            loop {
                let report = wake_up(
                    session.reader(),
                    &WakeUpRequest {
                        scope: DrawerScope {
                            wing: input.wing.clone(),
                            ..DrawerScope::default()
                        },
                        tokens: tokens.max(FEWEST_TOKENS),
                        now: session.now(),
                    },
                )?;
                let reply = reply(report);
                let mut left = budget;
                let fits = left.spend(&reply.text, &reply.value) || tokens <= FEWEST_TOKENS;
                if fits {
                    return Ok(reply);
                }
                tokens = (tokens * 3 / 4).max(FEWEST_TOKENS);
            }
        })
    }
}

fn reply(report: WakeUpReport) -> Reply<Output> {
    let warnings = words::warnings(&report.warnings);
    let mut text = report.text.clone();
    words::end(&mut text, &warnings, None);
    Reply {
        text,
        value: Output {
            text: report.text,
            drawers: report.drawers.iter().map(ToString::to_string).collect(),
            warnings,
        },
    }
}
