//! The scene of a case: a fresh world and the short ways to open and fill it.

use std::fmt;
use std::sync::{Arc, Mutex};

use loci_core::{
    Backend, Capability, Collection, CollectionName, Descriptor, EmbedderIdentity, Include, NewDrawer,
    OpenOptions, PalaceRef, Write,
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

    /// A new instance over the same storage, as another process would make it, open as long as the scene.
    pub(crate) fn another(&self) -> Outcome<Arc<dyn Backend>> {
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

    /// Opens, making what is missing, with the model declared where the backend takes vectors.
    pub(crate) fn how(&self) -> OpenOptions {
        OpenOptions {
            embedder: self.can(Capability::EmbeddingsPassthrough).then(|| self.model()),
            ..OpenOptions::create()
        }
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
        let name = name(collection);
        let mut how = self.how();
        if self.can(Capability::ReadOnly) {
            self.world.writer().open(palace, &name, &how)?;
            how.create = false;
        }
        Ok(self.backend().open(palace, &name, &how)?)
    }

    /// The same collection as [`Scene::open`], through a new instance as another process would make it.
    pub(crate) fn open_elsewhere(&self) -> Outcome<Arc<dyn Collection>> {
        let how = OpenOptions {
            create: false,
            ..self.how()
        };
        Ok(self.another()?.open(&self.palace(), &drawers(), &how)?)
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
        let filling = self.world.writer().open(palace, &name(collection), &self.how())?;
        let receipt = filling.apply(&batch)?;
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

/// The collection used when none is named.
pub(crate) fn drawers() -> CollectionName {
    name(CollectionName::DEFAULT)
}
