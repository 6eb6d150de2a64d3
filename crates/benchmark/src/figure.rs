//! A measured figure: its samples, their median and how certain it is.

use std::time::Instant;

use loci_core::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::CorpusRandom;

/// The number of times that samples are drawn again to tell how certain a median is.
const REDRAWS: usize = 400;

/// The unit of a figure, and with it whether more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FigureUnit {
    /// Milliseconds on the wall.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Drawers a second.
    #[serde(rename = "drawers/s")]
    DrawersPerSecond,
    /// A share from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// Bytes on disk for each drawer.
    #[serde(rename = "bytes/drawer")]
    BytesPerDrawer,
    /// Megabytes of memory.
    #[serde(rename = "MB")]
    Megabytes,
}

impl FigureUnit {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::DrawersPerSecond => "drawers/s",
            Self::Share => "share",
            Self::BytesPerDrawer => "bytes/drawer",
            Self::Megabytes => "MB",
        }
    }

    /// Returns whether a larger figure is better.
    pub fn prefers_more(self) -> bool {
        matches!(self, Self::DrawersPerSecond | Self::Share)
    }
}

/// One figure with its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredFigure {
    /// The unit.
    pub unit: FigureUnit,
    /// The median of the samples.
    pub median: f64,
    /// The value that 95 % of the samples do not exceed.
    pub p95: f64,
    /// The bounds of the median with 95 % confidence, by drawing the samples again.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The samples in the order they were taken.
    pub samples: Vec<f64>,
}

impl MeasuredFigure {
    /// Sums up samples; `None` if there are none.
    pub fn from_samples(unit: FigureUnit, samples: Vec<f64>) -> Option<Self> {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let mut medians = redraw_medians(&samples, 1);
        medians.sort_by(f64::total_cmp);
        Some(Self {
            unit,
            median: quantile(&sorted, 0.5)?,
            p95: quantile(&sorted, 0.95)?,
            low: quantile(&medians, 0.025)?,
            high: quantile(&medians, 0.975)?,
            samples,
        })
    }

    /// Sums up one value.
    pub fn from_value(unit: FigureUnit, value: f64) -> Self {
        Self {
            unit,
            median: value,
            p95: value,
            low: value,
            high: value,
            samples: vec![value],
        }
    }

    /// Takes the time of `rounds` calls, after one that is not counted.
    pub(crate) fn time_calls(
        rounds: usize,
        mut call: impl FnMut(usize) -> Result<()>,
    ) -> Result<Option<Self>> {
        call(0)?;
        let mut samples = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let begun = Instant::now();
            call(round)?;
            samples.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        Ok(Self::from_samples(FigureUnit::Milliseconds, samples))
    }
}

/// Returns the medians of samples that are drawn again and again from `samples`, the same ones every time.
pub(crate) fn redraw_medians(samples: &[f64], stream: u64) -> Vec<f64> {
    let mut random = CorpusRandom::new(stream, samples.len() as u64);
    let mut drawn = Vec::with_capacity(samples.len());
    let draw = |_| {
        drawn.clear();
        for _ in samples {
            let at = random.below(samples.len() as u64) as usize;
            drawn.extend(samples.get(at));
        }
        drawn.sort_by(f64::total_cmp);
        quantile(&drawn, 0.5)
    };
    (0..REDRAWS).filter_map(draw).collect()
}

/// Returns the value below which a share of sorted values lies; `None` of none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = (last as f64 * share).round() as usize;
    sorted.get(at.min(last)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_tells_the_median_and_how_certain_it_is() {
        let samples: Vec<f64> = (1..=99).map(f64::from).collect();
        let figure = MeasuredFigure::from_samples(FigureUnit::Milliseconds, samples).unwrap();
        assert_eq!((figure.median, figure.p95), (50.0, 94.0));
        assert!(figure.low > 35.0 && figure.low < 50.0, "{figure:?}");
        assert!(figure.high > 50.0 && figure.high < 65.0, "{figure:?}");
        assert_eq!(MeasuredFigure::from_samples(FigureUnit::Share, Vec::new()), None);
    }

    #[test]
    fn the_first_call_is_not_counted() {
        let mut calls = 0;
        let figure = MeasuredFigure::time_calls(5, |_| {
            calls += 1;
            Ok(())
        });
        assert_eq!((figure.unwrap().unwrap().samples.len(), calls), (5, 6));
    }
}
