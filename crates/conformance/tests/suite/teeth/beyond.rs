//! The surroundings of an open handle: the folder of its palace, and the collection that has its name now.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use loci_core::{Collection, Result, Write};

pub(crate) struct BeyondHandle {
    pub(crate) folder: Option<PathBuf>,
    pub(crate) by_name: Box<dyn Fn() -> Result<Arc<dyn Collection>> + Send + Sync>,
}

impl fmt::Debug for BeyondHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beyond")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl BeyondHandle {
    /// Appends the texts of a batch to a log that no erasure reaches.
    pub(crate) fn log_texts(&self, batch: &[Write]) {
        let Some(folder) = &self.folder else { return };
        let log = File::options().append(true).create(true).open(folder.join("log"));
        let mut log = log.expect("a log can be written in a temporary folder");
        for write in batch {
            if let Write::Add(drawer) | Write::Upsert(drawer) = write {
                writeln!(log, "{}", drawer.document).expect("a log can be written in a temporary folder");
            }
        }
    }
}
