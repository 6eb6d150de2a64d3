//! Backends that are wrong in one way, made of the reference.

use std::fs;
use std::sync::Arc;

use loci_conformance::{Harness, Reference, ReferenceHarness, World};
use loci_core::{
    Backend, Collection, CollectionInfo, CollectionName, Descriptor, Health, OpenOptions, PalaceRef, Result,
};

use super::collection::WrongCollection;

/// The one way in which a backend is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    OverwritesOnAdd,
    ReportsKeptAsAdded,
    MergesOnUpsert,
    CreatesOnUpdate,
    ForgetsBadVectors,
    AppliesOneByOne,
    FilesTwins,
    ForgetsMissingVectors,
    GarblesContext,
    DropsFilter,
    DropsDocumentFilter,
    LosesAHit,
    DropsEmptyLists,
    IgnoresOffset,
    ReturnsEveryField,
    TurnsIntegersToFloats,
    TrimsText,
    RemembersReads,
    FeedForgetsDeletes,
    FeedIgnoresLimit,
    FeedSkips,
    CreatesOnOpen,
    SeesAnotherPalace,
    IgnoresNamespace,
    IgnoresEmbedder,
    AnswersAfterClose,
    ForgetsTheFiles,
    AnswersFromTheOldSpace,
    FinishesIncomplete,
    LeavesAGhost,
    FillsStaleTexts,
    FillsWhilePaused,
    ForgetsOtherSpaces,
    IgnoresExpects,
    LosesTheLastPart,
    CommitsPartsApart,
    CommitsRevisionsApart,
    RestartsRevisions,
    WritesDrawersOfOvertaken,
    StopsAtOvertaken,
    FilesRecordsAsDrawers,
    ListsSourcesAsAsked,
    RepeatsTheLastSource,
}

/// Makes worlds of the reference, seen through a flaw.
pub(crate) struct WrongHarness(pub(crate) Flaw);

impl Harness for WrongHarness {
    fn name(&self) -> String {
        format!("the reference with the flaw {:?}", self.0)
    }

    fn fresh(&self) -> std::result::Result<Box<dyn World>, String> {
        let inner = ReferenceHarness::new(Reference::new).fresh()?;
        Ok(Box::new(WrongWorld {
            backend: Arc::new(WrongBackend {
                inner: inner.backend(),
                flaw: self.0,
            }),
            inner,
            flaw: self.0,
        }))
    }
}

struct WrongWorld {
    backend: Arc<WrongBackend>,
    inner: Box<dyn World>,
    flaw: Flaw,
}

impl World for WrongWorld {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend) as Arc<dyn Backend>
    }

    fn palace(&self) -> PalaceRef {
        self.inner.palace()
    }

    fn another_palace(&self) -> PalaceRef {
        self.inner.another_palace()
    }

    fn reopen(&self) -> std::result::Result<Arc<dyn Backend>, String> {
        Ok(Arc::new(WrongBackend {
            inner: self.inner.reopen()?,
            flaw: self.flaw,
        }))
    }
}

#[derive(Debug)]
struct WrongBackend {
    inner: Arc<dyn Backend>,
    flaw: Flaw,
}

impl WrongBackend {
    /// The palace a flawed backend takes the given one for.
    fn mistaken(&self, palace: &PalaceRef) -> PalaceRef {
        let mut palace = palace.clone();
        match self.flaw {
            Flaw::SeesAnotherPalace => PalaceRef::named("shared"),
            Flaw::IgnoresNamespace => {
                palace.namespace = None;
                palace
            }
            Flaw::ForgetsTheFiles => {
                palace.local_path = None;
                palace
            }
            _ => palace,
        }
    }
}

impl Backend for WrongBackend {
    fn descriptor(&self) -> &Descriptor {
        self.inner.descriptor()
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        how: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let mut how = how.clone();
        match self.flaw {
            Flaw::CreatesOnOpen => how.create = true,
            Flaw::IgnoresEmbedder => how.embedder = None,
            _ => {}
        }
        let inner = self.inner.open(&self.mistaken(palace), collection, &how)?;
        if let (Flaw::ForgetsTheFiles, Some(folder)) = (self.flaw, &palace.local_path) {
            fs::create_dir_all(folder).expect("a temporary folder can be made");
        }
        Ok(Arc::new(WrongCollection::new(inner, self.flaw)))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.inner.collections(&self.mistaken(palace))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> Health {
        self.inner.health(palace)
    }

    fn close_palace(&self, palace: &PalaceRef) {
        self.inner.close_palace(&self.mistaken(palace));
    }

    fn close(&self) {
        if self.flaw != Flaw::AnswersAfterClose {
            self.inner.close();
        }
    }
}
