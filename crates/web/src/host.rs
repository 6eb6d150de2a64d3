//! What a page shows of the machine around the palace, which only the program that serves it knows.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use loci_core::{BackendDescriptor, Embedder, Result};
use loci_engine::MineRequest;

/// Answers the questions of pages that reach beyond the palace. Every answer may take time; none is asked for by a page
/// that does not show it.
pub trait SiteHost: fmt::Debug + Send + Sync {
    /// Returns the name of the palace for people, such as `default` or `team`.
    fn palace_name(&self) -> String;

    /// Lists the backends of this program.
    fn list_backends(&self) -> Vec<BackendDescriptor>;

    /// Lists the agents' tools that this machine has, and whether they know the palace.
    fn list_tools(&self) -> Vec<SiteToolRow>;

    /// Returns the state of the spool that hooks fill, if the palace has one.
    fn spool(&self) -> Result<Option<SpoolRow>>;

    /// Lists the models that a palace can be switched to.
    fn list_models(&self) -> Vec<SiteModelRow>;

    /// Opens a model by its name in [`SiteHost::list_models`].
    fn open_model(&self, name: &str) -> Result<Arc<dyn Embedder>>;

    /// Makes the request to mine a file or folder, with what `loci mine` would leave out.
    fn mine_request(&self, path: PathBuf) -> Result<MineRequest>;
}

/// A tool of agents on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteToolRow {
    /// Its name, such as `claude-code`.
    pub name: String,
    /// Whether its settings start `loci mcp`.
    pub is_connected: bool,
    /// The settings file.
    pub settings: String,
}

/// The spool that hooks fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolRow {
    /// The lines that wait to be filed.
    pub waiting: u64,
    /// The last thing that went wrong, if something did.
    pub trouble: Option<String>,
}

/// A model that a palace can be switched to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteModelRow {
    /// Its name, such as `builtin`.
    pub name: String,
    /// What it is, in a few words.
    pub description: String,
}
