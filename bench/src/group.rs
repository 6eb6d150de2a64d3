//! What a write costs when many threads write at once, each write alone or in groups: writes a second, syncs, waiting.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use loci_core::*;
use loci_store::EmbeddedBackend;
use serde_json::{Map, Value as Json, json};

use crate::corpus;
use crate::measure;
use crate::storage;

/// How many threads write at once.
const THREADS: [usize; 3] = [1, 5, 20];

/// Measures a closed loop of single writes for each number of threads, in a palace of its own.
pub(crate) fn run(folder: &Path, writes: u64) -> Result<Json> {
    let mut figures = Map::new();
    for threads in THREADS {
        for (name, backend) in [
            ("single", EmbeddedBackend::new()),
            ("grouped", EmbeddedBackend::new().grouping_writes()),
        ] {
            let name = format!("{name}_{threads}");
            let figure = measure_writers(&backend, &folder.join(&name), threads, writes)?;
            figures.insert(name, figure);
        }
    }
    Ok(Json::Object(figures))
}

/// Lets each thread write one drawer after the other through a handle that sees one wing, until all are written.
fn measure_writers(backend: &EmbeddedBackend, folder: &Path, threads: usize, writes: u64) -> Result<Json> {
    storage::open(folder)?;
    let handles = (0..threads)
        .map(|thread| open_wing(backend, folder, thread))
        .collect::<Result<Vec<_>>>()?;
    let (next, syncs, begun) = (AtomicU64::new(0), EmbeddedBackend::count_syncs(), Instant::now());
    let write = |thread: usize, handle: &dyn Collection| -> Result<Vec<f64>> {
        let mut waits = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= writes {
                return Ok(waits);
            }
            let mut drawer = storage::drawer(&corpus::sample(number));
            drawer.place.wing = Some(wing(thread));
            let asked = Instant::now();
            handle.add_drawer(drawer)?;
            waits.push(asked.elapsed().as_secs_f64() * 1e3);
        }
    };
    let waits = std::thread::scope(|scope| {
        let running: Vec<_> = handles
            .iter()
            .enumerate()
            .map(|(thread, handle)| scope.spawn(move || write(thread, &**handle)))
            .collect();
        let ended = running.into_iter().map(|thread| thread.join());
        ended
            .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>>>()
    })?;
    let wall = begun.elapsed().as_secs_f64();
    let syncs = EmbeddedBackend::count_syncs() - syncs;
    let mut waits = waits.concat();
    waits.sort_by(f64::total_cmp);
    let [p50, p95] = [0.5, 0.95].map(|share| measure::quantile(&waits, share));
    Ok(json!({
        "writes": waits.len(),
        "writes_per_second": waits.len() as f64 / wall,
        "syncs_per_write": syncs as f64 / waits.len() as f64,
        "p50_ms": p50,
        "p95_ms": p95,
    }))
}

fn wing(thread: usize) -> String {
    format!("wing-{thread}")
}

fn open_wing(backend: &EmbeddedBackend, folder: &Path, thread: usize) -> Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        adopts_model: true,
        visible: Filter::text_equals("wing", wing(thread).as_str()),
        ..OpenOptions::for_writing()
    };
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    backend.open(&PalaceRef::local(folder), &name, &how)
}
