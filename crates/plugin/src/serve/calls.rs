//! Each call of the contract, made on the backend.

use std::borrow::Cow;
use std::time::Duration;

use loci_core::{
    ApplyRequest, Collection, CollectionExt as _, CollectionName, Cursor, Drawer, EmbedderIdentity, Error,
    FacetRequest, IdempotencyKey, IdentityChange, MaintenanceKind, QueryPrecision, Result, SourceRevision,
    VectorFill, Visibility,
};

use super::answering::{CallAnswering, cancelled};
use super::handles::{ReaderAnswer, ReaderQuestion};
use super::host_error;
use crate::frame::BlobReader;
use crate::wire::WireResult;
use crate::wire::answer::{
    OpenedAnswer, WireChanges, WireFacet, WireFillReport, WireFinding, WireHealth, WireInfo, WireOutcome,
    WireRecord, WireSpace, WireUnembedded,
};
use crate::wire::call::{HandleNumber, WireCall, WireFill, WireRevision};
use crate::wire::drawer::WireDrawer;
use crate::wire::request::{WireBudget, WirePalace};
use crate::wire::upkeep::{WirePurge, WireTrace, WireUpkeep, WireUpkeepReport};
use crate::wire::write::{WireWrite, read_batch};

/// A batch as it travels, with its conditions.
struct WireBatch<'a> {
    writes: Vec<WireWrite<'a>>,
    expects: Vec<WireDrawer<'a>>,
    key: Option<Cow<'a, str>>,
}

/// The bytes of a row whose size hardly varies, about.
const SMALL_ROW: usize = 200;

impl CallAnswering<'_> {
    /// Makes one call and answers it.
    pub(super) fn run(&self, call: WireCall<'_>, blob: BlobReader<'_>) -> Result<()> {
        if self.inbox.is_given_up() {
            return Err(cancelled());
        }
        match call {
            WireCall::Get { handle, request } => {
                self.read(handle, ReaderQuestion::Get(request.parse().map_err(host_error)?))
            }
            WireCall::Query { handle, request } => {
                let mut blob = blob;
                let request = request.parse(&mut blob).map_err(host_error)?;
                self.read(handle, ReaderQuestion::Query(request))
            }
            WireCall::Lexical { handle, request } => self.read(
                handle,
                ReaderQuestion::Lexical(request.parse().map_err(host_error)?),
            ),
            WireCall::Count { handle, request } => self.read(
                handle,
                ReaderQuestion::Count(request.parse().map_err(host_error)?),
            ),
            WireCall::Facets { handle, by, request } => {
                let condition = request.parse().map_err(host_error)?;
                let request = FacetRequest {
                    by,
                    filter: condition.filter,
                    document: condition.document,
                };
                self.read(handle, ReaderQuestion::Facets(request))
            }
            WireCall::Info { handle } => self.read(handle, ReaderQuestion::Info),
            WireCall::Apply {
                handle,
                writes,
                key,
                expects,
                budget_us,
            } => {
                let batch = WireBatch { writes, expects, key };
                self.apply(handle, batch, budget_us, blob)
            }
            WireCall::Revise { handle, revisions } => self.revise(handle, revisions),
            WireCall::FillVectors {
                handle,
                identity,
                fills,
            } => self.fill(handle, &identity, fills, blob),
            other => self.run_backend_call(other),
        }
    }

    /// Makes a call on the backend as a whole.
    fn run_backend_call(&self, call: WireCall<'_>) -> Result<()> {
        let backend = &self.session.backend;
        match call {
            WireCall::Open {
                palace,
                collection,
                options,
            } => {
                let options = options.parse().map_err(host_error)?;
                let opened =
                    backend.open(&palace.into_palace(), &CollectionName::new(collection)?, &options)?;
                self.answer_opened(opened)
            }
            WireCall::Create {
                palace,
                collection,
                mode,
                options,
            } => {
                let options = options.parse().map_err(host_error)?;
                let name = CollectionName::new(collection)?;
                let opened = backend.create(&palace.into_palace(), &name, mode.into(), &options)?;
                self.answer_opened(opened)
            }
            WireCall::DropCollection { palace, collection } => {
                let name = CollectionName::new(collection)?;
                self.answer(backend.drop_collection(&palace.into_palace(), &name)?)
            }
            WireCall::Collections { palace } => {
                let infos = backend.collections(&palace.into_palace())?;
                self.answer_rows::<_, WireInfo>(infos, |_| SMALL_ROW)
            }
            WireCall::PalaceId { palace } => {
                let id = backend.palace_id(&palace.into_palace())?;
                self.answer(id.map(|id| id.to_string()))
            }
            WireCall::Health { palace } => {
                let palace = palace.map(WirePalace::into_palace);
                self.answer(WireHealth::from(backend.health(palace.as_ref())))
            }
            WireCall::ListDamage { palace } => {
                let damage = backend.list_damage(&palace.into_palace());
                self.answer_rows::<_, WireFinding>(damage, |_| SMALL_ROW)
            }
            WireCall::ClosePalace { palace } => {
                backend.close_palace(&palace.into_palace());
                self.answer(())
            }
            other => self.run_collection_call(other),
        }
    }

    /// Makes a call on one collection.
    fn run_collection_call(&self, call: WireCall<'_>) -> Result<()> {
        let handles = &self.session.handles;
        match call {
            WireCall::Release { handle } => {
                handles.release(handle);
                self.answer(())
            }
            WireCall::Moment { handle } => self.answer(handles.open_moment(handle)?),
            WireCall::SetIdentity {
                handle,
                identity,
                force,
            } => {
                let why = if force {
                    IdentityChange::Force
                } else {
                    IdentityChange::Confirm
                };
                self.answer(handles.collection(handle)?.set_identity(&identity, why)?)
            }
            WireCall::ListSpaces { handle } => {
                let listed = handles.collection(handle)?.require_spaces()?.list_spaces()?;
                self.answer_rows::<_, WireSpace>(listed, |_| SMALL_ROW)
            }
            WireCall::TakeStep { handle, step } => {
                let after = handles
                    .collection(handle)?
                    .require_spaces()?
                    .take_step(&step.into())?;
                self.answer_rows::<_, WireSpace>(after, |_| SMALL_ROW)
            }
            WireCall::ListPending { handle, request } => {
                let pending = handles
                    .collection(handle)?
                    .require_spaces()?
                    .list_pending(&request.into())?;
                self.answer_rows::<_, WireUnembedded>(pending, WireUnembedded::estimated_bytes)
            }
            WireCall::FindRecords { handle, request } => {
                let records = handles
                    .collection(handle)?
                    .require_sources()?
                    .find_records(&request.into())?;
                self.answer_rows::<_, WireRecord>(records, WireRecord::estimated_bytes)
            }
            WireCall::ChangesSince {
                handle,
                cursor,
                limit,
            } => {
                let collection = handles.collection(handle)?;
                let page = collection.require_feed()?.changes_since(Cursor(cursor), limit)?;
                self.answer(WireChanges::from(page))
            }
            other => self.run_upkeep_call(other),
        }
    }

    /// Makes a call on the maintenance or the eraser of one collection.
    fn run_upkeep_call(&self, call: WireCall<'_>) -> Result<()> {
        let handles = &self.session.handles;
        let missing = || Visibility::whole_collection_error("erasure");
        match call {
            WireCall::MaintenanceState { handle } => {
                let state = handles.collection(handle)?.require_upkeep()?.state()?;
                self.answer(WireUpkeep::from(state))
            }
            WireCall::RunMaintenance { handle, kind } => {
                let kind = MaintenanceKind::from_name(kind);
                let report = handles.collection(handle)?.require_upkeep()?.run(&kind)?;
                self.answer(WireUpkeepReport::from(report))
            }
            WireCall::ChoosePrecision { handle, precision } => {
                let known = QueryPrecision::ALL
                    .into_iter()
                    .find(|known| known.name() == precision);
                let known = known
                    .ok_or_else(|| Error::invalid(format!("{precision:?} is not a precision of queries")))?;
                let report = handles
                    .collection(handle)?
                    .require_upkeep()?
                    .choose_precision(known)?;
                self.answer(WireUpkeepReport::from(report))
            }
            WireCall::BeginErasure { handle } => {
                let collection = handles.collection(handle)?;
                self.answer(collection.eraser().ok_or_else(missing)?.begin()?)
            }
            WireCall::IsUnfinished { handle } => {
                let collection = handles.collection(handle)?;
                self.answer(collection.eraser().ok_or_else(missing)?.is_unfinished()?)
            }
            WireCall::Purge { handle } => {
                let collection = handles.collection(handle)?;
                let eraser = collection.eraser().ok_or_else(missing)?;
                let report = eraser.purge(&mut |done, total| self.report(done, total))?;
                self.answer(WirePurge::from(report))
            }
            WireCall::FindTraces { handle, texts } => {
                let collection = handles.collection(handle)?;
                let eraser = collection.eraser().ok_or_else(missing)?;
                let found = eraser.find_traces(&texts, &mut |done, total| self.report(done, total))?;
                self.answer_rows::<_, WireTrace>(found, |_| SMALL_ROW)
            }
            _ => Err(Error::invalid("this call was taken apart before")),
        }
    }

    fn answer_opened(&self, collection: std::sync::Arc<dyn Collection>) -> Result<()> {
        let model = collection.model().into();
        let metric = collection.info()?.metric;
        let handle = self.session.handles.add_collection(collection);
        self.answer(OpenedAnswer {
            handle,
            model,
            metric,
        })
    }

    fn read(&self, handle: HandleNumber, question: ReaderQuestion) -> Result<()> {
        match self.session.handles.ask(handle, question)? {
            ReaderAnswer::Drawers(drawers) => self.answer_drawers(&drawers),
            ReaderAnswer::Hits(lists) => self.answer_hits(&lists),
            ReaderAnswer::Count(count) => self.answer(count),
            ReaderAnswer::Facets(facets) => self.answer_rows::<_, WireFacet>(facets, |_| SMALL_ROW),
            ReaderAnswer::Info(info) => self.answer(WireInfo::from(info)),
        }
    }

    fn apply(
        &self,
        handle: HandleNumber,
        batch: WireBatch<'_>,
        budget: Option<WireBudget>,
        blob: BlobReader<'_>,
    ) -> Result<()> {
        let writes = read_batch(batch.writes, blob).map_err(host_error)?;
        let key = batch.key.as_deref().map(IdempotencyKey::new).transpose()?;
        let mut no_vectors = BlobReader::default();
        let expects = batch.expects.into_iter();
        let expects = expects.map(|drawer| drawer.into_drawer(&mut no_vectors));
        let expects: Vec<Drawer> = expects.collect::<WireResult<_>>().map_err(host_error)?;
        let request = ApplyRequest {
            writes: &writes,
            key: key.as_ref(),
            expects: &expects,
            budget: budget.map(|budget| -> Duration { budget.duration() }),
        };
        self.answer(self.session.handles.collection(handle)?.apply(&request)?)
    }

    fn revise(&self, handle: HandleNumber, revisions: Vec<WireRevision<'_>>) -> Result<()> {
        let collection = self.session.handles.collection(handle)?;
        let revisions = revisions
            .into_iter()
            .enumerate()
            .map(|(number, revision)| SourceRevision {
                source: revision.source.into_owned(),
                expects: revision.expects,
                stamp: revision.stamp.map(std::borrow::Cow::into_owned),
                parts: Box::new(std::iter::from_fn(move || self.next_part(number)).fuse()),
            });
        let outcomes = collection.require_sources()?.revise(revisions.collect())?;
        self.answer_rows::<_, WireOutcome>(outcomes, WireOutcome::estimated_bytes)
    }

    fn fill(
        &self,
        handle: HandleNumber,
        identity: &EmbedderIdentity,
        fills: Vec<WireFill<'_>>,
        mut blob: BlobReader<'_>,
    ) -> Result<()> {
        let fills = fills.into_iter().map(|fill| fill.into_fill(&mut blob));
        let fills: Vec<VectorFill> = fills.collect::<WireResult<_>>().map_err(host_error)?;
        let collection = self.session.handles.collection(handle)?;
        let report = collection.require_spaces()?.fill_vectors(identity, &fills)?;
        self.answer(WireFillReport::from(report))
    }
}
