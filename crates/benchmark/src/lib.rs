//! Measures any backend through the contract: a corpus that can be made again anywhere, and figures in three phases.
//!
//! A backend may be fast right after a load because its indexes are not built yet, or slow for the same reason. So
//! everything is measured right after the load, again once background maintenance has settled, and again after each kind
//! of maintenance that the backend advertises, with the state of maintenance beside the figures.

mod comparison;
mod corpus;
mod figure;
mod html;
mod machine;
mod measures;
mod random;
mod report;
mod run;
mod truth;
mod workload;

pub use comparison::{BenchmarkComparison, ComparedFigure, compare_reports};
pub use corpus::{BenchmarkCorpus, CorpusShape};
pub use figure::{FigureUnit, MeasuredFigure};
pub use html::{format_figure, write_html};
pub use machine::MachineFacts;
pub use report::{BenchmarkPhase, BenchmarkReport};
pub use run::{BenchmarkPlace, BenchmarkRequest, BenchmarkStep, run_benchmark};
pub use workload::BenchmarkWorkload;
