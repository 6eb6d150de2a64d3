//! `loci model`: which models this machine has, and getting more.

mod install;
mod list;
mod remove;
mod verify;

use crate::errors::Done;
use crate::session::Session;

/// See, install, check and remove models
///
/// `builtin` is part of this program and always there. `minilm` is the full all-MiniLM-L6-v2, slower and in some
/// ways better. Any embedding server can be added under a name of its own. Nothing is fetched unless asked for.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci model list\n  loci model install minilm\n  \
    loci model install nomic --url http://127.0.0.1:11434 --model nomic-embed-text\n  loci model verify"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    List(list::Args),
    Install(install::Args),
    Verify(verify::Args),
    Remove(remove::Args),
}

/// Runs it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    match &args.what {
        What::List(args) => list::run(args, session),
        What::Install(args) => install::run(args, session),
        What::Verify(args) => verify::run(args, session),
        What::Remove(args) => remove::run(args, session),
    }
}
