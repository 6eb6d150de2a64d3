//! The same collection behind two backends, and the cost of each call on both, in time and processor time.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{
    Backend, Collection, CollectionName, CreateMode, EmbedderIdentity, OpenOptions, PalaceRef, Result,
};
use serde_json::{Value as Json, json};

use crate::corpus::DIMENSION;
use crate::measure::{cpu_seconds, quantile};

/// A collection, and the process that it is kept in if that is another one.
struct BackendRival {
    collection: Arc<dyn Collection>,
    process: Option<u32>,
}

/// A collection in a backend that is linked in, and its like in a plug-in.
pub(super) struct BackendRivals {
    linked: BackendRival,
    plugged: BackendRival,
}

/// The milliseconds of one activity, call by call.
#[derive(Debug, Default)]
struct CallSeries {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

/// The costs of one activity on both.
#[derive(Debug, Default)]
pub(super) struct RivalCosts {
    linked: CallSeries,
    plugged: CallSeries,
}

impl BackendRival {
    fn create(backend: &dyn Backend, place: &PalaceRef, process: Option<u32>) -> Result<Self> {
        let options = OpenOptions {
            embedder: Some(EmbedderIdentity {
                model: "bench".into(),
                revision: "1".into(),
                dimension: DIMENSION,
            }),
            ..OpenOptions::for_writing()
        };
        let name = CollectionName::new(CollectionName::DEFAULT)?;
        Ok(Self {
            collection: backend.create(place, &name, CreateMode::Exclusive, &options)?,
            process,
        })
    }

    fn measure(&self, series: &mut CallSeries, act: &dyn Fn(&dyn Collection) -> Result<()>) -> Result<()> {
        // What reading the other process costs this one is left out.
        let (other, own, begun) = (self.other_seconds(), cpu_seconds(), Instant::now());
        act(self.collection.as_ref())?;
        let (wall, own) = (begun.elapsed().as_secs_f64(), cpu_seconds() - own);
        series.wall.push(wall * 1e3);
        series.cpu.push((own + self.other_seconds() - other) * 1e3);
        Ok(())
    }

    /// Returns the processor time that the other process has used so far.
    fn other_seconds(&self) -> f64 {
        let Some(process) = self.process else { return 0.0 };
        // By thread, because only there the kernel counts in nanoseconds. The threads of a plug-in are kept for other calls.
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        let times = threads.into_iter().flatten().flatten().filter_map(|thread| {
            let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            times.split_whitespace().next()?.parse::<f64>().ok()
        });
        times.sum::<f64>() / 1e9
    }
}

impl BackendRivals {
    /// Makes an empty collection in a backend that is linked in, and one in the plug-in that runs as `process`.
    pub(super) fn create(
        linked: (&dyn Backend, PalaceRef),
        plugged: (&dyn Backend, PalaceRef),
        process: u32,
    ) -> Result<Self> {
        Ok(Self {
            linked: BackendRival::create(linked.0, &linked.1, None)?,
            plugged: BackendRival::create(plugged.0, &plugged.1, Some(process))?,
        })
    }

    /// Makes a call on both, once to warm up and then `rounds` times.
    pub(super) fn repeat(
        &self,
        rounds: usize,
        act: &dyn Fn(&dyn Collection, usize) -> Result<()>,
    ) -> Result<RivalCosts> {
        self.take_turns(0, &mut RivalCosts::default(), &|collection| act(collection, 0))?;
        let mut costs = RivalCosts::default();
        for round in 0..rounds {
            self.take_turns(round, &mut costs, &|collection| act(collection, round))?;
        }
        Ok(costs)
    }

    /// Makes a call on one and then on the other; the round decides which is first.
    pub(super) fn take_turns(
        &self,
        round: usize,
        costs: &mut RivalCosts,
        act: &dyn Fn(&dyn Collection) -> Result<()>,
    ) -> Result<()> {
        if round.is_multiple_of(2) {
            self.linked.measure(&mut costs.linked, act)?;
            self.plugged.measure(&mut costs.plugged, act)
        } else {
            self.plugged.measure(&mut costs.plugged, act)?;
            self.linked.measure(&mut costs.linked, act)
        }
    }
}

impl RivalCosts {
    /// Describes calls, of which each may take `goal` milliseconds longer in a plug-in.
    pub(super) fn describe_calls(&self, goal: f64) -> Json {
        self.describe(format!("{goal} ms more"), self.median_difference() <= goal)
    }

    /// Describes the moving of many rows, which may take longer in a plug-in by `goal` of its time.
    pub(super) fn describe_bulk(&self, goal: f64) -> Json {
        let met = self.median_difference() <= goal * median(&self.linked.wall);
        self.describe(format!("{:.0} % more", goal * 100.0), met)
    }

    fn describe(&self, goal: String, met: bool) -> Json {
        let (linked, more) = (median(&self.linked.wall), self.median_difference());
        json!({
            "linked_ms": linked,
            "plugged_ms": median(&self.plugged.wall),
            "more_ms": more,
            "more_percent": 100.0 * more / linked,
            "linked_cpu_ms": median(&self.linked.cpu),
            "plugged_cpu_ms": median(&self.plugged.cpu),
            "goal": goal,
            "met": met,
        })
    }

    /// Returns the median of what each call took longer in the plug-in than the one made beside it.
    fn median_difference(&self) -> f64 {
        let pairs = self.plugged.wall.iter().zip(&self.linked.wall);
        median(
            &pairs
                .map(|(plugged, linked)| plugged - linked)
                .collect::<Vec<_>>(),
        )
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}
