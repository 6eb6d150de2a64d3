//! Which instance of the reference holds a palace, where only one process may use it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{Error, ErrorKind, Result};

use super::storage::{SpaceKey, Storage};

/// One instance, as the holder of palaces. It lets go of them when it is dropped, as a process that ends.
#[derive(Debug)]
pub(super) struct Holder {
    number: u64,
    storage: Arc<Storage>,
}

impl Holder {
    pub(super) fn new(storage: &Arc<Storage>) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            storage: Arc::clone(storage),
        }
    }

    /// Takes hold of a palace; refused while another instance holds it.
    pub(super) fn hold(&self, key: &SpaceKey) -> Result<()> {
        let holder = self
            .storage
            .holders(|holders| *holders.entry(key.clone()).or_insert(self.number));
        if holder == self.number {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Locked,
            "another instance of the backend \"reference\" uses this palace",
        )
        .hint("nothing was changed; close the other one"))
    }

    pub(super) fn release(&self, key: &Option<SpaceKey>) {
        self.storage.holders(|holders| {
            holders.retain(|held, holder| *holder != self.number || key.as_ref() != Some(held));
        });
    }

    pub(super) fn release_all(&self) {
        self.storage
            .holders(|holders| holders.retain(|_, holder| *holder != self.number));
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.release_all();
    }
}
