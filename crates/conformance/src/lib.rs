//! The conformance suite for backends: cases, a strict in-memory reference, a faulty wrapper and a model test.
//!
//! A backend's test file implements [`BackendHarness`] and [`TestWorld`] and calls [`main`]. Each case is one test, which fails if
//! its promise is broken and is ignored, with the reason, if the promise does not apply to that backend. The file is a
//! `[[test]]` with `harness = false`:
//!
//! ```no_run
//! use loci_conformance::{Reference, ReferenceHarness};
//!
//! let known_to_fail = [("query::vectors_of_any_finite_size_are_compared_by_their_angle", "it counts in f32")];
//! loci_conformance::main(ReferenceHarness::new(Reference::new), &known_to_fail)
//! ```

#![allow(
    clippy::indexing_slicing,
    reason = "this crate only ever tests: the runner turns a panic of a case into a broken promise"
)]

#[macro_use]
mod case;
mod cases;
mod faulty;
mod folder;
mod follower;
mod harness;
mod model;
mod process;
mod program;
mod reference;
mod revising;
mod runner;
mod samples;
mod scene;
mod scratch;
mod served;
mod switching;
#[cfg(feature = "libtest")]
mod trials;
mod twin;

pub use case::{CaseFailure, CaseNeed, CaseOutcome, ConformanceCase};
pub use cases::all_cases;
pub use faulty::{FaultTiming, FaultyBackend, InjectedFault};
pub use folder::TempFolder;
pub use harness::{BackendHarness, TestWorld};
pub use process::PROCESS_THEME;
pub use program::ProgramHarness;
pub use reference::{Reference, ReferenceHarness};
pub use runner::{CaseVerdict, examine_case, examine_suite, list_themes};
pub use scene::CaseScene;
pub use scratch::ScratchHarness;
pub use served::{minimal_reference, serve_reference};
#[cfg(feature = "libtest")]
pub use trials::{list_trials, list_trials_under, main, run_cases};
pub use twin::{TwinOutput, TwinWriter};
