//! Backends with exactly one flaw, wrapped around the reference.

use std::fs;
use std::sync::Arc;

use loci_conformance::{BackendHarness, Reference, ReferenceHarness, TestWorld};
use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, EmbedderIdentity, Filter, FindingSeverity, OpenOptions, PalaceFinding, PalaceId,
    PalaceRef, Result, SnapshotStore, Visibility,
};

use super::beyond::BeyondHandle;
use super::collection::WrongCollection;
use super::sight::HandleSight;

/// The one way in which a backend is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackendFlaw {
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
    AlwaysListsDamage,
    NamesEveryPalaceAlike,
    ForgetsTheFiles,
    AnswersFromTheOldSpace,
    FinishesIncomplete,
    LeavesAGhost,
    FillsStaleTexts,
    FillsWhilePaused,
    ForgetsOtherSpaces,
    IgnoresExpects,
    OverwritesTheUnexpected,
    ComparesVectorsToo,
    ComparesRepetitions,
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
    HidesApproximation,
}

impl BackendFlaw {
    /// Returns the reference behind the flaw, with the capabilities that the broken case needs.
    fn reference(self) -> Reference {
        let approximate = matches!(
            self,
            Self::MissesTooMany | Self::GuessesDistances | Self::HidesApproximation
        );
        let more = approximate.then_some(Capability::ApproximateQuery);
        Reference::with_capabilities(Reference::FULL.into_iter().chain(more))
    }
}

/// Makes worlds of the reference, seen through a flaw.
pub(crate) struct WrongHarness(pub(crate) BackendFlaw);

impl BackendHarness for WrongHarness {
    fn name(&self) -> String {
        format!("the reference with the flaw {:?}", self.0)
    }

    fn make_world(&self) -> std::result::Result<Box<dyn TestWorld>, String> {
        let flaw = self.0;
        let inner = ReferenceHarness::new(move || flaw.reference()).make_world()?;
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
    inner: Box<dyn TestWorld>,
    flaw: BackendFlaw,
}

impl TestWorld for WrongWorld {
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
    flaw: BackendFlaw,
}

impl WrongBackend {
    /// Returns the palace that a flawed backend uses instead of the given one.
    fn mistake_palace(&self, palace: &PalaceRef) -> PalaceRef {
        let mut palace = palace.clone();
        match self.flaw {
            BackendFlaw::SeesAnotherPalace => PalaceRef::from_id("shared"),
            BackendFlaw::IgnoresNamespace => {
                palace.namespace = None;
                palace
            }
            BackendFlaw::ForgetsTheFiles => {
                palace.local_path = None;
                palace
            }
            _ => palace,
        }
    }
}

impl WrongBackend {
    /// Returns the options that a flawed backend uses instead of the given ones.
    fn misread_options(&self, options: &OpenOptions) -> OpenOptions {
        let mut options = options.clone();
        match self.flaw {
            BackendFlaw::IgnoresEmbedder => options.embedder = None,
            BackendFlaw::ForgetsToAdopt => options.adopts_model = false,
            BackendFlaw::AdoptsOverTheEmbedder if options.adopts_model => options.embedder = None,
            BackendFlaw::InventsAModel if options.adopts_model => {
                options.embedder = Some(EmbedderIdentity {
                    model: "invented".into(),
                    revision: "1".into(),
                    dimension: 4,
                });
            }
            BackendFlaw::IgnoresSight => options.visible = Filter::All,
            BackendFlaw::IgnoresWritable => options.writable = true,
            _ => {}
        }
        options
    }

    fn wrap_collection(
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
        let sight = HandleSight {
            whole: self
                .inner
                .open(&self.mistake_palace(palace), collection, &whole)?,
            visible: Visibility::new(options.visible.clone()),
        };
        let (backend, address) = (Arc::clone(&self.inner), self.mistake_palace(palace));
        let collection = collection.clone();
        let beyond = BeyondHandle {
            folder: palace.local_path.clone(),
            by_name: Box::new(move || backend.open(&address, &collection, &whole)),
        };
        Ok(Arc::new(WrongCollection::new(inner, sight, beyond, self.flaw)))
    }
}

impl Backend for WrongBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        self.inner.descriptor()
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        if self.flaw == BackendFlaw::CreatesOnOpen {
            return self.create(palace, collection, CreateMode::OpenExisting, options);
        }
        let options = self.misread_options(options);
        let inner = self
            .inner
            .open(&self.mistake_palace(palace), collection, &options)?;
        self.wrap_collection(inner, palace, collection, &options)
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let options = self.misread_options(options);
        let exists = || {
            let listed = self.inner.collections(palace).unwrap_or_default();
            listed.iter().any(|info| info.name == *collection)
        };
        let mode = match self.flaw {
            BackendFlaw::OpensOnExclusiveCreate => CreateMode::OpenExisting,
            BackendFlaw::ChecksBeforeItCreates if !exists() => {
                std::thread::yield_now();
                CreateMode::OpenExisting
            }
            _ => mode,
        };
        let palace_meant = self.mistake_palace(palace);
        let inner = self.inner.create(&palace_meant, collection, mode, &options)?;
        if let (BackendFlaw::ForgetsTheFiles, Some(folder)) = (self.flaw, &palace.local_path) {
            fs::create_dir_all(folder).expect("a temporary folder can be made");
        }
        self.wrap_collection(inner, palace, collection, &options)
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        self.inner
            .drop_collection(&self.mistake_palace(palace), collection)
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.inner.collections(&self.mistake_palace(palace))
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        if self.flaw == BackendFlaw::NamesEveryPalaceAlike {
            return Ok(Some(PalaceId([7; 16])));
        }
        self.inner.palace_id(&self.mistake_palace(palace))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        self.inner.health(palace)
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        if self.flaw == BackendFlaw::AlwaysListsDamage {
            return vec![PalaceFinding::new("x", FindingSeverity::Error, "x")];
        }
        self.inner.list_damage(palace)
    }

    fn close_palace(&self, palace: &PalaceRef) {
        self.inner.close_palace(&self.mistake_palace(palace));
    }

    fn close(&self) {
        if self.flaw != BackendFlaw::AnswersAfterClose {
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
