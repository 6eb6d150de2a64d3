//! `loci embedder`: the model behind a collection's vectors, shown or changed.

mod set;
mod show;
mod switch;

use loci_core::{EmbeddingSpace, IdentityState};

use crate::errors::CommandResult;
use crate::render::count_drawers;
use crate::session::CommandSession;

/// See or change the model behind a collection's vectors
///
/// Vectors of two models are never mixed. `switch` moves to another model while reads and writes continue; `set` records
/// the model of vectors for which none is recorded.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_long_help = "Examples:\n  loci embedder show\n  loci embedder switch minilm\n  \
    loci embedder switch --rollback\n  loci embedder set minilm"
)]
pub(crate) struct EmbedderArgs {
    #[command(subcommand)]
    command: EmbedderCommand,
}

#[derive(Debug, clap::Subcommand)]
enum EmbedderCommand {
    Show(show::EmbedderShowArgs),
    Set(set::EmbedderSetArgs),
    Switch(switch::EmbedderSwitchArgs),
}

impl EmbedderArgs {
    /// Whether the subcommand answers from what is stored.
    pub(crate) fn is_answer(&self) -> bool {
        match &self.command {
            EmbedderCommand::Show(_) => true,
            EmbedderCommand::Set(_) | EmbedderCommand::Switch(_) => false,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &EmbedderArgs, session: &mut CommandSession) -> CommandResult {
    match &args.command {
        EmbedderCommand::Show(args) => show::run(args, session),
        EmbedderCommand::Set(args) => set::run(args, session),
        EmbedderCommand::Switch(args) => switch::run(args, session),
    }
}

/// Describes an embedding space: its model, and its state with the drawers it covers.
fn describe_space(space: &EmbeddingSpace) -> (String, String) {
    let name = match &space.identity {
        IdentityState::Known(identity) => identity.to_string(),
        // A palace for words only, or one that no vector was stored in yet.
        IdentityState::Unset => "no model".to_owned(),
        // Palaces from elsewhere may not say which model made their vectors.
        IdentityState::Unknown => "an unrecorded model".to_owned(),
    };
    let reach = format!(
        "{}  {} of {}",
        space.state.name(),
        space.vectors,
        count_drawers(space.drawers)
    );
    (name, reach)
}

/// The note on drawers without a vector; `of` says of which model, where that is not clear.
fn missing_vectors(count: u64, of: &str, model: &str) -> String {
    let (have, them) = if count == 1 {
        ("has", "it")
    } else {
        ("have", "them")
    };
    format!(
        "{} {have} no vector{of} yet; embed {them} with `loci embedder switch {model}`",
        count_drawers(count)
    )
}
