//! Hooks as harnesses call them: the real binary answers at once whatever happens, and everything said is mined once.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod hooks {
    mod answering;
    mod draining;
    mod failing_open;
    mod recalling;
    pub(crate) mod scene;
    mod together;
}
