//! `loci wake-up`: a digest to read at the start of a session.

use loci_engine::WakeUpRequest;

use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus};
use crate::scope::ScopeArgs;
use crate::session::CommandSession;

/// Print a digest to read at the start of a session
///
/// Lists identity (what you filed by hand in the room `identity` of any wing), important drawers (`importance` above 3,
/// notes, diaries) and the newest conversations and files. Pieces of files and conversations are important only if they
/// are marked. Each line cites its wing, room, date, trust mark and id; `loci show ID` prints the whole drawer.
///
/// Stored text is quoted as data and its control characters are removed. A scope narrows everything but identity. Exits
/// with 1 if nothing matches.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci wake-up\n  loci wake-up --wing work --tokens 400\n  \
    loci add 'I am Ada. I answer in short sentences.' --room identity\n  \
    loci add 'We never ship on Fridays.' --wing work --meta '{\"importance\":5}'"
)]
pub(crate) struct WakeUpArgs {
    #[command(flatten)]
    scope: ScopeArgs,

    /// Print at most about N tokens; at least 120
    ///
    /// The estimate errs on the safe side: models count about two thirds of it for English.
    #[arg(long, value_name = "N", default_value = "800")]
    tokens: usize,
}

/// Prints the digest.
pub(crate) fn run(args: &WakeUpArgs, session: &mut CommandSession) -> CommandResult {
    let request = WakeUpRequest {
        scope: args.scope.build_scope()?,
        tokens: args.tokens,
        now: now(),
    };
    let report = session.open_palace()?.wake_up(&request)?;
    let found = !report.drawers.is_empty();
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            page.block("", &report.text);
        })?;
    }
    out.warnings(&report.warnings);
    if !found {
        out.note("nothing found");
    }
    Ok(ExitStatus::from_found(found))
}
