//! One run: the load, then every figure in every phase.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_core::{
    ApplyRequest, Capability, Collection, CollectionName, CreateMode, Error, ErrorKind, Maintenance,
    MaintenanceKind, Metric, OpenOptions, Result, SPEC_VERSION, Timestamp, Write,
};
use loci_engine::{Palace, PalaceAddress};
use serde_json::Value as Json;

use crate::corpus::{CorpusCatalog, CorpusEmbedder};
use crate::machine::{peak_memory_below_mb, peak_memory_mb};
use crate::measures::{PhaseMeasures, PhaseScene};
use crate::truth::find_truth;
use crate::{
    BenchmarkCorpus, BenchmarkPhase, BenchmarkReport, BenchmarkWorkload, FigureUnit, MachineFacts,
    MeasuredFigure,
};

/// The time after which background maintenance is no longer waited for.
const SETTLE_WAIT: Duration = Duration::from_secs(600);

/// The pause between two looks at background maintenance.
const SETTLE_PAUSE: Duration = Duration::from_millis(200);

/// What to measure.
#[derive(Debug, Clone)]
pub struct BenchmarkRequest {
    /// The corpus.
    pub corpus: BenchmarkCorpus,
    /// How the backend is loaded and asked.
    pub workload: BenchmarkWorkload,
}

/// The place that the corpus is loaded into.
pub struct BenchmarkPlace<'a> {
    /// The palace.
    pub address: PalaceAddress,
    /// The collection, which must not exist yet; it is dropped at the end.
    pub collection: CollectionName,
    /// Returns the bytes that the palace takes on disk, if that can be told.
    pub size: &'a dyn Fn() -> Option<u64>,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// Returns whether the run is to stop. It is asked before each call, and the collection is dropped then as well.
    pub should_stop: &'a dyn Fn() -> bool,
}

impl BenchmarkPlace<'_> {
    /// Fails once the run is to stop.
    pub(crate) fn check_stop(&self) -> Result<()> {
        if !(self.should_stop)() {
            return Ok(());
        }
        Err(
            Error::new(ErrorKind::Unavailable, "the benchmark was interrupted")
                .with_hint("what it had filed was removed; nothing else was changed"),
        )
    }
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BenchmarkStep {
    /// This many drawers of all are loaded.
    Loading(u64, u64),
    /// The true nearest drawers are being computed.
    Comparing,
    /// Background maintenance is waited for.
    Settling,
    /// A kind of maintenance is running.
    Maintaining(String),
    /// A figure of a phase is being taken.
    Measuring(String, String),
}

/// Loads the corpus into a new collection, measures it in every phase, and drops the collection, also after an error.
pub fn run_benchmark(
    request: &BenchmarkRequest,
    place: &BenchmarkPlace<'_>,
    watch: &mut dyn FnMut(BenchmarkStep),
) -> Result<BenchmarkReport> {
    let backend = place.address.backend.as_ref();
    let descriptor = backend.descriptor();
    descriptor.require_capability(&Capability::EmbeddingsPassthrough)?;
    if descriptor.has_capability(&Capability::ReadOnly) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the backend {:?} takes no writes", descriptor.name),
        )
        .with_hint("nothing was changed; measure a palace that can be written to"));
    }
    let options = OpenOptions {
        writable: true,
        metric: Some(Metric::Cosine),
        dimension: Some(request.corpus.dimension),
        embedder: Some(request.corpus.identity()),
        ..OpenOptions::default()
    };
    // Exclusive: a collection that exists is never touched.
    let collection = backend.create(
        &place.address.reference,
        &place.collection,
        CreateMode::Exclusive,
        &options,
    )?;
    let run = BenchmarkRun {
        request,
        place,
        collection,
    };
    let measured = run.measure_phases(watch);
    let BenchmarkRun { collection, .. } = run;
    drop(collection);
    let dropped = backend.drop_collection(&place.address.reference, &place.collection);
    let phases = measured?;
    dropped.map_err(|error| {
        error.with_hint(format!(
            "the collection {:?} of the benchmark could not be removed; drop it by hand",
            place.collection.as_str()
        ))
    })?;
    Ok(run_report(request, place, phases))
}

fn run_report(
    request: &BenchmarkRequest,
    place: &BenchmarkPlace<'_>,
    phases: Vec<BenchmarkPhase>,
) -> BenchmarkReport {
    let backend = place.address.backend.as_ref();
    let descriptor = backend.descriptor();
    let (major, minor) = (SPEC_VERSION.major, SPEC_VERSION.minor);
    let versions = [
        ("loci", env!("CARGO_PKG_VERSION").to_owned()),
        ("contract", format!("{major}.{minor}")),
    ];
    BenchmarkReport {
        machine: MachineFacts::read(),
        versions: versions.map(|(name, version)| (name.to_owned(), version)).into(),
        backend: descriptor.name.clone(),
        backend_detail: backend.health(Some(&place.address.reference)).detail,
        approximate: descriptor.has_capability(&Capability::ApproximateQuery),
        seed: request.corpus.seed,
        rows: request.corpus.rows,
        dimension: request.corpus.dimension,
        workload: request.workload.clone(),
        phases,
    }
}

/// A run with its collection.
struct BenchmarkRun<'a> {
    request: &'a BenchmarkRequest,
    place: &'a BenchmarkPlace<'a>,
    collection: Arc<dyn Collection>,
}

impl BenchmarkRun<'_> {
    fn measure_phases(&self, watch: &mut dyn FnMut(BenchmarkStep)) -> Result<Vec<BenchmarkPhase>> {
        let load = self.load_corpus(watch)?;
        let scene = self.set_scene(watch);
        let mut phases = Vec::new();
        let mut loaded = self.measure_phase("loaded", None, &scene, watch)?;
        loaded.figures.extend(load.map(|load| ("load".to_owned(), load)));
        phases.push(loaded);
        watch(BenchmarkStep::Settling);
        self.wait_until_settled()?;
        phases.push(self.measure_phase("settled", None, &scene, watch)?);
        let kinds = &self.place.address.backend.descriptor().maintenance;
        for kind in kinds {
            watch(BenchmarkStep::Maintaining(kind.name().to_owned()));
            let report = self.maintain(kind)?;
            let name = format!("after {kind}");
            phases.push(self.measure_phase(&name, Some(report), &scene, watch)?);
        }
        Ok(phases)
    }

    /// Files every drawer and returns the speed, a sample for each batch.
    fn load_corpus(&self, watch: &mut dyn FnMut(BenchmarkStep)) -> Result<Option<MeasuredFigure>> {
        let BenchmarkRequest { corpus, workload } = self.request;
        let mut samples = Vec::new();
        let mut n = 0;
        while n < corpus.rows {
            self.place.check_stop()?;
            watch(BenchmarkStep::Loading(n, corpus.rows));
            let end = (n + workload.batch as u64).min(corpus.rows);
            let make = |n| corpus.make_drawer(n, &workload.filters).map(Write::Add);
            let batch = (n..end).map(make).collect::<Result<Vec<Write>>>()?;
            let begun = Instant::now();
            self.collection.apply(&ApplyRequest::from_writes(&batch))?;
            samples.push((end - n) as f64 / begun.elapsed().as_secs_f64());
            n = end;
        }
        Ok(MeasuredFigure::from_samples(
            FigureUnit::DrawersPerSecond,
            samples,
        ))
    }

    fn set_scene(&self, watch: &mut dyn FnMut(BenchmarkStep)) -> PhaseScene {
        let BenchmarkRequest { corpus, workload } = self.request;
        watch(BenchmarkStep::Comparing);
        let questions: Vec<Vec<f32>> = (0..workload.rounds as u64)
            .map(|n| corpus.make_question(n))
            .collect();
        let truth = find_truth(corpus, &questions, &workload.filters, workload.k);
        let catalog = CorpusCatalog(Arc::new(CorpusEmbedder::new(corpus)));
        let palace = Palace::new(self.place.address.clone(), Arc::new(catalog), self.place.clock)
            .in_collection(Some(self.place.collection.clone()));
        PhaseScene {
            corpus: corpus.clone(),
            workload: workload.clone(),
            questions,
            truth,
            palace,
            now: (self.place.clock)(),
        }
    }

    fn measure_phase(
        &self,
        name: &str,
        maintenance: Option<Json>,
        scene: &PhaseScene,
        watch: &mut dyn FnMut(BenchmarkStep),
    ) -> Result<BenchmarkPhase> {
        let maintenance_state = match self.collection.upkeep() {
            Some(upkeep) => to_json(&upkeep.state()?)?,
            None => Json::Null,
        };
        let mut tell = |figure: &str| watch(BenchmarkStep::Measuring(name.to_owned(), figure.to_owned()));
        let mut measures = PhaseMeasures::new(self.collection.as_ref(), scene, self.place);
        measures.measure_all(&mut tell)?;
        let (mut figures, missing) = measures.finish();
        self.measure_sizes(&mut figures);
        Ok(BenchmarkPhase {
            name: name.to_owned(),
            maintenance_state,
            maintenance,
            figures,
            missing,
        })
    }

    fn measure_sizes(&self, figures: &mut BTreeMap<String, MeasuredFigure>) {
        if let Some(bytes) = (self.place.size)() {
            let share = bytes as f64 / self.request.corpus.rows.max(1) as f64;
            let figure = MeasuredFigure::from_value(FigureUnit::BytesPerDrawer, share);
            figures.insert("size".to_owned(), figure);
        }
        let below = peak_memory_below_mb();
        for (name, peak) in [("memory", peak_memory_mb()), ("memory plug-in", below)] {
            let figure = peak.map(|peak| MeasuredFigure::from_value(FigureUnit::Megabytes, peak));
            figures.extend(figure.map(|figure| (name.to_owned(), figure)));
        }
    }

    fn maintain(&self, kind: &MaintenanceKind) -> Result<Json> {
        match self.collection.upkeep() {
            Some(upkeep) => to_json(&upkeep.run(kind)?),
            None => Ok(Json::Null),
        }
    }

    /// Waits until no maintenance is running in the background.
    fn wait_until_settled(&self) -> Result<()> {
        let Some(upkeep) = self.collection.upkeep() else {
            return Ok(());
        };
        let until = Instant::now() + SETTLE_WAIT;
        while is_running(upkeep)? {
            self.place.check_stop()?;
            if Instant::now() > until {
                return Err(Error::new(
                    ErrorKind::TimedOut,
                    format!(
                        "background maintenance still runs after {} s",
                        SETTLE_WAIT.as_secs()
                    ),
                )
                .with_hint("the collection of the benchmark was removed; try fewer rows"));
            }
            std::thread::sleep(SETTLE_PAUSE);
        }
        Ok(())
    }
}

fn is_running(upkeep: &dyn Maintenance) -> Result<bool> {
    Ok(!upkeep.state()?.running.is_empty())
}

fn to_json(value: &impl serde::Serialize) -> Result<Json> {
    serde_json::to_value(value)
        .map_err(|cause| Error::new(ErrorKind::Internal, "a report cannot be written").caused_by(cause))
}
