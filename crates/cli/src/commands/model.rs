//! `loci model`: lists, installs, checks and removes models.

mod install;
mod list;
mod remove;
mod verify;

pub(crate) use install::{AddedServer, InstalledModel};
pub(crate) use list::{ModelList, describe_model};
pub(crate) use remove::ModelRemoval;
pub(crate) use verify::ModelVerifyReport;

use crate::errors::CommandResult;
use crate::session::CommandSession;

/// List, install, check and remove models
///
/// `builtin` is part of this program. `minilm` is the full all-MiniLM-L6-v2, which is slower and in some ways better. Any
/// embedding server can be added under a name. Nothing is downloaded unless you ask for it.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_long_help = "Examples:\n  loci model list\n  loci model install minilm\n  \
    loci model install nomic --url http://127.0.0.1:11434 --model nomic-embed-text\n  loci model verify"
)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ModelCommand {
    List(list::ModelListArgs),
    Install(install::ModelInstallArgs),
    Verify(verify::ModelVerifyArgs),
    Remove(remove::ModelRemoveArgs),
}

/// Runs the subcommand.
pub(crate) fn run(args: &ModelArgs, session: &mut CommandSession) -> CommandResult {
    match &args.command {
        ModelCommand::List(args) => list::run(args, session),
        ModelCommand::Install(args) => install::run(args, session),
        ModelCommand::Verify(args) => verify::run(args, session),
        ModelCommand::Remove(args) => remove::run(args, session),
    }
}
