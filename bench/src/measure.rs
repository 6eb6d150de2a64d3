//! Measuring: CPU time of this process, wall time, and memory, as the kernel counts them.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// CPU seconds this process has used, all threads.
pub(crate) fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// What one activity cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredCost {
    /// CPU seconds.
    pub(crate) cpu: f64,
    /// Seconds on the wall.
    pub(crate) wall: f64,
}

/// Runs `work` and says what it cost.
pub(crate) fn cost<T>(work: impl FnOnce() -> T) -> (T, MeasuredCost) {
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let done = work();
    (
        done,
        MeasuredCost {
            cpu: cpu_seconds() - cpu,
            wall: wall.elapsed().as_secs_f64(),
        },
    )
}

/// Costs of a call repeated many times.
#[derive(Debug, Clone)]
pub(crate) struct RepeatedCost {
    /// Mean CPU milliseconds.
    pub(crate) cpu_ms: f64,
    /// Median, 95th percentile and minimum of wall milliseconds.
    pub(crate) wall_ms: [f64; 3],
}

/// Runs `work` once to warm up and then `rounds` times.
pub(crate) fn repeat(rounds: usize, mut work: impl FnMut(usize)) -> RepeatedCost {
    work(0);
    let mut walls = Vec::with_capacity(rounds);
    let ((), total) = cost(|| {
        for round in 0..rounds {
            let ((), one) = cost(|| work(round));
            walls.push(one.wall * 1e3);
        }
    });
    walls.sort_by(f64::total_cmp);
    RepeatedCost {
        cpu_ms: total.cpu * 1e3 / rounds as f64,
        wall_ms: [0.5, 0.95, 0.0].map(|share| quantile(&walls, share)),
    }
}

/// The value below which a share of sorted values lies; 0 of none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// Resident memory in MB: now, and the highest so far.
pub(crate) fn memory_mb() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let kb = line
            .and_then(|line| line.split_whitespace().nth(1))
            .and_then(|kb| kb.parse::<f64>().ok());
        kb.unwrap_or(0.0) / 1024.0
    };
    (field("VmRSS:"), field("VmHWM:"))
}
