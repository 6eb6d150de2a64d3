//! The side of the host: starts a plug-in, watches it, and offers it as a backend.

mod abilities;
mod backend;
mod checks;
mod collection;
mod errors;
mod link;
mod options;
mod process;
mod reader;
mod talk;

pub use backend::PluginBackend;
pub use options::{PluginListener, PluginOptions};
