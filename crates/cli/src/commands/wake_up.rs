//! `loci wake-up`: what to read at the start of a session.

use loci_engine::WakeUpRequest;

use crate::environment::now;
use crate::errors::{Done, Exit};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Say what to read at the start of a session
///
/// Who I am (the room `identity` of any wing), what matters most (drawers with an `importance` above 3, notes filed
/// by hand, diaries) and what is newest: the last conversations, where each can be picked up again, and the last
/// files. Each line says where it is from, when, and by which id `loci show` has the whole.
///
/// The text is memory, quoted as data; its control characters are gone. A scope narrows all but who I am. Exits with 1,
/// and says so in the text, if nothing is in it.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci wake-up\n  loci wake-up --wing work --tokens 400\n  \
    loci add 'I am Ada. I answer in short sentences.' --room identity\n  \
    loci add 'We never ship on Fridays.' --wing work --meta '{\"importance\":5}'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,

    /// The most tokens the text may have; at least 120
    ///
    /// Every model counts differently: this is an estimate on the safe side, so that a model will count fewer, in
    /// English about two thirds.
    #[arg(long, value_name = "N", default_value = "800")]
    tokens: usize,
}

/// Says it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let request = WakeUpRequest {
        scope: args.scope.scope()?,
        tokens: args.tokens,
        now: now(),
    };
    let report = session.palace()?.wake_up(&request)?;
    let found = !report.drawers.is_empty();
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            page.block("", &report.text);
        })?;
    }
    out.warnings(&report.warnings);
    if !found {
        out.note("nothing found");
    }
    Ok(Exit::found(found))
}
