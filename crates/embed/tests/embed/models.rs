//! The models folder with real files: a small model of the test's own, real zips, and everything that can go wrong.

mod installing;
mod servers;
mod stopping;
mod toy;
