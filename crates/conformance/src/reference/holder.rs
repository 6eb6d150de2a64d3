//! Ownership of palaces without `multi_process`, where only one instance may use a palace at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{Error, ErrorKind, Result};

use super::storage::{ReferencePlace, ReferenceStorage};

/// One instance as the owner of palaces. Dropping it releases them, like the end of a process.
#[derive(Debug)]
pub(super) struct ReferenceHolder {
    number: u64,
    storage: Arc<ReferenceStorage>,
}

impl ReferenceHolder {
    pub(super) fn new(storage: &Arc<ReferenceStorage>) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            storage: Arc::clone(storage),
        }
    }

    /// Acquires a palace; refused while another instance holds it.
    pub(super) fn hold_palace(&self, key: &ReferencePlace) -> Result<()> {
        let holder = self
            .storage
            // Looked up and taken under one lock; returns the present holder, which may be another
            // instance.
            .with_holders(|holders| *holders.entry(key.clone()).or_insert(self.number));
        if holder == self.number {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Locked,
            "another instance of the backend \"reference\" uses this palace",
        )
        .with_hint("nothing was changed; close the other one"))
    }

    pub(super) fn release_palace(&self, key: &Option<ReferencePlace>) {
        self.storage.with_holders(|holders| {
            // Only what this instance holds: closing must not release the palace of another one.
            holders.retain(|held, holder| *holder != self.number || key.as_ref() != Some(held));
        });
    }

    pub(super) fn release_all(&self) {
        self.storage
            .with_holders(|holders| holders.retain(|_, holder| *holder != self.number));
    }
}

impl Drop for ReferenceHolder {
    fn drop(&mut self) {
        self.release_all();
    }
}
