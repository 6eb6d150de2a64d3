//! `wake_up`: returns the text to read at the start of a session.

use loci_core::Result;
use loci_engine::view::DrawerScope;
use loci_engine::wake_up::{FEWEST_TOKENS, WakeUpReport, WakeUpRequest, write_wake_up};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::ReplyBudget;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words;

pub(crate) struct WakeUpTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WakeUpInput {
    wing: Option<String>,
    tokens: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WakeUpOutput {
    /// Quoted data
    text: String,
    drawers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for WakeUpTool {
    const NAME: &'static str = "wake_up";
    const ABOUT: &'static str = "Read at the start of a session: identity, what matters most, what is newest. Each line \
        is cited.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = WakeUpInput;
    type Output = WakeUpOutput;

    fn call(input: WakeUpInput, call: &CallContext<'_>) -> Result<ToolReply<WakeUpOutput>> {
        let budget = ReplyBudget::from_tokens(input.tokens)?;
        // One session for all attempts: every attempt must see the same moment of the palace.
        call.palace.read(|session| {
            let mut tokens = budget.spoken_tokens();
            loop {
                let report = write_wake_up(
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
                let reply = build_reply(report);
                let mut left = budget;
                let fits = left.spend(&reply.text, &reply.value) || tokens <= FEWEST_TOKENS;
                if fits {
                    return Ok(reply);
                }
                // The report counts only its own text; ids, warnings and escaping come on top. So it shrinks
                // until all fits.
                tokens = (tokens * 3 / 4).max(FEWEST_TOKENS);
            }
        })
    }
}

fn build_reply(report: WakeUpReport) -> ToolReply<WakeUpOutput> {
    let warnings = words::list_warnings(&report.warnings);
    let mut text = report.text.clone();
    words::append_ending(&mut text, &warnings, None);
    ToolReply {
        text,
        value: WakeUpOutput {
            text: report.text,
            drawers: report.drawers.iter().map(ToString::to_string).collect(),
            warnings,
        },
    }
}
