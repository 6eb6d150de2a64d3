//! Palaces in a Postgres server beside the embedded store: the same corpus and the same questions, in one run.

mod asking;
mod processes;
mod questions;

use std::path::Path;
use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionExt, CollectionName, CreateMode, EmbedderIdentity, MaintenanceKind,
    OpenOptions, PalaceRef, QueryPrecision, Result, Write,
};
use loci_postgres::PostgresBackend;
use loci_store::EmbeddedBackend;
use serde_json::{Map, Value as Json, json};

use crate::corpus::{self, CorpusShape, DIMENSION};
use crate::measure;
use crate::storage;

/// The number of drawers in a bulk batch.
const BATCH: u64 = 1000;

/// What `loci-bench postgres` is asked to do.
#[derive(Debug, clap::Args)]
pub(crate) struct PostgresBenchOptions {
    /// The URL of an empty database in a running server; see bench/README.md.
    #[arg(long)]
    url: String,
    /// How many drawers.
    #[arg(long, default_value_t = 10_000)]
    rows: u64,
    /// How often each call is repeated.
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// How the vectors lie.
    #[arg(long, value_enum, default_value = "clustered")]
    shape: CorpusShape,
    /// Only queries by vector, on drawers with short texts and on the server alone.
    #[arg(long)]
    only_queries: bool,
    /// Only searches end to end.
    #[arg(long, conflicts_with = "only_queries")]
    only_search: bool,
    /// Ask what an earlier run with the same `--only-…` has filled and indexed, on the server alone.
    #[arg(long)]
    again: bool,
    /// The process id of the server, to measure its memory.
    #[arg(long)]
    server: Option<u32>,
}

/// A backend under measurement, with a palace of its own.
struct MeasuredBackend<'a> {
    backend: Arc<dyn Backend>,
    palace: PalaceRef,
    /// How often its calls have waited for a server so far.
    waits: &'a dyn Fn() -> u64,
    options: &'a PostgresBenchOptions,
}

/// Fills both palaces and measures everything; the figures by backend and name.
pub(crate) fn run(options: &PostgresBenchOptions) -> Result<Json> {
    let mut figures = Map::new();
    if options.again && !options.only_queries && !options.only_search {
        return Err(loci_core::Error::invalid(
            "--again needs --only-queries or --only-search",
        ));
    }
    if !options.only_queries && !options.again {
        let scratch = tempfile::tempdir().map_err(|error| loci_core::Error::invalid(error.to_string()))?;
        figures.insert("embedded".to_owned(), measure_embedded(scratch.path(), options)?);
    }
    let server = Arc::new(PostgresBackend::new());
    let waits = || server.count_waits();
    let measured = MeasuredBackend {
        backend: Arc::clone(&server) as Arc<dyn Backend>,
        palace: server.adopt_url(&options.url)?,
        waits: &waits,
        options,
    };
    let mut found = measured.measure()?;
    if let Some(server) = options.server {
        found.insert(
            "server_memory_mb".to_owned(),
            json!(processes::sum_memory_mb(server)),
        );
    }
    figures.insert("postgres".to_owned(), Json::Object(found));
    figures.insert("rows".to_owned(), json!(options.rows));
    figures.insert("shape".to_owned(), json!(format!("{:?}", options.shape)));
    let (now, peak) = measure::memory_mb();
    figures.insert("client_memory_mb".to_owned(), json!({"now": now, "peak": peak}));
    Ok(Json::Object(figures))
}

fn measure_embedded(folder: &Path, options: &PostgresBenchOptions) -> Result<Json> {
    let palace = folder.join("palace");
    let measured = MeasuredBackend {
        backend: Arc::new(EmbeddedBackend::new()),
        palace: PalaceRef::local(&palace),
        waits: &|| 0,
        options,
    };
    let mut figures = measured.measure()?;
    let bytes = std::fs::metadata(palace.join(EmbeddedBackend::FILE)).map_or(0, |file| file.len());
    figures.insert("bytes_in_all".to_owned(), json!(bytes));
    Ok(Json::Object(figures))
}

impl MeasuredBackend<'_> {
    fn measure(&self) -> Result<Map<String, Json>> {
        let mut figures = Map::new();
        if self.options.only_search {
            figures.insert("search".to_owned(), self.measure_search()?);
            return Ok(figures);
        }
        let collection = self.create_collection(
            CollectionName::DEFAULT,
            EmbedderIdentity {
                model: "bench".into(),
                revision: "1".into(),
                dimension: DIMENSION,
            },
        )?;
        if !self.options.again {
            self.fill(collection.as_ref(), &mut figures)?;
        }
        self.take_statistics(collection.as_ref(), &mut figures, "before_the_index")?;
        figures.insert(
            "queries_exact".to_owned(),
            self.measure_queries(&collection, true)?,
        );
        let (built, spent) = measure::cost(|| {
            collection
                .require_upkeep()?
                .choose_precision(QueryPrecision::Approximate)
        });
        if built.is_ok() {
            figures.insert("index_seconds".to_owned(), json!(spent.wall));
            self.take_statistics(collection.as_ref(), &mut figures, "with_the_index")?;
        }
        if collection.info()?.approximate {
            let found = self.measure_queries(&collection, false)?;
            figures.insert("queries_approximate".to_owned(), found);
        }
        if !self.options.only_queries {
            self.measure_others(collection.as_ref(), &mut figures)?;
        }
        Ok(figures)
    }

    fn create_collection(&self, name: &str, embedder: EmbedderIdentity) -> Result<Arc<dyn Collection>> {
        let options = OpenOptions {
            embedder: Some(embedder),
            ..OpenOptions::for_writing()
        };
        let name = CollectionName::new(name)?;
        // Figures of a palace that held drawers before would be of another size.
        let mode = if self.options.again {
            CreateMode::OpenExisting
        } else {
            CreateMode::Exclusive
        };
        self.backend.create(&self.palace, &name, mode, &options)
    }

    /// Writes the corpus in batches; only the writing is measured, not the making of samples.
    fn fill(&self, collection: &dyn Collection, figures: &mut Map<String, Json>) -> Result<()> {
        let (mut cpu, mut wall) = (0.0, 0.0);
        for first in (0..self.options.rows).step_by(BATCH as usize) {
            let last = (first + BATCH).min(self.options.rows);
            let batch: Vec<Write> = (first..last)
                .map(|n| Write::Add(storage::drawer(&self.make_sample(n))))
                .collect();
            let (done, spent) = measure::cost(|| collection.apply_batch(&batch));
            done?;
            cpu += spent.cpu;
            wall += spent.wall;
        }
        let rows = self.options.rows as f64;
        let bulk = json!({"rows_per_second": rows / wall, "rows_per_client_cpu_second": rows / cpu});
        figures.insert("bulk".to_owned(), bulk);
        Ok(())
    }

    fn make_sample(&self, n: u64) -> corpus::CorpusSample {
        let mut sample = corpus::sample(n);
        sample.vector = self.options.shape.vector(n);
        if self.options.only_queries {
            sample.text = format!("drawer {n}");
        }
        sample
    }

    /// Takes the statistics that a server takes by itself some time after a load, and notes its size.
    fn take_statistics(
        &self,
        collection: &dyn Collection,
        figures: &mut Map<String, Json>,
        when: &str,
    ) -> Result<()> {
        let report = collection.require_upkeep()?.run(&MaintenanceKind::ANALYZE)?;
        if let Some(bytes) = report.figures.get("bytes_after") {
            let each = *bytes as f64 / self.options.rows as f64;
            figures.insert(format!("bytes_per_drawer_{when}"), json!(each));
        }
        Ok(())
    }

    fn measure_others(&self, collection: &dyn Collection, figures: &mut Map<String, Json>) -> Result<()> {
        let rounds = self.options.rounds;
        let words = measure::repeat(rounds, |round| storage::words(collection, round));
        figures.insert("words".to_owned(), storage::repeated(&words));
        let single = measure::repeat(rounds, |round| {
            let sample = self.make_sample(self.options.rows + round as u64);
            assert!(
                collection.upsert_drawer(storage::drawer(&sample)).is_ok(),
                "a write failed"
            );
        });
        figures.insert("single_write".to_owned(), storage::repeated(&single));
        figures.insert("search".to_owned(), self.measure_search()?);
        Ok(())
    }
}
