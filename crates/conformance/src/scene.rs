//! The scene of a case: a fresh world and shorthand for opening and filling it.

use std::fmt;
use std::sync::{Arc, Mutex};

use loci_core::{
    Backend, BackendDescriptor, Capability, Collection, CollectionExt, CollectionName, CreateMode,
    DrawerFields, EmbedderIdentity, Filter, NewDrawer, OpenOptions, PalaceRef, Write,
};

use crate::samples::collection_name;
use crate::{BackendHarness, CaseFailure, CaseOutcome, TestWorld};

/// A fresh world and the harness that made it.
pub struct CaseScene<'a> {
    harness: &'a dyn BackendHarness,
    /// Instances made by [`CaseScene::another_backend`], kept so that their collections stay open.
    others: Mutex<Vec<Arc<dyn Backend>>>,
    world: Box<dyn TestWorld>,
    descriptor: BackendDescriptor,
}

impl fmt::Debug for CaseScene<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene")
            .field("harness", &self.harness.name())
            .finish_non_exhaustive()
    }
}

impl<'a> CaseScene<'a> {
    /// The dimension of the vectors of most cases.
    pub(crate) const DIMENSION: usize = 4;

    /// Asks the harness for a fresh world.
    pub fn new(harness: &'a dyn BackendHarness) -> CaseOutcome<Self> {
        let world = harness
            .make_world()
            .map_err(|why| CaseFailure::new(format!("{} cannot be reached: {why}", harness.name())))?;
        let mut descriptor = world.backend().descriptor().clone();
        descriptor.capabilities.extend(world.chosen_capabilities());
        Ok(Self {
            harness,
            others: Mutex::default(),
            world,
            descriptor,
        })
    }

    /// Returns the harness, for cases that need more than one world.
    pub(crate) fn harness(&self) -> &'a dyn BackendHarness {
        self.harness
    }

    pub(crate) fn world(&self) -> &dyn TestWorld {
        self.world.as_ref()
    }

    pub(crate) fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.descriptor.has_capability(&capability)
    }

    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        self.world.backend()
    }

    /// Returns a new instance over the same storage, as another process would make it, open as long as the scene.
    /// Without `multi_process` this is the instance under test: promises about other processes then hold within it.
    pub(crate) fn another_backend(&self) -> CaseOutcome<Arc<dyn Backend>> {
        if !self.can(Capability::MultiProcess) {
            return Ok(self.backend());
        }
        self.open_successor()
    }

    /// Returns a new instance over the same storage, for use after the one under test has ended.
    pub(crate) fn open_successor(&self) -> CaseOutcome<Arc<dyn Backend>> {
        let other = self.world.reopen()?;
        // Kept until the scene ends: dropping the instance would close the collections that the case opened
        // on it.
        let mut others = self.others.lock().expect("no holder of this lock panics");
        others.push(Arc::clone(&other));
        Ok(other)
    }

    pub(crate) fn palace(&self) -> PalaceRef {
        self.world.palace()
    }

    /// Returns the model of the vectors of most cases.
    pub(crate) fn model(&self) -> EmbedderIdentity {
        model_called("model-a")
    }

    /// Returns the usual options: writable and with a declared model, as far as the backend supports it.
    pub(crate) fn usual_options(&self) -> OpenOptions {
        OpenOptions {
            embedder: self.can(Capability::EmbeddingsPassthrough).then(|| self.model()),
            writable: !self.can(Capability::ReadOnly),
            ..OpenOptions::default()
        }
    }

    /// A collection of the palace, made as described if it is missing, through the backend under test.
    pub(crate) fn make_collection(
        &self,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> loci_core::Result<Arc<dyn Collection>> {
        make_collection(self.backend().as_ref(), &self.palace(), collection, options)
    }

    /// The collection `drawers` of the palace, made if it is missing.
    pub(crate) fn open(&self) -> CaseOutcome<Arc<dyn Collection>> {
        self.open_named("drawers")
    }

    /// A collection of the palace, made if it is missing.
    pub(crate) fn open_named(&self, collection: &str) -> CaseOutcome<Arc<dyn Collection>> {
        self.open_in(&self.palace(), collection)
    }

    /// A collection of some palace, made if it is missing, through the backend under test.
    pub(crate) fn open_in(&self, palace: &PalaceRef, collection: &str) -> CaseOutcome<Arc<dyn Collection>> {
        let (name, options) = (collection_name(collection), self.usual_options());
        // Two steps, because a read-only backend opens but never creates.
        make_collection(self.world.writer().as_ref(), palace, &name, &options)?;
        Ok(self.backend().open(palace, &name, &options)?)
    }

    /// The same collection as [`CaseScene::open`], through a new instance as another process would make it.
    pub(crate) fn open_elsewhere(&self) -> CaseOutcome<Arc<dyn Collection>> {
        Ok(self
            .another_backend()?
            .open(&self.palace(), &default_collection(), &self.usual_options())?)
    }

    /// The same collection as [`CaseScene::open`], through a new instance after the one under test has ended.
    pub(crate) fn open_afterwards(&self) -> CaseOutcome<Arc<dyn Collection>> {
        Ok(self
            .open_successor()?
            .open(&self.palace(), &default_collection(), &self.usual_options())?)
    }

    /// Opens the collection in one instance after another and closes none of them. With `multi_process` each instance is
    /// leaked, like that of a killed process; otherwise each is dropped before the next one opens.
    pub(crate) fn each_without_closing(
        &self,
        times: usize,
        act: impl Fn(usize, &dyn Collection) -> CaseOutcome,
    ) -> CaseOutcome {
        // Otherwise the instance under test would still hold the palace.
        if !self.can(Capability::MultiProcess) {
            self.backend().close();
        }
        for n in 0..times {
            let backend = self.world.reopen()?;
            let collection = backend.open(&self.palace(), &default_collection(), &self.usual_options())?;
            act(n, collection.as_ref())?;
            if self.can(Capability::MultiProcess) {
                // A process that is killed runs no destructors.
                std::mem::forget((backend, collection));
            }
        }
        Ok(())
    }

    /// The same collection as [`CaseScene::open`], through a handle that sees only the drawers the filter accepts.
    pub(crate) fn open_seeing(&self, visible: Filter) -> CaseOutcome<Arc<dyn Collection>> {
        let options = OpenOptions {
            visible,
            ..self.usual_options()
        };
        Ok(self
            .backend()
            .open(&self.palace(), &default_collection(), &options)?)
    }

    /// The collection `drawers` of the palace with these filed in it, through the backend under test.
    pub(crate) fn open_filled(
        &self,
        given: impl IntoIterator<Item = NewDrawer>,
    ) -> CaseOutcome<Arc<dyn Collection>> {
        self.fill_in(&self.palace(), "drawers", given)
    }

    /// A collection of some palace with these filed in it.
    pub(crate) fn fill_in(
        &self,
        palace: &PalaceRef,
        collection: &str,
        given: impl IntoIterator<Item = NewDrawer>,
    ) -> CaseOutcome<Arc<dyn Collection>> {
        let batch: Vec<Write> = given
            .into_iter()
            .map(|drawer| Write::Add(self.fit_drawer(drawer)))
            .collect();
        // The writer, since the backend under test may be read-only; the handle returned is of the backend
        // under test.
        let writer = self.world.writer();
        let filling = make_collection(
            writer.as_ref(),
            palace,
            &collection_name(collection),
            &self.usual_options(),
        )?;
        let receipt = filling.apply_batch(&batch)?;
        // A sample that turned out to be a twin or to repeat an id would make the case test less than it
        // says.
        same!(receipt.added.len(), batch.len(), "drawers filed to begin with");
        self.world.settle(filling.as_ref())?;
        self.open_in(palace, collection)
    }

    /// Returns the drawer without its vector if the backend does not accept vectors.
    pub(crate) fn fit_drawer(&self, mut drawer: NewDrawer) -> NewDrawer {
        if !self.can(Capability::EmbeddingsPassthrough) {
            drawer.embedding = None;
        }
        drawer
    }

    /// Includes every field that the backend can return.
    pub(crate) fn every_field(&self) -> DrawerFields {
        DrawerFields {
            embedding: self.can(Capability::EmbeddingsOut),
            ..DrawerFields::EVERYTHING
        }
    }
}

/// A model of the usual dimension.
pub(crate) fn model_called(called: &str) -> EmbedderIdentity {
    EmbedderIdentity {
        model: called.into(),
        revision: "1".into(),
        dimension: CaseScene::DIMENSION,
    }
}

/// A collection, made as described if it is missing.
pub(crate) fn make_collection(
    backend: &dyn Backend,
    palace: &PalaceRef,
    collection: &CollectionName,
    options: &OpenOptions,
) -> loci_core::Result<Arc<dyn Collection>> {
    backend.create(palace, collection, CreateMode::OpenExisting, options)
}

/// The collection used when none is named.
pub(crate) fn default_collection() -> CollectionName {
    collection_name(CollectionName::DEFAULT)
}
