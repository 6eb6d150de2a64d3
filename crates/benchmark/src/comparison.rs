//! Comparing two runs: the ratio of each figure, and how certain it is.

use schemars::JsonSchema;
use serde::Serialize;

use crate::figure::{quantile, redraw_medians};
use crate::{BenchmarkReport, FigureUnit, MeasuredFigure};

/// Two runs, figure by figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchmarkComparison {
    /// The figures that both runs have, in the order of phases.
    pub figures: Vec<ComparedFigure>,
    /// Differences between the runs besides the figures, such as another machine or another number of rows.
    pub differences: Vec<String>,
}

/// A figure of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedFigure {
    /// The phase.
    pub phase: String,
    /// The name of the figure.
    pub figure: String,
    /// The unit.
    pub unit: FigureUnit,
    /// The median of the first run.
    pub first: f64,
    /// The median of the second run.
    pub second: f64,
    /// The second divided by the first.
    pub ratio: f64,
    /// The bounds of the ratio with 95 % confidence.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// `better`, `worse`, or `same` if the bounds include 1.
    pub verdict: &'static str,
}

/// Compares two runs.
pub fn compare_reports(first: &BenchmarkReport, second: &BenchmarkReport) -> BenchmarkComparison {
    let mut figures = Vec::new();
    for phase in &first.phases {
        let Some(other) = second.phases.iter().find(|other| other.name == phase.name) else {
            continue;
        };
        for (name, one) in &phase.figures {
            let Some(two) = other.figures.get(name).filter(|two| two.unit == one.unit) else {
                continue;
            };
            figures.extend(compare_figures(&phase.name, name, one, two));
        }
    }
    BenchmarkComparison {
        figures,
        differences: list_differences(first, second),
    }
}

fn compare_figures(
    phase: &str,
    name: &str,
    one: &MeasuredFigure,
    two: &MeasuredFigure,
) -> Option<ComparedFigure> {
    // Nothing can be divided by zero; a recall of zero has no ratio worth showing.
    if one.median <= 0.0 {
        return None;
    }
    let ratio = two.median / one.median;
    let (low, high) = bound_ratio(one, two).unwrap_or((ratio, ratio));
    let is_more = low > 1.0;
    let verdict = if low <= 1.0 && high >= 1.0 {
        "same"
    } else if is_more == one.unit.prefers_more() {
        "better"
    } else {
        "worse"
    };
    Some(ComparedFigure {
        phase: phase.to_owned(),
        figure: name.to_owned(),
        unit: one.unit,
        first: one.median,
        second: two.median,
        ratio,
        low,
        high,
        verdict,
    })
}

/// Returns the bounds of the ratio of two medians, by drawing the samples of both again.
fn bound_ratio(one: &MeasuredFigure, two: &MeasuredFigure) -> Option<(f64, f64)> {
    // Shares are summed up by their mean, which the medians of new draws would contradict.
    if one.unit == FigureUnit::Share || one.samples.len() < 2 || two.samples.len() < 2 {
        return None;
    }
    let ones = redraw_medians(&one.samples, 1);
    let twos = redraw_medians(&two.samples, 2);
    let mut ratios: Vec<f64> = ones.iter().zip(&twos).map(|(one, two)| two / one).collect();
    ratios.sort_by(f64::total_cmp);
    Some((quantile(&ratios, 0.025)?, quantile(&ratios, 0.975)?))
}

fn list_differences(first: &BenchmarkReport, second: &BenchmarkReport) -> Vec<String> {
    let mut differences = Vec::new();
    let mut tell = |name: &str, one: String, two: String| {
        if one != two {
            differences.push(format!("{name}: {one} and {two}"));
        }
    };
    let (one, two) = (first, second);
    tell("backend", one.backend.clone(), two.backend.clone());
    tell("rows", one.rows.to_string(), two.rows.to_string());
    tell("dimension", one.dimension.to_string(), two.dimension.to_string());
    tell("seed", one.seed.to_string(), two.seed.to_string());
    tell(
        "workload",
        format!("{:?}", one.workload),
        format!("{:?}", two.workload),
    );
    tell(
        "processor",
        one.machine.processor.clone(),
        two.machine.processor.clone(),
    );
    tell(
        "cores",
        one.machine.cores.to_string(),
        two.machine.cores.to_string(),
    );
    tell(
        "memory in MB",
        one.machine.memory_mb.to_string(),
        two.machine.memory_mb.to_string(),
    );
    tell(
        "versions",
        format!("{:?}", one.versions),
        format!("{:?}", two.versions),
    );
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(unit: FigureUnit, around: f64) -> MeasuredFigure {
        let samples = (0..40)
            .map(|n| around * (1.0 + f64::from(n % 7) / 100.0))
            .collect();
        MeasuredFigure::from_samples(unit, samples).unwrap()
    }

    fn verdict(unit: FigureUnit, one: f64, two: f64) -> &'static str {
        let compared = compare_figures("loaded", "x", &figure(unit, one), &figure(unit, two)).unwrap();
        assert!(
            compared.low <= compared.ratio && compared.ratio <= compared.high,
            "{compared:?}"
        );
        compared.verdict
    }

    #[test]
    fn less_time_is_better_and_more_speed_is_better() {
        assert_eq!(verdict(FigureUnit::Milliseconds, 2.0, 1.0), "better");
        assert_eq!(verdict(FigureUnit::Milliseconds, 1.0, 2.0), "worse");
        assert_eq!(verdict(FigureUnit::DrawersPerSecond, 1.0, 2.0), "better");
        assert_eq!(verdict(FigureUnit::Milliseconds, 1.0, 1.001), "same");
    }

    #[test]
    fn a_figure_of_zero_has_no_ratio() {
        let zero = MeasuredFigure::from_value(FigureUnit::Share, 0.0);
        assert_eq!(compare_figures("loaded", "x", &zero, &zero), None);
    }
}
