//! `loci serve`: many palaces, many callers, each with its own rights.

mod agents;
mod killed;
mod pages;
mod refused;
mod rights;
mod scene;
mod watched;
