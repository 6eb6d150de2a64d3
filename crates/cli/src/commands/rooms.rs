//! `loci rooms`: the rooms, and the number of drawers in each.

use super::wings::{conclude, count_wings};
use crate::errors::Done;
use crate::scope::ScopeArgs;
use crate::session::Session;

/// List the rooms
///
/// Each with its wing and the number of its drawers: wings as `loci wings` orders them, in each the room with the most
/// drawers first. `-` stands for drawers in no wing or no room. Exits with 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci rooms\n  loci rooms --wing work")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Lists them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = count_wings(&args.scope, session)?;
    if !session.out.is_json() {
        session.out.page(|page| {
            for wing in &report.wings {
                for room in &wing.rooms {
                    page.plain(&format!("{:>8}  ", room.drawers));
                    page.plain(wing.wing.as_deref().unwrap_or("-")).plain(" / ");
                    page.plain(room.room.as_deref().unwrap_or("-")).end();
                }
            }
        })?;
    }
    conclude(&report, &args.scope, session)
}
