//! `loci embedder set`: records the model that made a collection's vectors.

use loci_core::Error;
use loci_engine::embedder::SetEmbedderRequest;

use super::missing_vectors;
use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// Record the model that made the vectors
///
/// For palaces without a recorded model. Some drawers are re-embedded and compared, so that a wrong model is refused;
/// nothing else changes. In a palace without vectors, the model embeds every drawer filed from now on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci embedder set minilm")]
pub(crate) struct EmbedderSetArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    model: String,

    /// Record the model although another is recorded or the comparison fails; the palace's log keeps a note
    #[arg(long)]
    force_model_swap: bool,
}

/// Records the model.
pub(crate) fn run(args: &EmbedderSetArgs, session: &mut CommandSession) -> CommandResult {
    let Some(embedder) = session.embedders.find_by_name(&args.model)? else {
        // To leave a palace without a model is a choice of `loci init`; these vectors exist.
        let error = Error::invalid("`none` makes no vectors, so it cannot have made these");
        return Err(error
            .with_hint("nothing was changed; name the model that made them")
            .into());
    };
    let report = session.open_palace()?.set_embedder(&SetEmbedderRequest {
        embedder: embedder.clone(),
        force: args.force_model_swap,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        let said = if report.changed {
            "recorded"
        } else {
            "is recorded already:"
        };
        out.write_page(|page| {
            page.plain(said)
                .plain(" ")
                .bold(&embedder.identity().to_string())
                .end();
        })?;
    }
    // Recording a model makes no vectors; that may take hours, and is a command of its own.
    if report.missing > 0 {
        out.note(&missing_vectors(report.missing, "", &args.model));
    }
    Ok(ExitStatus::Done)
}
