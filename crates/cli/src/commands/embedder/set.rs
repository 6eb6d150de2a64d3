//! `loci embedder set`: says which model made a collection's vectors.

use loci_core::Error;
use loci_engine::embedder::SetEmbedderRequest;

use crate::errors::{Done, Exit};
use crate::session::Session;

/// Say which model made the vectors
///
/// For palaces whose model nobody recorded. Some drawers are embedded again and compared, so that a wrong name is
/// noticed; nothing else changes. A palace without vectors gets the model for what is filed from now on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci embedder set minilm")]
pub(crate) struct Args {
    /// The model
    #[arg(value_name = "MODEL")]
    model: String,

    /// Record it against what is known; it is written to the palace's log
    #[arg(long)]
    force_model_swap: bool,
}

/// Records it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let Some(embedder) = session.embedders.named(&args.model)? else {
        let error = Error::invalid("`none` makes no vectors, so it cannot have made these");
        return Err(error
            .hint("nothing was changed; name the model that made them")
            .into());
    };
    let report = session.palace()?.set_embedder(&SetEmbedderRequest {
        embedder: embedder.clone(),
        force: args.force_model_swap,
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        let said = if report.changed {
            "recorded"
        } else {
            "was recorded already:"
        };
        out.page(|page| {
            page.plain(said)
                .plain(" ")
                .bold(&embedder.identity().to_string())
                .end();
        })?;
    }
    if report.missing > 0 {
        out.note(&format!(
            "{} drawers have no vector yet; make them with `loci embedder switch {}`",
            report.missing, args.model
        ));
    }
    Ok(Exit::Done)
}
