//! What a set came to: figures by way and by kind of question, as JSON, as a table, and question by question.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use super::ask::{AskedQuestion, EvalRanking, RetrievalWay};
use super::honesty::{self, AskedConfidence};
use super::metrics::{self, DEEPEST, EvalMetric, mean};
use super::sets::{EvalQuestion, EvalSet};
use crate::measure::{MeasuredCost, quantile};

/// How many sessions are listed of each way.
const LISTED: usize = 10;

/// A set that was asked.
#[derive(Debug)]
pub(crate) struct EvalResults<'a> {
    pub(crate) set: &'a EvalSet,
    /// One for each question of the set.
    pub(crate) asked: Vec<AskedQuestion>,
    pub(crate) drawers: u64,
    pub(crate) mined: MeasuredCost,
    /// The confidence in each variant of each question, if that was measured.
    pub(crate) honesty: Vec<AskedConfidence>,
}

impl EvalResults<'_> {
    /// The questions of a kind, or all, with what a way found.
    fn found(
        &self,
        way: RetrievalWay,
        kind: Option<&str>,
    ) -> impl Iterator<Item = (&EvalQuestion, &EvalRanking)> {
        let rankings = self
            .asked
            .iter()
            .filter_map(move |asked| asked.rankings.get(way as usize));
        let all = self.set.questions.iter().zip(rankings);
        all.filter(move |(question, _)| kind.is_none_or(|kind| question.kind == kind))
    }

    fn mean(&self, metric: EvalMetric, way: RetrievalWay, kind: Option<&str>) -> f64 {
        mean(metric, self.found(way, kind))
    }

    fn kinds(&self) -> BTreeMap<&str, usize> {
        let mut kinds = BTreeMap::new();
        for question in &self.set.questions {
            *kinds.entry(question.kind.as_str()).or_default() += 1;
        }
        kinds
    }

    /// Session recall at 1, 2, … of one way.
    pub(crate) fn curve(&self, way: RetrievalWay) -> Vec<f64> {
        let at = |k| self.mean(EvalMetric::SessionRecall(k), way, None);
        (1..=DEEPEST).map(at).collect()
    }

    /// Median and 95th percentile of the CPU milliseconds of a search.
    fn cpu_ms(&self) -> [f64; 2] {
        let mut spent: Vec<f64> = self.asked.iter().map(|asked| asked.cpu_ms).collect();
        spent.sort_by(f64::total_cmp);
        [quantile(&spent, 0.5), quantile(&spent, 0.95)]
    }

    /// How many questions have fewer than ten different sessions among the hits of a way: their figures at ten, or
    /// even at five, might be higher with more hits.
    fn short_of_ten(&self, way: RetrievalWay) -> usize {
        let found = self.found(way, None);
        found.filter(|(_, found)| found.sessions.len() < 10).count()
    }

    /// All figures.
    pub(crate) fn json(&self) -> Json {
        let [p50, p95] = self.cpu_ms();
        let by_type: Map<String, Json> = self
            .kinds()
            .into_iter()
            .map(|(kind, n)| {
                (
                    kind.to_owned(),
                    json!({ "questions": n, "figures": self.figures(Some(kind)) }),
                )
            })
            .collect();
        let curve = |way: RetrievalWay| {
            (
                way.name(),
                self.curve(way).into_iter().map(rounded).collect::<Vec<_>>(),
            )
        };
        json!({
            "questions": self.asked.len(),
            "drawers": self.drawers,
            "mining": { "cpu_s": rounded(self.mined.cpu), "wall_s": rounded(self.mined.wall) },
            "search_cpu_ms": { "p50": rounded(p50), "p95": rounded(p95) },
            "questions_with_fewer_than_ten_sessions": RetrievalWay::ALL.map(|way| (way.name(), self.short_of_ten(way))).into_iter().collect::<BTreeMap<_, _>>(),
            "figures": self.figures(None),
            "honesty": honesty::figures(&self.honesty),
            "by_type": by_type,
            "session_recall_by_k": RetrievalWay::ALL.map(curve).into_iter().collect::<BTreeMap<_, _>>(),
        })
    }

    fn figures(&self, kind: Option<&str>) -> Json {
        let of_way = |way: RetrievalWay| {
            let figure = |metric: EvalMetric| (metric.name(), json!(rounded(self.mean(metric, way, kind))));
            let figures = metrics::of_set(self.set.name).into_iter().map(figure);
            (way.name().to_owned(), Json::Object(figures.collect()))
        };
        Json::Object(RetrievalWay::ALL.into_iter().map(of_way).collect())
    }

    /// One line for each question.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Json> {
        let questions = self.set.questions.iter().zip(&self.asked);
        questions.map(|(question, asked)| {
            let of_way = |way: RetrievalWay| {
                let found = asked.rankings.get(way as usize).cloned().unwrap_or_default();
                (way.name().to_owned(), line_of(question, &found))
            };
            json!({
                "set": self.set.name, "id": question.id, "type": question.kind, "question": question.text,
                "asked_at": question.now, "gold": question.sessions, "gold_turns": question.turns,
                "dates": asked.dates, "cpu_ms": rounded(asked.cpu_ms),
                "ways": RetrievalWay::ALL.into_iter().map(of_way).collect::<Map<_, _>>(),
            })
        })
    }

    /// The figures for people to read.
    pub(crate) fn table(&self) -> String {
        let metrics = metrics::of_set(self.set.name);
        let [p50, p95] = self.cpu_ms();
        let mut table = format!(
            "{}: {} questions, {} drawers, {p50:.1} CPU ms a search at the median, {p95:.1} at the 95th percentile\n\n",
            title(self.set.name),
            self.asked.len(),
            self.drawers
        );
        let heads = metrics.iter().map(|metric| metric.name());
        let last = "questions with fewer than 10 sessions among the hits".to_owned();
        row(&mut table, &[""], heads.chain([last]));
        rule(&mut table, 2 + metrics.len());
        for way in RetrievalWay::ALL {
            let figures = metrics.iter().map(|metric| short(self.mean(*metric, way, None)));
            row(
                &mut table,
                &[way.name()],
                figures.chain([self.short_of_ten(way).to_string()]),
            );
        }
        table.push('\n');
        let shown = telling(&metrics);
        let heads = shown
            .iter()
            .flat_map(|metric| RetrievalWay::ALL.map(|way| format!("{}: {}", metric.name(), way.name())));
        row(&mut table, &["questions about", "n"], heads);
        rule(&mut table, 2 + shown.len() * RetrievalWay::ALL.len());
        for (kind, n) in self.kinds() {
            let each =
                |metric: &EvalMetric| RetrievalWay::ALL.map(|way| short(self.mean(*metric, way, Some(kind))));
            row(&mut table, &[kind, &n.to_string()], shown.iter().flat_map(each));
        }
        if !self.honesty.is_empty() {
            table.push('\n');
            table.push_str(&honesty::table(&self.honesty));
        }
        table
    }
}

/// The one or two figures that are shown by kind.
fn telling(metrics: &[EvalMetric]) -> Vec<EvalMetric> {
    let told = [
        EvalMetric::All(5),
        EvalMetric::SessionRecall(10),
        EvalMetric::TurnRecall(10),
    ];
    told.into_iter()
        .filter(|metric| metrics.contains(metric))
        .collect()
}

fn line_of(question: &EvalQuestion, found: &EvalRanking) -> Json {
    let met = |metric: EvalMetric| metric.of(question, found) >= 1.0;
    json!({
        "sessions": found.sessions.iter().take(LISTED).collect::<Vec<_>>(),
        "gold_ranks": metrics::ranks(&question.sessions, &found.sessions),
        "gold_turn_ranks": metrics::ranks(&question.turns, &found.turns),
        "found": { "all@5": met(EvalMetric::All(5)), "any@5": met(EvalMetric::Any(5)), "all@10": met(EvalMetric::All(10)) },
    })
}

/// A set's name as its authors write it.
pub(crate) fn title(name: &str) -> &str {
    match name {
        "locomo" => "LoCoMo",
        "longmemeval" => "LongMemEval",
        other => other,
    }
}

fn row(table: &mut String, first: &[&str], rest: impl Iterator<Item = String>) {
    let cells: Vec<String> = first.iter().map(|cell| (*cell).to_owned()).chain(rest).collect();
    let _ = writeln!(table, "| {} |", cells.join(" | "));
}

fn rule(table: &mut String, columns: usize) {
    let _ = writeln!(table, "|{}", "---|".repeat(columns));
}

/// A share as the tables here write it: `.912`, `1.000`.
fn short(share: f64) -> String {
    let written = format!("{share:.3}");
    written.strip_prefix('0').map(str::to_owned).unwrap_or(written)
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: a panic is a red line"
)]
pub(crate) mod tests {
    use super::*;

    /// A set of two questions of two kinds over two sessions.
    pub(crate) fn set() -> EvalSet {
        let question = |id: &str, kind: &str, gold: &str| EvalQuestion {
            id: id.into(),
            kind: kind.into(),
            text: "Where?".into(),
            now: "2026-01-01".parse().unwrap(),
            haystack: 0,
            sessions: vec![gold.into()],
            turns: Vec::new(),
        };
        EvalSet {
            name: "longmemeval",
            sessions: Vec::new(),
            haystacks: Vec::new(),
            questions: vec![question("q1", "easy", "a"), question("q2", "hard", "b")],
            unanswerable: Vec::new(),
        }
    }

    /// Words find the session `a` for both, nearness `b`, search both.
    pub(crate) fn results(set: &EvalSet) -> EvalResults<'_> {
        let ranking = |sessions: &[&str]| EvalRanking {
            sessions: sessions.iter().map(|name| (*name).to_owned()).collect(),
            turns: Vec::new(),
        };
        let asked = |cpu_ms| AskedQuestion {
            rankings: [ranking(&["a"]), ranking(&["b"]), ranking(&["a", "b"])],
            dates: Vec::new(),
            cpu_ms,
        };
        EvalResults {
            set,
            asked: vec![asked(1.0), asked(3.0)],
            drawers: 2,
            mined: MeasuredCost { cpu: 0.5, wall: 0.5 },
            honesty: Vec::new(),
        }
    }

    #[test]
    fn figures_are_told_by_way_and_by_kind() {
        let set = set();
        let json = results(&set).json();
        assert_eq!(json["figures"]["lexical"]["all@5"], 0.5);
        assert_eq!(json["figures"]["fused"]["all@5"], 1.0);
        assert_eq!(json["by_type"]["hard"]["figures"]["lexical"]["all@5"], 0.0);
        assert_eq!(json["by_type"]["hard"]["figures"]["nearest"]["all@5"], 1.0);
        assert_eq!(json["session_recall_by_k"]["fused"][0], 0.5);
        assert_eq!(json["session_recall_by_k"]["fused"][1], 1.0);
        assert_eq!(json["search_cpu_ms"]["p95"], 3.0);
    }

    #[test]
    fn a_line_says_where_the_evidence_stands() {
        let set = set();
        let lines: Vec<Json> = results(&set).lines().collect();
        let hard = &lines[1];
        assert_eq!(hard["ways"]["fused"]["gold_ranks"], json!([2]));
        assert_eq!(hard["ways"]["lexical"]["gold_ranks"], json!([null]));
        assert_eq!(hard["ways"]["lexical"]["found"]["all@5"], false);
        assert_eq!(hard["ways"]["fused"]["sessions"], json!(["a", "b"]));
    }

    #[test]
    fn every_row_of_a_table_has_as_many_cells_as_its_head() {
        let set = set();
        let table = results(&set).table();
        let width = |line: &str| line.matches('|').count();
        for block in table.split("\n\n").filter(|block| block.starts_with('|')) {
            let widths: Vec<usize> = block.lines().map(width).collect();
            assert!(
                widths.len() > 2 && widths.iter().all(|one| *one == widths[0]),
                "{block}"
            );
        }
        assert!(
            table.contains("| fused | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 2 |"),
            "{table}"
        );
        assert!(table.contains("| hard | 1 | .000 | 1.000 | 1.000 |"), "{table}");
    }
}
