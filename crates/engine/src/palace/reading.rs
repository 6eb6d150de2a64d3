//! Reading operations: one collection at one moment, on a handle that is kept where opening one asks a server.

use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Capability, Collection, CollectionInfo, ErrorKind, ForeseenRead, OpenOptions, Result};

use super::{Palace, PalaceSession};

/// The collection that reading operations share, if it is kept.
pub(super) type KeptReading = Arc<Mutex<Option<Arc<dyn Collection>>>>;

impl Palace {
    /// Runs a reading operation on one collection at one moment. Creates nothing.
    ///
    /// A damaged page ends the moment. The operation then runs once more with separate reads, which can skip
    /// damage.
    pub fn read<T>(&self, operate: impl FnMut(&PalaceSession<'_>) -> Result<T>) -> Result<T> {
        self.read_foreseeing(|_| Vec::new(), operate)
    }

    /// Like [`Palace::read`], for an operation that can tell which reads it is going to make from what is known of the
    /// collection. `foresee` is called once for each run, or never.
    pub(crate) fn read_foreseeing<T>(
        &self,
        foresee: impl Fn(&CollectionInfo) -> Vec<ForeseenRead>,
        mut operate: impl FnMut(&PalaceSession<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut run = |collection: &dyn Collection| {
            let foreseen = collection.last_info().map(|info| foresee(&info));
            self.run_at_moment(collection, &foreseen.unwrap_or_default(), &mut operate)
        };
        let kept = self.lock_reading().clone();
        if let Some(kept) = kept {
            match run(kept.as_ref()) {
                // It may have been dropped and made again, or closed, since it was opened. Another error of this kind is
                // met again on a fresh handle.
                Err(error) if is_stale(error.kind()) => *self.lock_reading() = None,
                done => return done,
            }
        }
        let collection = self.open(&OpenOptions::default())?;
        if self.is_worth_keeping()? {
            *self.lock_reading() = Some(Arc::clone(&collection));
        }
        run(collection.as_ref())
    }

    fn run_at_moment<T>(
        &self,
        collection: &dyn Collection,
        foreseen: &[ForeseenRead],
        operate: &mut impl FnMut(&PalaceSession<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Some(moment) = collection.moment_for(foreseen)? {
            match operate(&PalaceSession::new(self, collection, moment.as_ref())) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                done => return done,
            }
        }
        operate(&PalaceSession::new(self, collection, collection))
    }

    /// Returns whether opening the collection again would cost more than a look at a file. A filter of wings as people
    /// type them depends on the wings there are, so its handle is not kept.
    fn is_worth_keeping(&self) -> Result<bool> {
        let follows_names = self.access.is_restricted() && self.access.spells_wings;
        Ok(!self.is_local()? && !follows_names)
    }

    /// Returns whether the palace is on this machine's disk, and not behind a server.
    pub(super) fn is_local(&self) -> Result<bool> {
        let address = self.address()?;
        Ok(address.backend.descriptor().has_capability(&Capability::Local))
    }

    fn lock_reading(&self) -> std::sync::MutexGuard<'_, Option<Arc<dyn Collection>>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_stale(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound | ErrorKind::Closed | ErrorKind::Poisoned | ErrorKind::IdentityMismatch
    )
}
