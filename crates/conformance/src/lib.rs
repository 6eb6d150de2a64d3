//! What every backend must show: the cases, a strict in-memory reference, a faulty wrapper and a model test.
//!
//! A backend's test file implements [`Harness`] and [`World`] and calls [`main`]; each case is one test line, red
//! when its promise is broken and ignored, with the reason, when the promise is not that backend's. The file is a
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
    reason = "this crate is only ever a test: a panic is a red line, like any other failure"
)]

#[macro_use]
mod case;
mod cases;
mod faulty;
mod folder;
mod follower;
mod harness;
mod model;
mod reference;
mod revising;
mod runner;
mod samples;
mod scene;
mod turning;

pub use case::{Case, Failure, Need, Outcome};
pub use cases::cases;
pub use faulty::{Fault, Faulty, When};
pub use folder::TempFolder;
pub use harness::{Harness, World};
pub use reference::{Reference, ReferenceHarness};
pub use runner::{Verdict, examine, main, run, trials, trials_under};
pub use scene::Scene;
