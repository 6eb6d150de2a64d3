//! `loci init`: makes a palace.

use clap::builder::RangedU64ValueParser;
use loci_core::{CollectionName, CreateMode, Metric, OpenOptions};
use loci_engine::Embedders as _;
use loci_engine::status;
use serde_json::json;

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
    let palace = session.palace_at(session.globals.palace.as_deref(), args.backend.as_deref())?;
    let name = match &session.globals.collection {
        Some(name) => name.clone(),
        None => CollectionName::new(CollectionName::DEFAULT)?,
    };
    let there = match palace.exists() {
        true => palace.collections()?.iter().any(|info| info.name == name),
        false => false,
    };
    let embedder = match (&args.embedder, args.dimension) {
        (Some(name), _) => session.embedders.named(name)?,
        (None, Some(_)) => None,
        // What is there stays as it is; only a new collection gets the usual embedder.
        (None, None) if there => None,
        (None, None) => session.embedders.usual()?,
    };
    if let Some(embedder) = &embedder {
        loci_engine::try_out(embedder.as_ref())?;
    }
    let how = OpenOptions {
        metric: args.metric,
        dimension: args.dimension,
        embedder: embedder.map(|embedder| embedder.identity().clone()),
        ..OpenOptions::writable()
    };
    let mode = CreateMode::OpenExisting;
    let collection = palace.backend().create(&palace.reference, &name, mode, &how)?;
    let info = collection.info()?;
    let model = status::embedder(&info.identity, info.dimension).model;
    let model = model.as_deref().unwrap_or("none");
    if session.out.is_json() {
        session.out.json(&json!({
            "palace": palace.reference.id,
            "backend": palace.backend_name(),
            "embedder": model,
            "created": !there,
            "collection": name,
            "metric": info.metric,
            "dimension": info.dimension,
        }))?;
    } else {
        session.out.page(|page| {
            let done = if there { "was there already:" } else { "made" };
            page.plain(done).plain(" ").bold(&palace.reference.id);
            page.dim(&format!(
                "  {} · {name} · {model} · {}",
                palace.backend_name(),
                info.metric.name()
            ))
            .end();
        })?;
    }
    Ok(Exit::Done)
}
