//! What the pages of a served palace show of the machine: its backends and models. The tools, hooks and files of
//! its owner are not shown to callers.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use loci_core::{BackendDescriptor, Embedder, Error, ErrorKind, Result};
use loci_engine::MineRequest;
use loci_web::{SiteHost, SiteModelRow, SiteToolRow, SpoolRow};

use crate::commands::web::{list_own_backends, list_usable_models, open_named_model};
use crate::embedders::InstalledEmbedders;
use crate::environment::ProcessEnvironment;

/// The machine of a server, as the callers of one palace see it.
pub(super) struct ServingMachine {
    pub(super) palace_name: String,
    pub(super) environment: ProcessEnvironment,
    pub(super) embedders: Arc<InstalledEmbedders>,
}

impl fmt::Debug for ServingMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingMachine")
            .field("palace_name", &self.palace_name)
            .finish_non_exhaustive()
    }
}

impl SiteHost for ServingMachine {
    fn palace_name(&self) -> String {
        self.palace_name.clone()
    }

    fn list_backends(&self) -> Vec<BackendDescriptor> {
        list_own_backends(&self.environment)
    }

    fn list_tools(&self) -> Vec<SiteToolRow> {
        Vec::new()
    }

    fn spool(&self) -> Result<Option<SpoolRow>> {
        Ok(None)
    }

    fn list_models(&self) -> Vec<SiteModelRow> {
        list_usable_models(&self.embedders)
    }

    fn open_model(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        open_named_model(&self.embedders, name)
    }

    fn mine_request(&self, _: PathBuf) -> Result<MineRequest> {
        // It would read files of the server for whoever may write.
        Err(Error::new(
            ErrorKind::Unsupported,
            "a server does not mine files of its own machine",
        )
        .with_hint(
            "nothing was mined; run `loci mine` on the machine of the files, with the palace as --palace",
        ))
    }
}
