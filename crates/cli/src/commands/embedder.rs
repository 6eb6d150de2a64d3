//! `loci embedder`: which model speaks for a collection's texts, and changing it.

mod set;
mod show;
mod switch;

use loci_core::{IdentityState, Space};

use crate::errors::Done;
use crate::session::Session;

/// See or change the model behind a collection's vectors
///
/// Vectors of two models are never mixed. `switch` moves to another model while everybody goes on reading and
/// writing, `set` says which model made vectors that nobody recorded it for.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci embedder show\n  loci embedder switch minilm\n  \
    loci embedder switch --rollback\n  loci embedder set minilm"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Show(show::Args),
    Set(set::Args),
    Switch(switch::Args),
}

/// Runs it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    match &args.what {
        What::Show(args) => show::run(args, session),
        What::Set(args) => set::run(args, session),
        What::Switch(args) => switch::run(args, session),
    }
}

/// A space in a line: its model, state and how many drawers it reaches.
fn describe(space: &Space) -> (String, String) {
    let name = match &space.identity {
        IdentityState::Known(identity) => identity.to_string(),
        IdentityState::Unset => "no model".to_owned(),
        IdentityState::Unknown => "an unrecorded model".to_owned(),
    };
    let reach = format!(
        "{}  {} of {} drawers",
        space.state.name(),
        space.vectors,
        space.drawers
    );
    (name, reach)
}
