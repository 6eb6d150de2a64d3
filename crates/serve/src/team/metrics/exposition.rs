//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write as _};

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// It only grows.
    Counter,
    /// It grows and shrinks.
    Gauge,
    /// It counts by bucket.
    Histogram,
}

/// The text of metrics, one after the other.
#[derive(Debug, Default)]
pub(super) struct MetricText {
    text: String,
    name: &'static str,
}

impl MetricText {
    /// Begins a metric; what is added next belongs to it.
    pub(super) fn begin(&mut self, name: &'static str, kind: MetricKind, help: &str) {
        self.name = name;
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let help = escape_text(help, false);
        self.text
            .push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.add_part("", labels, value);
    }

    /// Adds a sample of a part of the metric, such as `_sum`.
    pub(super) fn add_part(&mut self, part: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(part);
        for (at, (name, label)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let label = escape_text(label, true);
            // A String takes every write.
            let _ = write!(self.text, "{before}{name}=\"{label}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// Returns the text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Escapes a help text, or the value of a label, which stands in quotes.
fn escape_text(text: &str, is_quoted: bool) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n");
    if is_quoted {
        escaped.replace('"', "\\\"")
    } else {
        escaped
    }
}
