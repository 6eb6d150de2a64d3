//! An open palace: its address, what its caller may see and do, and how it is opened again when it changed underneath.
//!
//! A [`Palace`] lives as long as its caller: one command, or a server's whole life. Each operation is a file of its own
//! with one `impl Palace` block that takes a request and returns a report. Reading operations run in a
//! [`PalaceSession`], which is one collection at one moment; writing ones in a [`FilingSession`], which knows the model
//! that speaks for the collection.

mod access;
mod embedders;
mod filing;
mod session;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use loci_core::{
    Backend, Collection, CollectionInfo, CollectionName, CreateMode, Error, ErrorKind, FilingDoor, NewDrawer,
    OpenOptions, PalaceRef, Result, Timestamp,
};

pub use access::AccessPolicy;
pub use embedders::EmbedderCatalog;

pub(crate) use filing::AGREES;
pub use filing::{FilingSession, cosine, embed_batch, given_identity, try_embedder};
pub use session::PalaceSession;
pub(crate) use session::question_embedder;

use embedders::EmbedderCache;

/// The collection in which MemPalace keeps drawers.
const MEMPALACE_COLLECTION: &str = "mempalace_drawers";

/// A palace's backend and reference.
#[derive(Debug, Clone)]
pub struct PalaceAddress {
    /// The backend that holds it.
    pub backend: Arc<dyn Backend>,
    /// The palace.
    pub reference: PalaceRef,
}

impl PalaceAddress {
    /// The same, borrowed.
    pub fn as_borrowed(&self) -> BorrowedAddress<'_> {
        BorrowedAddress {
            backend: self.backend.as_ref(),
            reference: &self.reference,
        }
    }
}

/// A palace's backend and reference, borrowed: for operations on whole palaces, with all their collections.
#[derive(Debug, Clone, Copy)]
pub struct BorrowedAddress<'a> {
    /// The backend that holds it.
    pub backend: &'a dyn Backend,
    /// The palace.
    pub reference: &'a PalaceRef,
}

/// Finds a palace when it is first needed; a server may start before its palace exists.
type LocatePalace = dyn Fn() -> Result<PalaceAddress> + Send + Sync;

/// An open palace. Clones share everything.
#[derive(Clone)]
pub struct Palace {
    locate: Arc<LocatePalace>,
    /// The address, once a collection was opened there.
    located: Arc<OnceLock<PalaceAddress>>,
    /// The collection, if one is named; else see [`Palace::collection_name`].
    collection: Option<CollectionName>,
    embedders: Arc<EmbedderCache>,
    access: AccessPolicy,
    door: FilingDoor,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Kept over operations; dropped when another model speaks for the collection or a commit failed.
    filing: Arc<Mutex<Option<FilingSession>>>,
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
    /// The palace at `address`. Touches nothing yet.
    pub fn new(
        address: PalaceAddress,
        embedders: Arc<dyn EmbedderCatalog>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        Self::located_by(move || Ok(address.clone()), embedders, clock)
    }

    /// The palace that `locate` finds when it is needed. Touches nothing yet.
    pub fn located_by(
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
            clock: Arc::new(clock),
            filing: Arc::default(),
        }
    }

    /// The same palace with this collection meant; the usual one if none is named.
    #[must_use]
    pub fn in_collection(mut self, collection: Option<CollectionName>) -> Self {
        if self.collection != collection {
            self.collection = collection;
            self.filing = Arc::default();
        }
        self
    }

    /// The same palace for a caller who may see and do only this much.
    #[must_use]
    pub fn restricted_to(mut self, access: AccessPolicy) -> Self {
        self.access = access;
        self.filing = Arc::default();
        self
    }

    /// The same palace for a caller who comes through `door`.
    #[must_use]
    pub fn through(mut self, door: FilingDoor) -> Self {
        self.door = door;
        self
    }

    /// The same palace by another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The collection, if one is named.
    pub fn named_collection(&self) -> Option<&CollectionName> {
        self.collection.as_ref()
    }

    /// The caller's rights.
    pub fn access(&self) -> &AccessPolicy {
        &self.access
    }

    /// The door its caller comes through.
    pub fn door(&self) -> FilingDoor {
        self.door
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The embedders at hand.
    pub fn embedders(&self) -> &dyn EmbedderCatalog {
        self.embedders.as_ref()
    }

    /// The backend that holds it, and its reference. Until it was opened once it is looked for each time.
    pub fn address(&self) -> Result<PalaceAddress> {
        match self.located.get() {
            Some(located) => Ok(located.clone()),
            None => (self.locate)(),
        }
    }

    /// Whether it exists.
    pub fn exists(&self) -> Result<bool> {
        let address = self.address()?;
        match address.backend.collections(&address.reference) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            // Anything else that is wrong with it is reported by the operation that opens it.
            _ => Ok(true),
        }
    }

    /// Its collections; a missing palace is `NotFound` with a hint how to make one.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>> {
        let address = self.address()?;
        let listed = address.backend.collections(&address.reference);
        listed.map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing_palace(&address.reference),
            _ => error,
        })
    }

    /// Its address; a missing palace is `NotFound` with a hint how to make one, and a damaged one is not.
    pub fn existing_address(&self) -> Result<PalaceAddress> {
        let address = self.address()?;
        match address.backend.collections(&address.reference) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(missing_palace(&address.reference)),
            _ => Ok(address),
        }
    }

    /// The collection meant: the one that is named; else the default one if it is there or there is none; else, in a
    /// palace that came from elsewhere, the one MemPalace keeps drawers in, or the only one.
    pub fn collection_name(&self) -> Result<CollectionName> {
        if let Some(name) = &self.collection {
            return Ok(name.clone());
        }
        let address = self.address()?;
        let usual = CollectionName::new(CollectionName::DEFAULT)?;
        let listed = address
            .backend
            .collections(&address.reference)
            .unwrap_or_default();
        Ok(usual_among(
            listed.into_iter().map(|info| info.name).collect(),
            usual,
        ))
    }

    /// Opens the collection meant, as far as this caller may see it.
    pub fn open(&self, options: &OpenOptions) -> Result<Arc<dyn Collection>> {
        if !self.access.is_restricted() {
            return self.open_whole(options);
        }
        // Wings are spelled as the collection spells them, which only the whole collection can tell.
        let whole = self.open_whole(&OpenOptions::default())?;
        self.open_whole(&OpenOptions {
            visible: self.access.visible(whole.as_ref())?,
            ..options.clone()
        })
    }

    /// Opens the collection meant, trying the default name first so that the usual palace is opened once.
    fn open_whole(&self, options: &OpenOptions) -> Result<Arc<dyn Collection>> {
        let address = self.address()?;
        let open = |name: &CollectionName| -> Result<Arc<dyn Collection>> {
            let opened = address.backend.open(&address.reference, name, options)?;
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

    /// Runs a reading operation on one collection at one moment. Makes nothing.
    ///
    /// A damaged page ends a moment. Then the operation runs once more with reads of their own, which go around damage.
    pub fn read<T>(&self, mut operate: impl FnMut(&PalaceSession<'_>) -> Result<T>) -> Result<T> {
        let collection = self.open(&OpenOptions::default())?;
        if let Some(moment) = collection.moment()? {
            match operate(&PalaceSession::new(self, collection.as_ref(), moment.as_ref())) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                done => return done,
            }
        }
        operate(&PalaceSession::new(
            self,
            collection.as_ref(),
            collection.as_ref(),
        ))
    }

    /// Runs an operation that hands on what it reads while it reads: once, and with reads of their own, so that it can go
    /// around damage.
    pub(crate) fn stream<T>(&self, operate: impl FnOnce(&PalaceSession<'_>) -> Result<T>) -> Result<T> {
        let collection = self.open(&OpenOptions::default())?;
        operate(&PalaceSession::new(
            self,
            collection.as_ref(),
            collection.as_ref(),
        ))
    }

    /// Runs a writing operation, making the palace if it is missing. Where the collection moved to another model, an
    /// earlier commit failed or the file was replaced, it is opened anew and the operation runs once more.
    ///
    /// `brings` is a drawer that comes with its own vector, if one does: it decides the model of a new collection.
    pub fn file<T>(
        &self,
        brings: Option<&NewDrawer>,
        operate: impl Fn(&FilingSession) -> Result<T>,
    ) -> Result<T> {
        self.operate(operate, || FilingSession::open(self, brings), brings.is_none())
    }

    /// Runs an operation that changes drawers which are there: a missing palace is `NotFound` and is not made.
    pub fn change<T>(&self, operate: impl Fn(&FilingSession) -> Result<T>) -> Result<T> {
        self.operate(operate, || FilingSession::open_existing(self), true)
    }

    /// Runs an operation that changes drawers or the collection itself and embeds nothing, so that no model is asked. A
    /// missing palace is `NotFound` and is not made.
    pub(crate) fn write<T>(&self, operate: impl FnOnce(&dyn Collection) -> Result<T>) -> Result<T> {
        self.access.check_writable()?;
        operate(self.open(&OpenOptions::writable())?.as_ref())
    }

    /// A session to write with for as long as its caller likes.
    pub fn open_filing(&self, brings: Option<&NewDrawer>) -> Result<FilingSession> {
        self.access.check_writable()?;
        FilingSession::open(self, brings)
    }

    fn operate<T>(
        &self,
        operate: impl Fn(&FilingSession) -> Result<T>,
        open: impl Fn() -> Result<FilingSession>,
        may_reuse: bool,
    ) -> Result<T> {
        self.access.check_writable()?;
        let kept = self.filing().clone();
        let kept = kept.filter(|filing| may_reuse && filing.is_current());
        let open_and_keep = || {
            let filing = open()?;
            *self.filing() = Some(filing.clone());
            Ok(filing)
        };
        let filing = kept.map_or_else(open_and_keep, Ok)?;
        match operate(&filing) {
            Err(error) if needs_reopening(&error) => operate(&open_and_keep()?),
            done => done,
        }
    }

    fn filing(&self) -> MutexGuard<'_, Option<FilingSession>> {
        self.filing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the collection meant, and the palace around it, and opens it to be written.
    pub(crate) fn create(&self, options: &OpenOptions) -> Result<Arc<dyn Collection>> {
        let address = self.address()?;
        let name = self.collection_name()?;
        let options = OpenOptions {
            visible: self.access.visible_unspelled(),
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

/// Whether opening the collection anew may help.
fn needs_reopening(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::IdentityMismatch | ErrorKind::Poisoned | ErrorKind::NotFound
    )
}

/// The collection that stands for the usual one where that is missing.
fn usual_among(there: Vec<CollectionName>, usual: CollectionName) -> CollectionName {
    if there.contains(&usual) {
        return usual;
    }
    let mempalace = there.iter().find(|name| name.as_str() == MEMPALACE_COLLECTION);
    let only = || match there.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    mempalace.or_else(only).cloned().unwrap_or(usual)
}

/// The error for a missing collection, which may be missing with its palace.
fn missing_collection(address: &PalaceAddress, name: &CollectionName) -> Error {
    let Ok(there) = address.backend.collections(&address.reference) else {
        return missing_palace(&address.reference);
    };
    let names: Vec<&str> = there.iter().map(|info| info.name.as_str()).collect();
    let id = &address.reference.id;
    let hint = if names.is_empty() {
        format!("it has none yet; make it with `loci init --collection {name}`")
    } else {
        format!("it has: {}", names.join(", "))
    };
    let message = format!("there is no collection {name} in the palace {id}");
    Error::new(ErrorKind::NotFound, message)
        .with("palace", id)
        .with("collection", name)
        .hint(hint)
}

fn missing_palace(reference: &PalaceRef) -> Error {
    let message = format!("there is no palace at {}", reference.id);
    Error::new(ErrorKind::NotFound, message)
        .with("palace", &reference.id)
        .hint("make one with `loci init`, or name another with --palace; `add` and `mine` make it, too")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palace_from_elsewhere_is_asked_in_the_collection_it_has() {
        let name = |name: &str| CollectionName::new(name).unwrap();
        let chosen = |there: &[&str]| {
            let there = there.iter().map(|one| name(one)).collect();
            usual_among(there, name("drawers")).to_string()
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
