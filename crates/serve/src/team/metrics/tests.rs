//! Tests of the counters, read back by a parser of the format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use loci_core::ErrorKind;
use loci_team::AuditCounters;

use super::{MEDIA_TYPE, MetricKind, MetricText, RequestWay, TeamMetrics};

/// The samples of a text: the name and labels of each, and its value.
struct MetricSamples(BTreeMap<(String, Vec<(String, String)>), f64>);

impl MetricSamples {
    #[track_caller]
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.find(name, labels)
            .unwrap_or_else(|| panic!("{name} {labels:?} is not there"))
    }

    fn find(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let own = |(name, label): &(&str, &str)| ((*name).to_owned(), (*label).to_owned());
        let mut labels: Vec<(String, String)> = labels.iter().map(own).collect();
        labels.sort();
        self.0.get(&(name.to_owned(), labels)).copied()
    }
}

/// Parses a text, and checks what the format asks for: help and type first, samples of a metric together, no sample
/// twice, buckets that do not shrink.
fn parse_metrics(text: &str) -> MetricSamples {
    assert!(text.ends_with('\n'));
    let mut samples = BTreeMap::new();
    let mut begun: Vec<(String, String)> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').unwrap();
            assert!(!words.is_empty() && is_name(name), "{line}");
            assert!(begun.iter().all(|(known, _)| known != name), "{name} twice");
            let kind = lines
                .next()
                .unwrap()
                .strip_prefix(&format!("# TYPE {name} "))
                .unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
            begun.push((name.to_owned(), kind.to_owned()));
            continue;
        }
        let (name, labels, value) = parse_sample(line);
        let (family, kind) = begun.last().unwrap();
        let part = name.strip_prefix(family.as_str()).unwrap();
        let parts: &[&str] = if kind == "histogram" {
            &["_bucket", "_sum", "_count"]
        } else {
            &[""]
        };
        assert!(parts.contains(&part), "{line}");
        assert!(kind != "counter" || name.ends_with("_total"), "{line}");
        assert!(samples.insert((name, labels), value).is_none(), "twice: {line}");
    }
    MetricSamples(samples)
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_part) && name.starts_with(|c: char| !c.is_ascii_digit())
}

fn parse_sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let end = line.find(['{', ' ']).unwrap();
    let name = line[..end].to_owned();
    assert!(is_name(&name), "{line}");
    let (mut labels, mut rest) = (Vec::new(), &line[end..]);
    while let Some(label) = rest.strip_prefix(['{', ',']) {
        let (label_name, after) = label.split_once("=\"").unwrap();
        assert!(is_name(label_name), "{line}");
        let (value, after) = parse_quoted(after);
        labels.push((label_name.to_owned(), value));
        rest = after;
    }
    labels.sort();
    let value = rest.strip_prefix('}').unwrap_or(rest).strip_prefix(' ').unwrap();
    (name, labels, value.parse().unwrap())
}

/// Returns a text up to its closing quote, and what is behind it.
fn parse_quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match chars.next().unwrap().1 {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                other => panic!("\\{other} is not an escape"),
            }),
            c => value.push(c),
        }
    }
    panic!("{text:?} has no closing quote")
}

fn render(metrics: &TeamMetrics) -> MetricSamples {
    parse_metrics(&metrics.render(AuditCounters::default(), 0))
}

#[test]
fn requests_are_counted_by_way_palace_and_class() {
    let metrics = TeamMetrics::default();
    metrics.set_palaces(["garden", "attic"]);
    let took = Duration::from_millis(3);
    metrics.note_request(RequestWay::Api, Some("garden"), 200, took);
    metrics.note_request(RequestWay::Api, Some("garden"), 204, took);
    metrics.note_request(RequestWay::Api, Some("garden"), 404, took);
    metrics.note_request(RequestWay::Mcp, None, 503, took);
    metrics.note_request(RequestWay::Page, Some("of a guesser"), 404, took);
    metrics.note_request(RequestWay::Monitor, None, 0, took);
    let samples = render(&metrics);
    let requests = |labels: &[(&str, &str)]| samples.find("loci_requests_total", labels);
    assert_eq!(
        requests(&[("way", "api"), ("palace", "garden"), ("status", "2xx")]),
        Some(2.0)
    );
    assert_eq!(
        requests(&[("way", "api"), ("palace", "garden"), ("status", "4xx")]),
        Some(1.0)
    );
    assert_eq!(requests(&[("way", "mcp"), ("status", "5xx")]), Some(1.0));
    assert_eq!(requests(&[("way", "page"), ("status", "4xx")]), Some(1.0));
    assert_eq!(requests(&[("way", "monitor"), ("status", "1xx")]), Some(1.0));
    let text = metrics.render(AuditCounters::default(), 0);
    assert!(!text.contains("guesser"), "a name that a client made up");
}

#[test]
fn times_fall_into_buckets_that_add_up() {
    let metrics = TeamMetrics::default();
    for micros in [0, 1_000, 1_001, 40_000, 100_000, 9_999_999, 60_000_000] {
        metrics.note_request(RequestWay::Api, None, 200, Duration::from_micros(micros));
    }
    let samples = render(&metrics);
    let up_to = |end: &str| {
        let labels = [("way", "api"), ("le", end)];
        samples.value("loci_request_duration_seconds_bucket", &labels)
    };
    assert_eq!([up_to("0.001"), up_to("0.0025"), up_to("0.05")], [2.0, 3.0, 4.0]);
    assert_eq!([up_to("0.1"), up_to("10"), up_to("+Inf")], [5.0, 6.0, 7.0]);
    assert_eq!(
        samples.value("loci_request_duration_seconds_count", &[("way", "api")]),
        7.0
    );
    let sum = samples.value("loci_request_duration_seconds_sum", &[("way", "api")]);
    assert!((sum - 70.142).abs() < 0.001, "{sum}");
    assert_eq!(
        samples.value("loci_request_duration_seconds_count", &[("way", "mcp")]),
        0.0
    );
}

#[test]
fn everything_else_is_counted_from_zero() {
    let metrics = Arc::new(TeamMetrics::default());
    metrics.set_palaces(["garden"]);
    let samples = render(&metrics);
    for kind in ErrorKind::ALL {
        assert_eq!(samples.value("loci_errors_total", &[("kind", kind.name())]), 0.0);
    }
    let writes = |samples: &MetricSamples, outcome: &str| {
        samples.value("loci_writes_total", &[("palace", "garden"), ("outcome", outcome)])
    };
    assert_eq!((writes(&samples, "done"), writes(&samples, "failed")), (0.0, 0.0));
    metrics.note_write("garden", true);
    metrics.note_write("garden", true);
    metrics.note_write("garden", false);
    metrics.note_write("unknown", true);
    metrics.note_error(ErrorKind::Locked);
    let waiting = metrics.wait_for_turn();
    let audit = AuditCounters {
        appended: 5,
        syncs: 2,
        missed: 1,
    };
    let samples = parse_metrics(&metrics.render(audit, 7));
    assert_eq!((writes(&samples, "done"), writes(&samples, "failed")), (2.0, 1.0));
    assert_eq!(samples.value("loci_errors_total", &[("kind", "locked")]), 1.0);
    assert_eq!(samples.value("loci_connections_open", &[]), 7.0);
    assert_eq!(samples.value("loci_writes_waiting", &[]), 1.0);
    let audited =
        ["records", "syncs", "missed"].map(|what| samples.value(&format!("loci_audit_{what}_total"), &[]));
    assert_eq!(audited, [5.0, 2.0, 1.0]);
    assert_eq!(
        samples.value("loci_build_info", &[("version", env!("CARGO_PKG_VERSION"))]),
        1.0
    );
    drop(waiting);
    assert_eq!(render(&metrics).value("loci_writes_waiting", &[]), 0.0);
}

#[test]
fn counters_go_on_for_palaces_that_stay_and_end_for_others() {
    let metrics = TeamMetrics::default();
    metrics.set_palaces(["garden", "attic"]);
    for palace in ["garden", "attic"] {
        metrics.note_request(RequestWay::Api, Some(palace), 200, Duration::ZERO);
        metrics.note_write(palace, true);
    }
    metrics.set_palaces(["garden", "cellar"]);
    let samples = render(&metrics);
    let done = |palace: &str| samples.find("loci_writes_total", &[("palace", palace), ("outcome", "done")]);
    assert_eq!(
        (done("garden"), done("cellar"), done("attic")),
        (Some(1.0), Some(0.0), None)
    );
    let text = metrics.render(AuditCounters::default(), 0);
    assert!(text.contains("palace=\"garden\"") && !text.contains("attic"));
}

#[test]
fn labels_and_help_are_escaped() {
    let mut text = MetricText::default();
    text.begin("one", MetricKind::Gauge, "a \\ and\na line");
    let hostile = "a\"b\\c\nd} 7\ne{f=\"g\",";
    text.add(&[("label", hostile), ("other", "é")], 1.5);
    let text = text.finish();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(MEDIA_TYPE.starts_with("text/plain; version=0.0.4"));
    assert!(text.starts_with("# HELP one a \\\\ and\\na line\n"));
    assert_eq!(
        parse_metrics(&text).value("one", &[("label", hostile), ("other", "é")]),
        1.5
    );
}

#[test]
fn threads_count_together() {
    let metrics = TeamMetrics::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    metrics.note_request(RequestWay::Mcp, None, 200, Duration::from_micros(10));
                }
            });
        }
    });
    assert_eq!(
        render(&metrics).value("loci_requests_total", &[("way", "mcp"), ("status", "2xx")]),
        4_000.0
    );
}
