//! The scene of a case: a fresh world and the short ways to open and fill it.

use std::fmt;
use std::sync::{Arc, Mutex};

use loci_core::{
    Backend, Capability, Collection, CollectionExt, CollectionName, CreateMode, Descriptor, EmbedderIdentity,
    Filter, Include, NewDrawer, OpenOptions, PalaceRef, Write,
};

use crate::samples::name;
use crate::{Failure, Harness, Outcome, World};

/// A fresh world and the harness that made it.
pub struct Scene<'a> {
    harness: &'a dyn Harness,
    /// Instances made by [`Scene::another`], kept so that their collections stay open.
    others: Mutex<Vec<Arc<dyn Backend>>>,
    world: Box<dyn World>,
    descriptor: Descriptor,
}

impl fmt::Debug for Scene<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene")
            .field("harness", &self.harness.name())
            .finish_non_exhaustive()
    }
}

impl<'a> Scene<'a> {
    /// How many values the vectors of most cases have.
    pub(crate) const DIMENSION: usize = 4;

    /// Asks the harness for a fresh world.
    pub fn new(harness: &'a dyn Harness) -> Outcome<Self> {
        let world = harness
            .fresh()
            .map_err(|why| Failure::new(format!("{} cannot be reached: {why}", harness.name())))?;
        let descriptor = world.backend().descriptor().clone();
        Ok(Self {
            harness,
            others: Mutex::default(),
            world,
            descriptor,
        })
    }

    /// What made the world, for cases that need more than one.
    pub(crate) fn harness(&self) -> &'a dyn Harness {
        self.harness
    }

    pub(crate) fn world(&self) -> &dyn World {
        self.world.as_ref()
    }

    pub(crate) fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.descriptor.can(&capability)
    }

    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        self.world.backend()
    }

    /// A new instance over the same storage, as another process would make it, open as long as the scene. Where only
    /// one process may use a palace at once, this instance: what is promised of other processes then holds within it.
    pub(crate) fn another(&self) -> Outcome<Arc<dyn Backend>> {
        if !self.can(Capability::MultiProcess) {
            return Ok(self.backend());
        }
        self.successor()
    }

    /// A new instance over the same storage, after the one under test has ended.
    pub(crate) fn successor(&self) -> Outcome<Arc<dyn Backend>> {
        let other = self.world.reopen()?;
        let mut others = self.others.lock().expect("no holder of this lock panics");
        others.push(Arc::clone(&other));
        Ok(other)
    }

    pub(crate) fn palace(&self) -> PalaceRef {
        self.world.palace()
    }

    /// Who makes the vectors of most cases.
    pub(crate) fn model(&self) -> EmbedderIdentity {
        model("model-a")
    }

    /// Opens to be written where the backend takes writes, with the model declared where it takes vectors.
    pub(crate) fn how(&self) -> OpenOptions {
        OpenOptions {
            embedder: self.can(Capability::EmbeddingsPassthrough).then(|| self.model()),
            writable: !self.can(Capability::ReadOnly),
            ..OpenOptions::default()
        }
    }

    /// A collection of the palace, made as described if it is missing, through the backend under test.
    pub(crate) fn make(
        &self,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> loci_core::Result<Arc<dyn Collection>> {
        make(self.backend().as_ref(), &self.palace(), collection, options)
    }

    /// The collection `drawers` of the palace, made if it is missing.
    pub(crate) fn open(&self) -> Outcome<Arc<dyn Collection>> {
        self.open_named("drawers")
    }

    /// A collection of the palace, made if it is missing.
    pub(crate) fn open_named(&self, collection: &str) -> Outcome<Arc<dyn Collection>> {
        self.open_in(&self.palace(), collection)
    }

    /// A collection of some palace, made if it is missing, through the backend under test.
    pub(crate) fn open_in(&self, palace: &PalaceRef, collection: &str) -> Outcome<Arc<dyn Collection>> {
        let (name, options) = (name(collection), self.how());
        make(self.world.writer().as_ref(), palace, &name, &options)?;
        Ok(self.backend().open(palace, &name, &options)?)
    }

    /// The same collection as [`Scene::open`], through a new instance as another process would make it.
    pub(crate) fn open_elsewhere(&self) -> Outcome<Arc<dyn Collection>> {
        Ok(self.another()?.open(&self.palace(), &drawers(), &self.how())?)
    }

    /// The same collection as [`Scene::open`], through a new instance after the one under test has ended.
    pub(crate) fn open_afterwards(&self) -> Outcome<Arc<dyn Collection>> {
        Ok(self.successor()?.open(&self.palace(), &drawers(), &self.how())?)
    }

    /// Opens the collection in one instance after another, none of which is closed: where several processes may use a
    /// palace each is left as a process that is killed leaves it, else each is dropped before the next one begins.
    pub(crate) fn each_without_closing(
        &self,
        times: usize,
        act: impl Fn(usize, &dyn Collection) -> Outcome,
    ) -> Outcome {
        if !self.can(Capability::MultiProcess) {
            self.backend().close();
        }
        for n in 0..times {
            let backend = self.world.reopen()?;
            let collection = backend.open(&self.palace(), &drawers(), &self.how())?;
            act(n, collection.as_ref())?;
            if self.can(Capability::MultiProcess) {
                // A process that is killed runs no destructors.
                std::mem::forget((backend, collection));
            }
        }
        Ok(())
    }

    /// The same collection as [`Scene::open`], through a handle that sees only what the filter accepts.
    pub(crate) fn open_seeing(&self, visible: Filter) -> Outcome<Arc<dyn Collection>> {
        let options = OpenOptions {
            visible,
            ..self.how()
        };
        Ok(self.backend().open(&self.palace(), &drawers(), &options)?)
    }

    /// The collection `drawers` of the palace with these filed in it, through the backend under test.
    pub(crate) fn filled(&self, given: impl IntoIterator<Item = NewDrawer>) -> Outcome<Arc<dyn Collection>> {
        self.fill_in(&self.palace(), "drawers", given)
    }

    /// A collection of some palace with these filed in it.
    pub(crate) fn fill_in(
        &self,
        palace: &PalaceRef,
        collection: &str,
        given: impl IntoIterator<Item = NewDrawer>,
    ) -> Outcome<Arc<dyn Collection>> {
        let batch: Vec<Write> = given
            .into_iter()
            .map(|drawer| Write::Add(self.fit(drawer)))
            .collect();
        let writer = self.world.writer();
        let filling = make(writer.as_ref(), palace, &name(collection), &self.how())?;
        let receipt = filling.apply_batch(&batch)?;
        same!(receipt.added.len(), batch.len(), "drawers filed to begin with");
        self.open_in(palace, collection)
    }

    /// The drawer without its vector where the backend takes none.
    pub(crate) fn fit(&self, mut drawer: NewDrawer) -> NewDrawer {
        if !self.can(Capability::EmbeddingsPassthrough) {
            drawer.embedding = None;
        }
        drawer
    }

    /// Every field the backend gives back.
    pub(crate) fn everything(&self) -> Include {
        Include {
            embedding: self.can(Capability::EmbeddingsOut),
            ..Include::EVERYTHING
        }
    }
}

/// A model of the usual dimension.
pub(crate) fn model(called: &str) -> EmbedderIdentity {
    EmbedderIdentity {
        model: called.into(),
        revision: "1".into(),
        dimension: Scene::DIMENSION,
    }
}

/// A collection, made as described if it is missing.
pub(crate) fn make(
    backend: &dyn Backend,
    palace: &PalaceRef,
    collection: &CollectionName,
    options: &OpenOptions,
) -> loci_core::Result<Arc<dyn Collection>> {
    backend.create(palace, collection, CreateMode::OpenExisting, options)
}

/// The collection used when none is named.
pub(crate) fn drawers() -> CollectionName {
    name(CollectionName::DEFAULT)
}
