//! An open palace: its address, its caller's rights, and how it is reopened when the collection changes
//! underneath.
//!
//! A [`Palace`] lives as long as its caller: one command, or the lifetime of a server. Each operation is a
//! separate file with one `impl Palace` block that takes a request and returns a report. Reading operations run
//! in a [`PalaceSession`], which is one collection at one moment; writing operations run in a
//! [`FilingSession`], which holds the collection's model.

mod access;
mod damage;
mod embedders;
mod filing;
mod keyring;
mod reading;
mod reopening;
mod session;
mod transcripts;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use loci_core::{
    Backend, Capability, Collection, CollectionInfo, CollectionName, CreateMode, Error, ErrorKind,
    FilingDoor, NewDrawer, OpenOptions, PalaceRef, Result, Timestamp,
};

pub use access::AccessPolicy;
pub(crate) use access::DrawerAct;
pub use embedders::EmbedderCatalog;
pub(crate) use embedders::check_named_embedder;

pub use filing::{FilingSession, cosine_similarity, embed_batch, given_identity, try_embedder};
pub(crate) use filing::{LEAST_AGREEMENT, record_first_model, vectors_agree};
use reading::KeptReading;
use reopening::patience_with;
pub(crate) use reopening::{MODEL_CHANGES, model_changes_error};
pub use session::PalaceSession;
pub(crate) use session::question_embedder;

use crate::keys::KeyFolder;
use crate::mine::TranscriptFolder;
use embedders::EmbedderCache;

/// The collection in which MemPalace keeps drawers.
const MEMPALACE_COLLECTION: &str = "mempalace_drawers";

/// The backend of a palace and the reference it is opened by.
#[derive(Debug, Clone)]
pub struct PalaceAddress {
    /// The backend that holds it.
    pub backend: Arc<dyn Backend>,
    /// The palace.
    pub reference: PalaceRef,
}

impl PalaceAddress {
    /// Borrows the address.
    pub fn as_borrowed(&self) -> BorrowedAddress<'_> {
        BorrowedAddress {
            backend: self.backend.as_ref(),
            reference: &self.reference,
        }
    }
}

/// A borrowed address, for operations on whole palaces with all their collections.
#[derive(Debug, Clone, Copy)]
pub struct BorrowedAddress<'a> {
    /// The backend that holds it.
    pub backend: &'a dyn Backend,
    /// The palace.
    pub reference: &'a PalaceRef,
}

/// Locates a palace when it is first needed; a server may start before its palace exists.
type LocatePalace = dyn Fn() -> Result<PalaceAddress> + Send + Sync;

/// An open palace. Clones share everything.
#[derive(Clone)]
pub struct Palace {
    locate: Arc<LocatePalace>,
    /// The address, once a collection has been opened there.
    located: Arc<OnceLock<PalaceAddress>>,
    /// The collection, if one is named; otherwise see [`Palace::collection_name`].
    collection: Option<CollectionName>,
    embedders: Arc<EmbedderCache>,
    access: AccessPolicy,
    door: FilingDoor,
    /// The folders in which harnesses keep transcripts.
    transcripts: Arc<[TranscriptFolder]>,
    /// The folder of keys; without one, deletions are not remembered.
    keys: Option<KeyFolder>,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Reused across operations; replaced when the collection's model changes or a commit fails.
    filing: Arc<Mutex<Option<FilingSession>>>,
    /// A collection on a server, kept open for reading; replaced if it was dropped or closed.
    reading: KeptReading,
}

impl fmt::Debug for Palace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Palace")
            .field("located", &self.located)
            .field("collection", &self.collection)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl Palace {
    /// Returns the palace at `address` without opening it.
    pub fn new(
        address: PalaceAddress,
        embedders: Arc<dyn EmbedderCatalog>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        Self::with_locator(move || Ok(address.clone()), embedders, clock)
    }

    /// Returns a palace that `locate` finds when it is first needed, without opening it.
    pub fn with_locator(
        locate: impl Fn() -> Result<PalaceAddress> + Send + Sync + 'static,
        embedders: Arc<dyn EmbedderCatalog>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        Self {
            locate: Arc::new(locate),
            located: Arc::default(),
            collection: None,
            embedders: Arc::new(EmbedderCache::new(embedders)),
            access: AccessPolicy::default(),
            door: FilingDoor::Library,
            transcripts: Arc::default(),
            keys: None,
            clock: Arc::new(clock),
            filing: Arc::default(),
            reading: Arc::default(),
        }
    }

    /// Selects a collection of the palace; the default one if none is named.
    #[must_use]
    pub fn in_collection(mut self, collection: Option<CollectionName>) -> Self {
        if self.collection != collection {
            // A kept session belongs to the old collection. Clones share the slot, so it is exchanged, not
            // emptied.
            self.collection = collection;
            self.filing = Arc::default();
            self.reading = Arc::default();
        }
        self
    }

    /// Returns the palace at another address, with the same keys, embedders and rights.
    #[must_use]
    pub(crate) fn at_address(&self, address: PalaceAddress) -> Self {
        Self {
            locate: Arc::new(move || Ok(address.clone())),
            located: Arc::default(),
            filing: Arc::default(),
            reading: Arc::default(),
            ..self.clone()
        }
    }

    /// Restricts the palace to the rights of a caller.
    #[must_use]
    pub fn restricted_to(mut self, access: AccessPolicy) -> Self {
        // A session opened under other rights may see wings that this caller must not.
        self.access = access;
        self.filing = Arc::default();
        self.reading = Arc::default();
        self
    }

    /// Sets the door its caller comes through, which is recorded in the provenance of drawers.
    #[must_use]
    pub fn entering_through(mut self, door: FilingDoor) -> Self {
        self.door = door;
        self
    }

    /// Gives the palace the folder of keys. Without one, deletions are not remembered.
    #[must_use]
    pub fn with_keys(mut self, keys: KeyFolder) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Replaces the clock of the palace.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Returns the collection, if one is named.
    pub fn named_collection(&self) -> Option<&CollectionName> {
        self.collection.as_ref()
    }

    /// Returns the caller's rights.
    pub fn access(&self) -> &AccessPolicy {
        &self.access
    }

    /// Returns the door its caller comes through.
    pub fn door(&self) -> FilingDoor {
        self.door
    }

    /// Returns the current time by the palace's clock.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the available embedders.
    pub fn embedders(&self) -> &dyn EmbedderCatalog {
        self.embedders.as_ref()
    }

    /// Returns the address of the palace. Until it has been opened once, it is located anew on each call.
    pub fn address(&self) -> Result<PalaceAddress> {
        match self.located.get() {
            Some(located) => Ok(located.clone()),
            None => (self.locate)(),
        }
    }

    /// Returns whether the palace exists.
    pub fn exists(&self) -> Result<bool> {
        let address = self.address()?;
        match address.backend.collections(&address.reference) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            // Any other error is left to the operation that opens the palace, which reports it with more context.
            _ => Ok(true),
        }
    }

    /// Lists the collections; a missing palace is `NotFound` with a hint how to create one.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>> {
        let address = self.address()?;
        let listed = address.backend.collections(&address.reference);
        listed.map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing_palace(&address.reference),
            _ => error,
        })
    }

    /// Returns the address of a palace that exists; a missing palace is `NotFound` with a hint how to create
    /// one. A damaged palace still has an address.
    pub fn existing_address(&self) -> Result<PalaceAddress> {
        let address = self.address()?;
        match address.backend.collections(&address.reference) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(missing_palace(&address.reference)),
            _ => Ok(address),
        }
    }

    /// Returns the selected collection: the named one; else the default one if it exists or no collection does;
    /// else, in a palace created by another program, the collection MemPalace uses, or the only one.
    pub fn collection_name(&self) -> Result<CollectionName> {
        if let Some(name) = &self.collection {
            return Ok(name.clone());
        }
        let address = self.address()?;
        let usual = CollectionName::new(CollectionName::DEFAULT)?;
        // A palace that cannot be listed is treated as having no collections; opening it then reports the reason.
        let listed = address
            .backend
            .collections(&address.reference)
            .unwrap_or_default();
        Ok(choose_collection(
            listed.into_iter().map(|info| info.name).collect(),
            usual,
        ))
    }

    /// Opens the selected collection, limited to the wings this caller may see, or may change if it is opened for
    /// writing.
    pub fn open(&self, options: &OpenOptions) -> Result<Arc<dyn Collection>> {
        let reach = if options.writable {
            self.access.reads.intersection(&self.access.writes)
        } else {
            self.access.reads.clone()
        };
        if reach.is_everywhere() {
            return self.open_whole(options);
        }
        let visible = if self.access.spells_wings {
            // The filter must use the collection's own spelling of each wing, which only an unrestricted handle can
            // read.
            let whole = self.open_whole(&OpenOptions::default())?;
            self.access.filter_reach(&reach, whole.as_ref())?
        } else {
            access::filter_unspelled(&reach)
        };
        self.open_whole(&OpenOptions {
            visible,
            ..options.clone()
        })
    }

    /// Opens the selected collection without restriction. The default name is tried first, so that an ordinary
    /// palace is opened once and never listed.
    pub(crate) fn open_whole(&self, options: &OpenOptions) -> Result<Arc<dyn Collection>> {
        let address = self.address()?;
        let open = |name: &CollectionName| -> Result<Arc<dyn Collection>> {
            let opened = address.backend.open(&address.reference, name, options)?;
            // Remembered only after a successful open: a palace that is missing now may be located elsewhere
            // later.
            self.located.get_or_init(|| address.clone());
            Ok(opened)
        };
        let first = match &self.collection {
            Some(name) => name.clone(),
            None => CollectionName::new(CollectionName::DEFAULT)?,
        };
        match open(&first) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        let meant = self.collection_name()?;
        if meant != first {
            return open(&meant);
        }
        Err(missing_collection(&address, &first))
    }

    /// Runs an operation that hands on its results while it reads. It runs only once, because its output cannot
    /// be taken back, and with separate reads, so that it can skip damage.
    pub(crate) fn run_stream<T>(&self, operate: impl FnOnce(&PalaceSession<'_>) -> Result<T>) -> Result<T> {
        let collection = self.open(&OpenOptions::default())?;
        operate(&PalaceSession::new(
            self,
            collection.as_ref(),
            collection.as_ref(),
        ))
    }

    /// Runs a writing operation, creating the palace if it does not exist. If the collection moved to another
    /// model, an earlier commit failed or the file was replaced, the collection is reopened and the operation
    /// runs again; it must therefore be safe to run twice.
    ///
    /// `brings` is a drawer that comes with its own vector, if there is one: it decides the model of a new
    /// collection.
    pub fn run_filing<T>(
        &self,
        brings: Option<&NewDrawer>,
        operate: impl Fn(&FilingSession) -> Result<T>,
    ) -> Result<T> {
        self.run_with_reopening(operate, || FilingSession::open(self, brings), brings.is_none())
    }

    /// Runs an operation that changes existing drawers; a missing palace is `NotFound` and is not created.
    pub fn run_change<T>(&self, operate: impl Fn(&FilingSession) -> Result<T>) -> Result<T> {
        self.run_with_reopening(operate, || FilingSession::open_existing(self), true)
    }

    /// Runs an operation that changes drawers or the collection without embedding, so no model is loaded. A
    /// missing palace is `NotFound` and is not created.
    pub(crate) fn write<T>(&self, operate: impl FnOnce(&dyn Collection) -> Result<T>) -> Result<T> {
        self.access.check_writable()?;
        operate(self.open(&OpenOptions::for_writing())?.as_ref())
    }

    /// Opens a session that its caller may keep for many writes.
    pub fn open_filing(&self, brings: Option<&NewDrawer>) -> Result<FilingSession> {
        self.access.check_writable()?;
        FilingSession::open(self, brings)
    }

    /// Opens a session for many changes to existing drawers; a missing palace is `NotFound`.
    pub(crate) fn open_existing_filing(&self) -> Result<FilingSession> {
        self.access.check_writable()?;
        FilingSession::open_existing(self)
    }

    fn run_with_reopening<T>(
        &self,
        operate: impl Fn(&FilingSession) -> Result<T>,
        open: impl Fn() -> Result<FilingSession>,
        may_reuse: bool,
    ) -> Result<T> {
        self.access.check_writable()?;
        // A drawer that brings a vector may need another identity than the kept session has, so it opens its own.
        let kept = self.lock_filing().clone();
        // A server would be asked for its model once more; it refuses vectors of another model at the write itself.
        let is_remote = !self.is_local()?;
        let kept = kept.filter(|filing| may_reuse && (is_remote && filing.embeds() || filing.is_current()));
        let open_and_keep = || {
            let filing = open()?;
            *self.lock_filing() = Some(filing.clone().for_later());
            Ok(filing)
        };
        let mut filing = kept.map_or_else(open_and_keep, Ok)?;
        let mut reopened = 0;
        loop {
            match operate(&filing) {
                Err(error) if reopened < patience_with(&error) => {
                    reopened += 1;
                    filing = open_and_keep()?;
                }
                Err(error) if reopened == MODEL_CHANGES => return Err(model_changes_error(error)),
                done => return done,
            }
        }
    }

    fn lock_filing(&self) -> MutexGuard<'_, Option<FilingSession>> {
        self.filing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates the selected collection, and its palace if needed, and opens it for writing.
    pub(crate) fn create(&self, options: &OpenOptions) -> Result<Arc<dyn Collection>> {
        let address = self.address()?;
        let name = self.collection_name()?;
        let options = OpenOptions {
            // There is no collection yet whose spelling of wings could differ.
            visible: access::filter_unspelled(&self.access.reads.intersection(&self.access.writes)),
            ..options.clone()
        };
        let mode = CreateMode::OpenExisting;
        let made = address
            .backend
            .create(&address.reference, &name, mode, &options)?;
        self.located.get_or_init(|| address);
        Ok(made)
    }
}

/// Chooses the collection to use when none is named: the default, else MemPalace's, else the only one.
fn choose_collection(there: Vec<CollectionName>, usual: CollectionName) -> CollectionName {
    if there.contains(&usual) {
        return usual;
    }
    let mempalace = there.iter().find(|name| name.as_str() == MEMPALACE_COLLECTION);
    let only = || match there.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    // Among several unknown collections any choice would be a guess, so the default name is reported as missing.
    mempalace.or_else(only).cloned().unwrap_or(usual)
}

/// Builds the error for a missing collection, whose palace may be missing as well.
fn missing_collection(address: &PalaceAddress, name: &CollectionName) -> Error {
    let Ok(there) = address.backend.collections(&address.reference) else {
        return missing_palace(&address.reference);
    };
    let names: Vec<&str> = there.iter().map(|info| info.name.as_str()).collect();
    let id = &address.reference.id;
    let is_read_only = address.backend.descriptor().has_capability(&Capability::ReadOnly);
    let hint = if names.is_empty() && is_read_only {
        "it has no collection at all, so there is nothing to read; name another palace with --palace"
            .to_owned()
    } else if names.is_empty() {
        format!("it has none yet; make it with `loci init --collection {name}`")
    } else {
        format!("it has: {}", names.join(", "))
    };
    let message = format!("collection {name} does not exist in the palace {id}");
    Error::new(ErrorKind::NotFound, message)
        .with_context("palace", id)
        .with_context("collection", name)
        .with_hint(hint)
}

fn missing_palace(reference: &PalaceRef) -> Error {
    let message = format!("no palace exists at {}", reference.id);
    Error::new(ErrorKind::NotFound, message)
        .with_context("palace", &reference.id)
        .with_hint(
            "create one with `loci init`, or name another with --palace; `add` and `mine` also create it",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palace_from_elsewhere_is_asked_in_the_collection_it_has() {
        let name = |name: &str| CollectionName::new(name).unwrap();
        let chosen = |there: &[&str]| {
            let there = there.iter().map(|one| name(one)).collect();
            choose_collection(there, name("drawers")).to_string()
        };
        assert_eq!(chosen(&[]), "drawers");
        assert_eq!(chosen(&["notes"]), "notes");
        assert_eq!(chosen(&["notes", "drawers"]), "drawers");
        assert_eq!(chosen(&["big", "mempalace_drawers", "tiny"]), "mempalace_drawers");
        assert_eq!(
            chosen(&["big", "tiny"]),
            "drawers",
            "which one is for the user to say"
        );
    }
}
