//! `loci get`: drawers by id.

use loci_core::DrawerId;
use loci_engine::show::ShowRequest;

use super::show::tell_missing;
use crate::errors::{Done, Exit};
use crate::render::{self, warn_of_damage};
use crate::session::Session;

/// Show drawers by their ids
///
/// The beginning of an id will do, from 6 characters on, where no other id begins so. Exits with 1 if none of them is
/// there.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci get 533da3687d741789776f6929b2c70fce\n  \
    loci get note-1 note-2 --embeddings --json"
)]
pub(crate) struct Args {
    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<DrawerId>,

    /// Show their exact vectors, too
    #[arg(long)]
    embeddings: bool,
}

/// Shows them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.show(&ShowRequest {
        ids: args.ids.clone(),
        embeddings: args.embeddings,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            report
                .drawers
                .iter()
                .for_each(|drawer| render::whole(drawer, page))
        })?;
        for id in &report.missing {
            tell_missing(id, out);
        }
    }
    warn_of_damage(&report.drawers, out);
    Ok(Exit::found(!report.drawers.is_empty()))
}
