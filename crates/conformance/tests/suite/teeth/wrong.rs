//! Backends that are wrong in one way, made of the reference.

use std::fs;
use std::sync::Arc;

use loci_conformance::{Harness, Reference, ReferenceHarness, World};
use loci_core::{
    Backend, Capability, Collection, CollectionInfo, CollectionName, CreateMode, Descriptor, Doctor,
    EmbedderIdentity, Filter, Health, OpenOptions, PalaceRef, Result, SnapshotStore, Visibility,
};

use super::beyond::Beyond;
use super::collection::WrongCollection;
use super::sight::Sight;

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
    ForgetsToAdopt,
    InventsAModel,
    AdoptsOnEachWrite,
    AdoptsOverTheEmbedder,
    TellsTheModelOfNow,
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
    IgnoresSight,
    LeaksById,
    LeaksFacets,
    LeaksWordStatistics,
    LeaksSeq,
    OffersTheFeed,
    MomentOfEverything,
    ChecksSightBeforeTheWrite,
    NamesHiddenTwins,
    IgnoresOrder,
    IgnoresTies,
    PagesByOffset,
    FindsMembersByPart,
    CountsWithoutText,
    DeletesWithoutText,
    LosesProvenanceOnUpdate,
    HidesProvenance,
    ForgetsKeysElsewhere,
    UsesUpTheKeyOfAFailure,
    TakesAKeyForOtherWrites,
    IgnoresBudgets,
    WritesThenTimesOut,
    MovingMoment,
    AnswersAfterDrop,
    FollowsTheName,
    OpensOnExclusiveCreate,
    ChecksBeforeItCreates,
    IgnoresWritable,
    KeepsALogOfTexts,
    MissesTooMany,
    GuessesDistances,
}

impl Flaw {
    /// What the reference behind the flaw advertises.
    fn reference(self) -> Reference {
        let approximate = matches!(self, Self::MissesTooMany | Self::GuessesDistances);
        let more = approximate.then_some(Capability::ApproximateQuery);
        Reference::with(Reference::FULL.into_iter().chain(more))
    }
}

/// Makes worlds of the reference, seen through a flaw.
pub(crate) struct WrongHarness(pub(crate) Flaw);

impl Harness for WrongHarness {
    fn name(&self) -> String {
        format!("the reference with the flaw {:?}", self.0)
    }

    fn fresh(&self) -> std::result::Result<Box<dyn World>, String> {
        let flaw = self.0;
        let inner = ReferenceHarness::new(move || flaw.reference()).fresh()?;
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

impl WrongBackend {
    /// The options a flawed backend takes the given ones for.
    fn misread(&self, options: &OpenOptions) -> OpenOptions {
        let mut options = options.clone();
        match self.flaw {
            Flaw::IgnoresEmbedder => options.embedder = None,
            Flaw::ForgetsToAdopt => options.adopts_model = false,
            Flaw::AdoptsOverTheEmbedder if options.adopts_model => options.embedder = None,
            Flaw::InventsAModel if options.adopts_model => {
                options.embedder = Some(EmbedderIdentity {
                    model: "invented".into(),
                    revision: "1".into(),
                    dimension: 4,
                });
            }
            Flaw::IgnoresSight => options.visible = Filter::All,
            Flaw::IgnoresWritable => options.writable = true,
            _ => {}
        }
        options
    }

    fn wrap(
        &self,
        inner: Arc<dyn Collection>,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let whole = OpenOptions {
            visible: Filter::All,
            ..options.clone()
        };
        let sight = Sight {
            whole: self.inner.open(&self.mistaken(palace), collection, &whole)?,
            visible: Visibility::new(options.visible.clone()),
        };
        let (backend, address) = (Arc::clone(&self.inner), self.mistaken(palace));
        let collection = collection.clone();
        let beyond = Beyond {
            folder: palace.local_path.clone(),
            by_name: Box::new(move || backend.open(&address, &collection, &whole)),
        };
        Ok(Arc::new(WrongCollection::new(inner, sight, beyond, self.flaw)))
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
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        if self.flaw == Flaw::CreatesOnOpen {
            return self.create(palace, collection, CreateMode::OpenExisting, options);
        }
        let options = self.misread(options);
        let inner = self.inner.open(&self.mistaken(palace), collection, &options)?;
        self.wrap(inner, palace, collection, &options)
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let options = self.misread(options);
        let exists = || {
            let listed = self.inner.collections(palace).unwrap_or_default();
            listed.iter().any(|info| info.name == *collection)
        };
        let mode = match self.flaw {
            Flaw::OpensOnExclusiveCreate => CreateMode::OpenExisting,
            Flaw::ChecksBeforeItCreates if !exists() => {
                std::thread::yield_now();
                CreateMode::OpenExisting
            }
            _ => mode,
        };
        let palace_meant = self.mistaken(palace);
        let inner = self.inner.create(&palace_meant, collection, mode, &options)?;
        if let (Flaw::ForgetsTheFiles, Some(folder)) = (self.flaw, &palace.local_path) {
            fs::create_dir_all(folder).expect("a temporary folder can be made");
        }
        self.wrap(inner, palace, collection, &options)
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        self.inner.drop_collection(&self.mistaken(palace), collection)
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

    fn doctor(&self) -> Option<&dyn Doctor> {
        self.inner.doctor()
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        self.inner.snapshots()
    }
}
