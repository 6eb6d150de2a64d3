//! The counters of a server, in the text format of Prometheus.
//!
//! Labels hold names that the server's owner chose and words of this file, and nothing that a client sent: a name that
//! anybody may invent would grow the table without end.

mod exposition;
mod histogram;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::ErrorKind;
use loci_team::AuditCounters;

use exposition::{MetricKind, MetricText};
use histogram::LatencyHistogram;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The way on which a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestWay {
    /// A tool or list of MCP.
    Mcp,
    /// The JSON interface.
    Api,
    /// Health, readiness and these counters.
    Monitor,
    /// A page, or what belongs to one.
    Page,
}

impl RequestWay {
    /// Every way.
    const ALL: [Self; 4] = [Self::Mcp, Self::Api, Self::Monitor, Self::Page];

    fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Api => "api",
            Self::Monitor => "monitor",
            Self::Page => "page",
        }
    }
}

/// What a server counts.
#[derive(Debug, Default)]
pub(crate) struct TeamMetrics {
    /// Held for a few additions at a time, and never while anything is written out.
    table: Mutex<MetricsTable>,
    waiting_writes: AtomicU64,
}

#[derive(Debug, Clone, Default)]
struct MetricsTable {
    /// The palaces that may be named.
    palaces: BTreeSet<String>,
    /// Requests by way, palace and the first digit of their status.
    requests: BTreeMap<(RequestWay, Option<String>, u16), u64>,
    latencies: BTreeMap<RequestWay, LatencyHistogram>,
    /// Writes by palace, and whether they were done.
    writes: BTreeMap<(String, bool), u64>,
    errors: BTreeMap<&'static str, u64>,
}

impl TeamMetrics {
    /// Names the palaces that are served from now on. Counters of other palaces end, and those of the same go on.
    pub(crate) fn set_palaces<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let palaces: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
        let mut table = self.lock_table();
        let is_served = |name: &Option<String>| name.as_ref().is_none_or(|name| palaces.contains(name));
        table.requests.retain(|(_, palace, _), _| is_served(palace));
        table.writes.retain(|(palace, _), _| palaces.contains(palace));
        table.palaces = palaces;
    }

    /// Counts a request that was answered with this status after `took`. `palace` is counted only if it is served.
    pub(crate) fn note_request(&self, way: RequestWay, palace: Option<&str>, status: u16, took: Duration) {
        let mut table = self.lock_table();
        let palace = palace.filter(|name| table.palaces.contains(*name));
        let key = (way, palace.map(str::to_owned), (status / 100).clamp(1, 5));
        *table.requests.entry(key).or_default() += 1;
        table.latencies.entry(way).or_default().add(took);
    }

    /// Counts a write in a served palace.
    pub(crate) fn note_write(&self, palace: &str, is_done: bool) {
        let mut table = self.lock_table();
        if table.palaces.contains(palace) {
            *table.writes.entry((palace.to_owned(), is_done)).or_default() += 1;
        }
    }

    /// Counts a failure.
    pub(crate) fn note_error(&self, kind: ErrorKind) {
        *self.lock_table().errors.entry(kind.name()).or_default() += 1;
    }

    /// Counts a write as waiting for its turn, for as long as the result lives.
    pub(crate) fn wait_for_turn(self: &Arc<Self>) -> WaitingWrite {
        self.waiting_writes.fetch_add(1, Ordering::Relaxed);
        WaitingWrite(Arc::clone(self))
    }

    /// Writes all counters out, with those of the audit log and the number of open connections.
    pub(crate) fn render(&self, audit: AuditCounters, connections: usize) -> String {
        let table = self.lock_table().clone();
        let mut text = MetricText::default();
        text.begin(
            "loci_build_info",
            MetricKind::Gauge,
            "The version of the server; always 1.",
        );
        text.add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        table.render_requests(&mut text);
        table.render_writes(&mut text);
        text.begin(
            "loci_errors_total",
            MetricKind::Counter,
            "Failures by their kind.",
        );
        for kind in ErrorKind::ALL.map(ErrorKind::name) {
            let count = table.errors.get(kind).copied().unwrap_or_default();
            text.add(&[("kind", kind)], count);
        }
        let waiting = self.waiting_writes.load(Ordering::Relaxed);
        let single = [
            (
                "loci_connections_open",
                MetricKind::Gauge,
                "Connections that are open.",
                connections as u64,
            ),
            (
                "loci_writes_waiting",
                MetricKind::Gauge,
                "Writes that wait for their turn.",
                waiting,
            ),
            (
                "loci_audit_records_total",
                MetricKind::Counter,
                "Records appended to the audit log since the start.",
                audit.appended,
            ),
            (
                "loci_audit_syncs_total",
                MetricKind::Counter,
                "Calls that made records of the audit log durable.",
                audit.syncs,
            ),
            (
                "loci_audit_missed_total",
                MetricKind::Counter,
                "Records that could not be written to the audit log.",
                audit.missed,
            ),
        ];
        for (name, kind, help, value) in single {
            text.begin(name, kind, help);
            text.add(&[], value);
        }
        text.finish()
    }

    fn lock_table(&self) -> MutexGuard<'_, MetricsTable> {
        // A counter is right after each addition, so a panic elsewhere leaves nothing half.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write that waits for its turn.
#[derive(Debug)]
pub(crate) struct WaitingWrite(Arc<TeamMetrics>);

impl Drop for WaitingWrite {
    fn drop(&mut self) {
        self.0.waiting_writes.fetch_sub(1, Ordering::Relaxed);
    }
}

impl MetricsTable {
    fn render_requests(&self, text: &mut MetricText) {
        text.begin(
            "loci_requests_total",
            MetricKind::Counter,
            "Requests that were answered, by way, palace and class of status.",
        );
        for ((way, palace, class), count) in &self.requests {
            let class = format!("{class}xx");
            let mut labels = vec![("way", way.name()), ("status", class.as_str())];
            labels.extend(palace.as_deref().map(|name| ("palace", name)));
            text.add(&labels, *count);
        }
        text.begin(
            "loci_request_duration_seconds",
            MetricKind::Histogram,
            "The time from the head of a request to its answer, by way.",
        );
        let empty = LatencyHistogram::default();
        for way in RequestWay::ALL {
            let latencies = self.latencies.get(&way).unwrap_or(&empty);
            latencies.render(text, ("way", way.name()));
        }
    }

    fn render_writes(&self, text: &mut MetricText) {
        text.begin(
            "loci_writes_total",
            MetricKind::Counter,
            "Calls that write, by palace and outcome.",
        );
        for palace in &self.palaces {
            for (is_done, outcome) in [(true, "done"), (false, "failed")] {
                let count = self.writes.get(&(palace.clone(), is_done));
                let labels = [("palace", palace.as_str()), ("outcome", outcome)];
                text.add(&labels, count.copied().unwrap_or_default());
            }
        }
    }
}
