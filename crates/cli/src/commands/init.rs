//! `loci init`: creates a palace or a collection.

use clap::builder::RangedU64ValueParser;
use loci_core::{Error, ErrorKind, Metric};
use loci_engine::init::{InitModel, InitRequest};

use crate::errors::{CommandResult, ExitStatus};
use crate::palace::remember_backend;
use crate::session::CommandSession;

/// Create a palace, or a collection in one
///
/// An existing palace or collection stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci init\n  loci init --embedder minilm\n  \
    loci init --palace ./notes --dimension 384 --metric cosine")]
pub(crate) struct InitArgs {
    /// The backend of the palace [default: embedded]
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,

    /// The embedder; with `none`, search is by words only, or by vectors that you bring [default: builtin, or none with
    /// --dimension]
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,

    /// The dimension of its vectors [default: that of the first vector]
    // No model comes near the limit; a larger number is a typing error that every later write would be refused for.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    dimension: Option<usize>,

    /// The metric: cosine, l2 or ip [default: cosine]
    #[arg(long, value_name = "METRIC", value_parser = Metric::parse)]
    metric: Option<Metric>,
}

/// Creates the palace and the collection if they are missing.
pub(crate) fn run(args: &InitArgs, session: &mut CommandSession) -> CommandResult {
    // --backend counts only here: later commands read the backend from the palace itself.
    let address = session.find_address(session.globals.palace.as_deref(), args.backend.as_deref())?;
    // A model that was named must be there; the usual one depends on --dimension and is chosen by the engine.
    let model = match &args.embedder {
        Some(name) => InitModel::Chosen(session.embedders.find_by_name(name)?),
        None => InitModel::Usual,
    };
    let folder = address.reference.local_path.clone();
    let report = session.palace_at(address).init(&InitRequest {
        model,
        dimension: args.dimension,
        metric: args.metric,
    });
    let report = report.map_err(|error| explain_mismatch(error, args.dimension))?;
    if let (Some(folder), Some(plugin)) = (folder, session.registry.find_plugin(&report.backend)) {
        remember_backend(&folder, &plugin.name)?;
    }
    if session.out.is_json() {
        session.out.write_json(&report)?;
        return Ok(ExitStatus::Done);
    }
    session.out.write_page(|page| {
        let done = if report.created {
            "created"
        } else {
            "exists already:"
        };
        page.plain(done).plain(" ").bold(&report.palace);
        page.dim(&format!(
            "  {} · {} · {} · {}",
            report.backend,
            report.collection,
            report.embedder,
            report.metric.name()
        ))
        .end();
    })?;
    if report.created {
        session.out.note_open_folder(&report.palace);
    }
    Ok(ExitStatus::Done)
}

/// Rewords the error of a dimension that is not the collection's: no vector was given.
fn explain_mismatch(error: Error, dimension: Option<usize>) -> Error {
    match dimension {
        Some(dimension) if error.kind() == ErrorKind::DimensionMismatch => Error::new(
            error.kind(),
            format!("the collection exists, and its vectors are not of dimension {dimension}"),
        )
        .with_hint("nothing was changed; leave --dimension out, or name another --collection"),
        _ => error,
    }
}
