//! `loci embedder set`: says which model made a collection's vectors.

use std::sync::Arc;

use loci_core::{Collection, Embedder, Error, ErrorKind, IdentityChange, IdentityState};
use loci_engine::agreement;
use serde_json::json;

use crate::errors::{Done, Exit};
use crate::session::Session;

/// The least cosine between stored vectors and those the named model makes of the same texts.
const AGREES: f32 = 0.9;

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
    let (_, collection) = session.write()?;
    let before = collection.info()?;
    let identity = embedder.identity();
    let was = matches!(&before.identity, IdentityState::Known(known) if known == identity);
    if !was {
        if !args.force_model_swap {
            before
                .identity
                .check_open(Some(identity))
                .or_else(|error| match before.coverage.nearest {
                    0 => Ok(()),
                    _ => Err(insisting(error, args)),
                })?;
            check(&embedder, collection.as_ref(), args)?;
        }
        let why = match args.force_model_swap {
            true => IdentityChange::Force,
            false => IdentityChange::Confirm,
        };
        collection.set_identity(identity, why)?;
    }
    let missing = before.drawers.saturating_sub(before.coverage.nearest);
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({
            "model": identity.model,
            "revision": identity.revision,
            "dimension": identity.dimension,
            "changed": !was,
            "forced": !was && args.force_model_swap,
            "missing": missing,
        }))?;
    } else {
        let said = if was { "was recorded already:" } else { "recorded" };
        out.page(|page| {
            page.plain(said).plain(" ").bold(&identity.to_string()).end();
        })?;
    }
    if missing > 0 {
        out.note(&format!(
            "{missing} drawers have no vector yet; make them with `loci embedder switch {}`",
            args.model
        ));
    }
    Ok(Exit::Done)
}

/// Compares what is stored with what the model makes of the same texts.
fn check(embedder: &Arc<dyn Embedder>, collection: &dyn Collection, args: &Args) -> Done<()> {
    let stored = collection.info()?.dimension;
    if let Some(stored) = stored.filter(|stored| *stored != embedder.identity().dimension) {
        return Err(loci_core::write::dimension_mismatch(stored, embedder.identity().dimension).into());
    }
    match agreement(collection, embedder.as_ref())? {
        Some(least) if least < AGREES => {
            let message = format!(
                "the stored vectors are not those that {} makes of the same texts: cosine {least:.2}",
                embedder.identity()
            );
            Err(insisting(Error::new(ErrorKind::IdentityMismatch, message), args).into())
        }
        _ => Ok(()),
    }
}

fn insisting(error: Error, args: &Args) -> Error {
    error.hint(format!(
        "nothing was changed; make new vectors with `loci embedder switch {}`, or insist with --force-model-swap",
        args.model
    ))
}
