//! Hooks as harnesses call them: the real binary answers at once whatever happens, and everything said is mined once.

mod answering;
mod draining;
mod failing_open;
mod recalling;
pub(crate) mod scene;
mod together;
