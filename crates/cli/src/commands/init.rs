//! `loci init`: makes a palace.

use clap::builder::RangedU64ValueParser;
use loci_core::Metric;
use loci_engine::init::{InitModel, InitRequest};

use crate::errors::{Done, Exit};
use crate::session::Session;

/// Make a palace, or a collection in one
///
/// Nothing happens to a palace that is there already.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci init\n  loci init --embedder minilm\n  \
    loci init --palace ./notes --dimension 384 --metric cosine")]
pub(crate) struct Args {
    /// The backend that holds it [default: embedded]
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,

    /// What turns text into vectors; `none` leaves it to keywords, or to vectors as they are given
    /// [default: builtin, or none with --dimension]
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,

    /// How many values its vectors have [default: those of the first vector]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    dimension: Option<usize>,

    /// How vectors are compared: cosine, l2 or ip [default: cosine]
    #[arg(long, value_name = "METRIC", value_parser = Metric::parse)]
    metric: Option<Metric>,
}

/// Makes what is missing and says what is there.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let address = session.address_of(session.globals.palace.as_deref(), args.backend.as_deref())?;
    let model = match &args.embedder {
        Some(name) => InitModel::Chosen(session.embedders.named(name)?),
        None => InitModel::Usual,
    };
    let report = session.palace_at(address).init(&InitRequest {
        model,
        dimension: args.dimension,
        metric: args.metric,
    })?;
    if session.out.is_json() {
        session.out.json(&report)?;
        return Ok(Exit::Done);
    }
    session.out.page(|page| {
        let done = if report.created {
            "made"
        } else {
            "was there already:"
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
    Ok(Exit::Done)
}
