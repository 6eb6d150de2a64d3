//! A read-only backend for the palaces of another program, and its doctor.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, Error, ErrorKind, FixInfo, FixReport, FixRequest, Metric, OpenOptions,
    PalaceDiagnosis, PalaceFinding, PalaceId, PalaceRef, Result, SPEC_VERSION, SnapshotStore,
};

use super::folders::OpenedFolders;
use super::{ScannedCollection, ScannedPalace};
use crate::mempalace::MempalaceInstallation;

/// A kind of palace that a [`ScannedBackend`] opens and examines.
pub trait ForeignPalace: ScannedPalace + Sized {
    /// The name of the backend.
    const NAME: &'static str;
    /// The metrics that its collections may have.
    const METRICS: &'static [Metric];
    /// The steps that its doctor can take.
    const FIXES: &'static [FixInfo];

    /// Creates the handle of a folder, which may belong to this installation of MemPalace, without reading it.
    fn in_folder(folder: &Path, installation: Arc<MempalaceInstallation>) -> Self;

    /// Describes every collection.
    fn describe_collections(&self) -> Result<Vec<CollectionInfo>>;

    /// Reads the palace, unless it was read and has not changed since.
    fn check_readable(&self) -> Result<()>;

    /// Lists the damage met when the palace was read; none before that.
    fn list_damage(&self) -> Vec<PalaceFinding>;

    /// Drops everything that was read; later calls fail as `Closed`.
    fn close(&self);

    /// Reports whether the folder at `path` holds a palace of this kind.
    fn recognises(path: &Path) -> bool;

    /// Examines the palace at `path`.
    fn examine(backend: &ScannedBackend<Self>, path: &Path) -> Result<PalaceDiagnosis>;

    /// Lists the indexes that a rule of age alone would reject, and whether that would be wrong.
    fn judge_by_age(backend: &ScannedBackend<Self>, path: &Path, age: Duration)
    -> Result<Vec<PalaceFinding>>;

    /// Takes one step.
    fn fix(backend: &ScannedBackend<Self>, path: &Path, request: &FixRequest<'_>) -> Result<FixReport>;
}

/// Reads and examines the palaces of another program. Nothing is opened before a palace is asked for.
#[derive(Debug)]
pub struct ScannedBackend<P> {
    descriptor: BackendDescriptor,
    palaces: OpenedFolders<P>,
    installation: Arc<MempalaceInstallation>,
}

impl<P: ForeignPalace> ScannedBackend<P> {
    /// The name of the backend.
    pub const NAME: &'static str = P::NAME;

    /// Creates a backend with no open palace, which looks for MemPalace's files around palaces only.
    pub fn new() -> Self {
        Self::with_installation(MempalaceInstallation::default())
    }

    /// Creates a backend with no open palace, which also looks for MemPalace's files where this installation has them.
    pub fn with_installation(installation: MempalaceInstallation) -> Self {
        Self {
            descriptor: build_descriptor::<P>(),
            palaces: OpenedFolders::new(P::NAME),
            installation: Arc::new(installation),
        }
    }

    /// Returns the handle of the folder at `path`, shared by all callers.
    pub fn open_palace(&self, path: &Path) -> Result<Arc<P>> {
        self.palaces
            .open_folder(path, || P::in_folder(path, Arc::clone(&self.installation)))
    }

    fn resolve_palace(&self, palace: &PalaceRef) -> Result<Arc<P>> {
        let open = self.open_palace(palace.require_folder()?)?;
        // Whatever the program calls a database or a tenant is not a namespace: each of their collections gets a
        // name of its own.
        if palace.namespace.is_some() {
            self.descriptor
                .require_capability(&Capability::NamespaceIsolation)?;
        }
        Ok(open)
    }
}

impl<P: ForeignPalace> Default for ScannedBackend<P> {
    fn default() -> Self {
        Self::new()
    }
}

fn build_descriptor<P: ForeignPalace>() -> BackendDescriptor {
    BackendDescriptor {
        name: P::NAME.to_owned(),
        spec_version: SPEC_VERSION,
        capabilities: BTreeSet::from([
            Capability::EmbeddingsPassthrough,
            Capability::EmbeddingsOut,
            Capability::RangeFilters,
            Capability::Lexical,
            Capability::Export,
            Capability::Local,
            Capability::ReadOnly,
            Capability::MultiProcess,
        ]),
        metrics: P::METRICS.to_vec(),
        maintenance: Vec::new(),
    }
}

/// Creates the error for every write, with the command that moves the palace to a writable backend.
pub(super) fn refuse_write(backend: &str, folder: &Path) -> Error {
    let folder = folder.display();
    let message = format!("the backend {backend:?} is read_only and refuses writes: {folder}");
    Error::new(ErrorKind::Unsupported, message).with_hint(format!(
        "nothing was changed; move the palace with `loci migrate --from '{backend}:{folder}' --to NEW` and write there"
    ))
}

impl<P: ForeignPalace> Backend for ScannedBackend<P> {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let open = self.resolve_palace(palace)?;
        Ok(Arc::new(ScannedCollection::open(open, collection, options)?))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        _collection: &CollectionName,
        _mode: CreateMode,
        _options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        Err(self.resolve_palace(palace)?.refuse_write())
    }

    fn drop_collection(&self, palace: &PalaceRef, _collection: &CollectionName) -> Result<()> {
        Err(self.resolve_palace(palace)?.refuse_write())
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.resolve_palace(palace)?.describe_collections()
    }

    fn palace_id(&self, _palace: &PalaceRef) -> Result<Option<PalaceId>> {
        Ok(None)
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let seen = match palace {
            Some(palace) => self
                .resolve_palace(palace)
                .and_then(|palace| palace.check_readable()),
            None => self.palaces.check_open(),
        };
        BackendHealth {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".to_owned(), |error| error.to_string()),
        }
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        let held = self.palaces.find_open(palace);
        held.map(|held| held.list_damage()).unwrap_or_default()
    }

    fn close_palace(&self, palace: &PalaceRef) {
        if let Some(held) = self.palaces.take_open(palace) {
            held.close();
        }
    }

    fn close(&self) {
        // Collections that callers still hold share these handles and must fail as closed, too.
        for palace in self.palaces.close() {
            palace.close();
        }
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}

impl<P: ForeignPalace> Doctor for ScannedBackend<P> {
    fn recognises(&self, path: &Path) -> bool {
        P::recognises(path)
    }

    fn examine(&self, path: &Path) -> Result<PalaceDiagnosis> {
        P::examine(self, path)
    }

    fn judge_by_age(&self, path: &Path, age: Duration) -> Result<Vec<PalaceFinding>> {
        P::judge_by_age(self, path, age)
    }

    fn fixes(&self) -> &[FixInfo] {
        P::FIXES
    }

    fn fix(&self, path: &Path, request: &FixRequest<'_>) -> Result<FixReport> {
        P::fix(self, path, request)
    }
}
