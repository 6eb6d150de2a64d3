//! What a plug-in costs: the same backend linked in and in a program of its own, each call made on both in turns.

mod pair;

use std::path::Path;
use std::sync::Arc;

use loci_conformance::Reference;
use loci_core::{
    Backend, Collection, CollectionExt as _, CollectionReaderExt as _, DrawerFields, DrawerId, Error, Filter,
    GetRequest, PalaceRef, QueryRequest, Result, Write,
};
use loci_plugin::{PluginBackend, PluginOptions, serve_backend};
use loci_store::EmbeddedBackend;
use serde_json::{Map, Value as Json, json};

use crate::corpus;
use crate::storage;
use pair::{BackendRivals, RivalCosts};

/// The number of drawers in a bulk batch, and on a page.
const BATCH: u64 = 1000;

/// The most that a plug-in may add to a call, in milliseconds.
const CALL_GOAL_MS: f64 = 0.3;

/// The most that a plug-in may add to a bulk load, as a share of it.
const BULK_GOAL: f64 = 0.15;

/// Which backend is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RivalKind {
    /// The strict backend in memory, as `loci-backend-reference` serves it.
    Reference,
    /// The embedded store.
    Embedded,
}

/// What `loci-bench plugin` is asked to do.
#[derive(Debug, clap::Args)]
pub(crate) struct PluginBenchOptions {
    /// How many drawers.
    #[arg(long, default_value_t = 20_000)]
    rows: u64,
    /// How often each call is repeated.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// Only this backend.
    #[arg(long)]
    only: Option<RivalKind>,
    /// Serve this backend on standard input and output instead; for the program that is measured.
    #[arg(long, hide = true)]
    serve: Option<RivalKind>,
}

impl RivalKind {
    fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Embedded => "embedded",
        }
    }

    fn linked(self) -> Arc<dyn Backend> {
        match self {
            Self::Reference => Arc::new(Reference::new()),
            Self::Embedded => Arc::new(EmbeddedBackend::new()),
        }
    }

    fn serve(self) -> Result<()> {
        match self {
            Self::Reference => serve_backend(Reference::new(), env!("CARGO_PKG_VERSION")),
            Self::Embedded => serve_backend(EmbeddedBackend::new(), env!("CARGO_PKG_VERSION")),
        }
    }
}

/// Measures each backend both ways; the figures by backend and call. `None` if it served a backend.
pub(crate) fn run(options: &PluginBenchOptions) -> Result<Option<Json>> {
    if let Some(kind) = options.serve {
        kind.serve()?;
        return Ok(None);
    }
    let scratch = tempfile::tempdir().map_err(|error| Error::invalid(error.to_string()))?;
    let mut figures = Map::new();
    for kind in [RivalKind::Reference, RivalKind::Embedded] {
        if options.only.is_none_or(|only| only == kind) {
            let found = measure(kind, &scratch.path().join(kind.name()), options)?;
            figures.insert(kind.name().to_owned(), found);
        }
    }
    figures.insert("rows".to_owned(), json!(options.rows));
    figures.insert("rounds".to_owned(), json!(options.rounds));
    Ok(Some(Json::Object(figures)))
}

fn measure(kind: RivalKind, folder: &Path, options: &PluginBenchOptions) -> Result<Json> {
    let program = std::env::current_exe().map_err(|error| Error::invalid(error.to_string()))?;
    let arguments = ["plugin", "--serve", kind.name()].map(str::to_owned);
    let plugged = PluginBackend::start("bench", program, arguments, PluginOptions::default())?;
    let process = plugged
        .process_id()
        .ok_or_else(|| Error::invalid("the plug-in has ended"))?;
    let linked = kind.linked();
    let rivals = BackendRivals::create(
        (linked.as_ref(), PalaceRef::local(folder.join("linked"))),
        (&plugged, PalaceRef::local(folder.join("plugged"))),
        process,
    )?;
    let mut figures = Map::new();
    let load = fill(&rivals, options.rows)?;
    figures.insert(
        "bulk, 1,000 drawers a batch".to_owned(),
        load.describe_bulk(BULK_GOAL),
    );
    for (name, act) in activities(options.rows) {
        let costs = rivals.repeat(options.rounds, &act)?;
        let figure = match name.split_once(" of ") {
            Some(_) => costs.describe_bulk(BULK_GOAL),
            None => costs.describe_calls(CALL_GOAL_MS),
        };
        figures.insert(name.to_owned(), figure);
    }
    Ok(Json::Object(figures))
}

/// Writes the corpus in batches, each into both palaces; only the writing is measured.
fn fill(rivals: &BackendRivals, rows: u64) -> Result<RivalCosts> {
    let mut costs = RivalCosts::default();
    for first in (0..rows).step_by(BATCH as usize) {
        let last = (first + BATCH).min(rows);
        let batch: Vec<Write> = (first..last)
            .map(|n| Write::Add(storage::drawer(&corpus::sample(n))))
            .collect();
        rivals.take_turns((first / BATCH) as usize, &mut costs, &|collection| {
            collection.apply_batch(&batch).map(drop)
        })?;
    }
    Ok(costs)
}

/// A call that is made on both backends in each round.
type RivalCall = Box<dyn Fn(&dyn Collection, usize) -> Result<()>>;

fn activities(rows: u64) -> Vec<(&'static str, RivalCall)> {
    let id = |n: u64| DrawerId::new(format!("drawer-{n:08}")).expect("corpus ids are short");
    let page = |include: DrawerFields| {
        move |collection: &dyn Collection, _: usize| {
            let request = GetRequest {
                limit: Some(BATCH as usize),
                include,
                ..GetRequest::by_filter(Filter::All)
            };
            let found = collection.get(&request)?.len();
            check(found == BATCH as usize, "a page came back short")
        }
    };
    vec![
        (
            "count",
            Box::new(move |collection, _| {
                check(
                    collection.count(&Filter::All.into())? >= rows,
                    "drawers are missing",
                )
            }),
        ),
        (
            "one drawer by id",
            Box::new(move |collection, round| {
                let found = collection.find_drawer(&id(round as u64 * 7919 % rows))?;
                check(found.is_some(), "a drawer is missing")
            }),
        ),
        (
            "one write",
            Box::new(move |collection, round| {
                let drawer = storage::drawer(&corpus::sample(rows + round as u64));
                collection.upsert_drawer(drawer).map(drop)
            }),
        ),
        (
            "query, ten nearest",
            Box::new(move |collection, round| {
                let probe = corpus::vector(rows * 3 + round as u64 * 7919);
                let hits = collection.query(&QueryRequest::nearest_to(probe, 10))?;
                check(
                    hits.iter().map(Vec::len).sum::<usize>() == 10,
                    "a query came back short",
                )
            }),
        ),
        ("page of 1,000 drawers", Box::new(page(DrawerFields::default()))),
        (
            "page of 1,000 drawers with vectors",
            Box::new(page(DrawerFields::EVERYTHING)),
        ),
    ]
}

fn check(holds: bool, otherwise: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::invalid(otherwise))
}
