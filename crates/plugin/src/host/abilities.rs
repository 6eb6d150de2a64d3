//! The optional abilities of a collection in a plug-in.

use std::borrow::Cow;

use loci_core::{
    Capability, ChangeFeed, ChangePage, Cursor, EmbedderIdentity, EmbeddingSpace, EmbeddingSpaces, Erasure,
    Error, ErrorKind, Maintenance, MaintenanceKind, MaintenanceReport, MaintenanceState, PendingRequest,
    PurgeReport, QueryPrecision, Result, RevisionOutcome, SourceLedger, SourceRecord, SourceRecordQuery,
    SourceRevision, StoredTrace, SwitchStep, UnembeddedDrawer, VectorFill, VectorFillReport, Write,
};
use serde::de::DeserializeOwned;

use super::checks::check_writes;
use super::collection::PluginCollection;
use super::errors::broken_error;
use super::link::{ValueListener, check_length};
use super::reader::{RemoteHandle, ask_rows, ask_value, call_handle, take_rows};
use super::talk::{AnswerListener, CallPlan};
use crate::frame::{FrameKind, encode_frame};
use crate::wire::WireResult;
use crate::wire::answer::{WireChanges, WireFillReport, WireOutcome, WireRecord, WireSpace, WireUnembedded};
use crate::wire::call::{HandleNumber, PartHeader, WireCall, WireFill, WireRevision};
use crate::wire::upkeep::{WirePurge, WireTrace, WireUpkeep, WireUpkeepReport};
use crate::wire::write::wire_batch;

impl PluginCollection {
    fn misread(&self, words: &str) -> Error {
        broken_error(self.link.name(), words)
    }

    /// Returns the plan of a write that reports as it goes.
    fn long_plan(&self, name: &'static str) -> CallPlan {
        CallPlan {
            reports: true,
            ..self.write_plan(name)
        }
    }
}

fn without_blob(call: WireCall<'static>) -> (WireCall<'static>, Vec<u8>) {
    (call, Vec::new())
}

impl EmbeddingSpaces for PluginCollection {
    fn list_spaces(&self) -> Result<Vec<EmbeddingSpace>> {
        self.check_handle()?;
        let plan = self.read_plan("list_spaces", None);
        let make = |handle| without_blob(WireCall::ListSpaces { handle });
        ask_rows(self, &plan, make, |row: WireSpace, _| row.into_space())
    }

    fn take_step(&self, step: &SwitchStep) -> Result<Vec<EmbeddingSpace>> {
        self.check_writing()?;
        let make = |handle| {
            without_blob(WireCall::TakeStep {
                handle,
                step: step.into(),
            })
        };
        ask_rows(self, &self.write_plan("take_step"), make, |row: WireSpace, _| {
            row.into_space()
        })
    }

    fn list_pending(&self, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>> {
        self.check_handle()?;
        let make = |handle| {
            without_blob(WireCall::ListPending {
                handle,
                request: request.into(),
            })
        };
        let plan = self.read_plan("list_pending", None);
        ask_rows(self, &plan, make, |row: WireUnembedded, _| row.into_drawer())
    }

    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[VectorFill]) -> Result<VectorFillReport> {
        self.check_writing()?;
        let plan = self.write_plan("fill_vectors");
        let mut answer = ValueListener::<WireFillReport>(None);
        let mut encode = || {
            let (process, handle) = self.resolve()?;
            let mut blob = Vec::new();
            let fills = vectors
                .iter()
                .map(|fill| WireFill::new(fill, &mut blob))
                .collect();
            let call = WireCall::FillVectors {
                handle,
                identity: identity.clone(),
                fills,
            };
            let bytes = self.link.encode_call(&process, &plan, call, &blob)?;
            Ok((process, bytes))
        };
        self.link.call(&plan, &mut encode, &mut answer)?;
        answer.into_value(self.link.name()).map(Into::into)
    }
}

impl SourceLedger for PluginCollection {
    fn find_records(&self, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>> {
        self.check_handle()?;
        request.check_request()?;
        let make = |handle| {
            without_blob(WireCall::FindRecords {
                handle,
                request: request.into(),
            })
        };
        let plan = self.read_plan("find_records", None);
        ask_rows(self, &plan, make, |row: WireRecord, _| row.into_record())
    }

    fn revise(&self, mut revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        self.check_writing()?;
        revisions.iter().try_for_each(SourceRevision::check_source)?;
        let (process, handle) = self.resolve()?;
        let plan = self.long_plan("revise");
        let forms = revisions.iter().map(|revision| WireRevision {
            source: Cow::Owned(revision.source.clone()),
            expects: revision.expects,
            stamp: revision.stamp.clone().map(Cow::Owned),
        });
        let call = WireCall::Revise {
            handle,
            revisions: forms.collect(),
        };
        let bytes = self.link.encode_call(&process, &plan, call, &[])?;
        let mut answer = RevisionListener {
            collection: self,
            frame_limit: &|bytes| check_length(self.link.name(), bytes, &process),
            revisions: &mut revisions,
            outcomes: Vec::new(),
            refusal: None,
        };
        let mut once = Some((std::sync::Arc::clone(&process), bytes));
        let mut encode = || once.take().ok_or_else(|| self.misread("a revision was repeated"));
        let called = self.link.call(&plan, &mut encode, &mut answer);
        // The reason why the host stopped, and not that it ended the plug-in for it.
        if let Some(refusal) = answer.refusal {
            return Err(refusal);
        }
        let outcomes = answer.outcomes;
        called?;
        if outcomes.len() != revisions.len() {
            return Err(self.misread("a list of revisions has another number of outcomes"));
        }
        Ok(outcomes)
    }
}

/// Feeds the parts of revisions to the plug-in and takes their outcomes.
struct RevisionListener<'a, 'r> {
    collection: &'a PluginCollection,
    frame_limit: &'a dyn Fn(&[u8]) -> Result<()>,
    revisions: &'a mut Vec<SourceRevision<'r>>,
    outcomes: Vec<RevisionOutcome>,
    /// The reason why a part cannot be sent.
    refusal: Option<Error>,
}

impl RevisionListener<'_, '_> {
    fn encode_part(&self, writes: Option<&[Write]>) -> Result<Vec<u8>> {
        let Some(writes) = writes else {
            return Ok(encode_frame(
                FrameKind::Part,
                0,
                &PartHeader { writes: None },
                &[],
            ));
        };
        check_writes(&self.collection.link.descriptor, writes, self.collection.metric())?;
        let (forms, blob) = wire_batch(writes);
        let bytes = encode_frame(FrameKind::Part, 0, &PartHeader { writes: Some(forms) }, &blob);
        (self.frame_limit)(&bytes)?;
        Ok(bytes)
    }
}

impl AnswerListener for RevisionListener<'_, '_> {
    fn start_over(&mut self) {
        self.outcomes.clear();
    }

    fn take_body(&mut self, body: &[u8]) -> WireResult<()> {
        take_rows(body, &mut self.outcomes, &|row: WireOutcome, _| Ok(row.into()))
    }

    fn make_part(&mut self, revision: usize) -> WireResult<Vec<u8>> {
        let asked = self.revisions.get_mut(revision);
        let asked =
            asked.ok_or_else(|| format!("it asked for part of revision {revision}, which there is not"))?;
        // Empty parts are skipped by contract; an empty batch by itself is refused.
        let part = asked.parts.find(|part| !part.is_empty());
        self.encode_part(part.as_deref()).map_err(|refusal| {
            let words = refusal.to_string();
            self.refusal = Some(refusal);
            words
        })
    }
}

impl ChangeFeed for PluginCollection {
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<ChangePage> {
        self.check_handle()?;
        let plan = self.read_plan("changes_since", None);
        let page: WireChanges = ask_value(self, &plan, |handle| WireCall::ChangesSince {
            handle,
            cursor: cursor.0,
            limit,
        })?;
        page.into_page().map_err(|words| self.misread(&words))
    }
}

impl Maintenance for PluginCollection {
    fn state(&self) -> Result<MaintenanceState> {
        self.check_handle()?;
        let plan = self.read_plan("maintenance_state", None);
        let state: WireUpkeep = ask_value(self, &plan, |handle| WireCall::MaintenanceState { handle })?;
        state.into_state().map_err(|words| self.misread(&words))
    }

    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.check_writing()?;
        if !self.link.descriptor.maintenance.contains(kind) {
            let message = format!(
                "the backend {:?} does not offer the maintenance {kind}",
                self.link.name()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let report: WireUpkeepReport = ask_value(self, &self.write_plan("run_maintenance"), |handle| {
            WireCall::RunMaintenance {
                handle,
                kind: Cow::Owned(kind.name().to_owned()),
            }
        })?;
        report.into_report(kind).map_err(|words| self.misread(&words))
    }

    fn choose_precision(&self, precision: QueryPrecision) -> Result<MaintenanceReport> {
        self.check_writing()?;
        let report: WireUpkeepReport = ask_value(self, &self.write_plan("choose_precision"), |handle| {
            WireCall::ChoosePrecision {
                handle,
                precision: Cow::Borrowed(precision.name()),
            }
        })?;
        let kind = MaintenanceKind::from_name(precision.name());
        report.into_report(&kind).map_err(|words| self.misread(&words))
    }
}

/// Takes one value and passes signs of progress on.
struct WatchedListener<'a, T> {
    value: ValueListener<T>,
    watch: &'a mut dyn FnMut(u64, u64),
}

impl<T: DeserializeOwned> AnswerListener for WatchedListener<'_, T> {
    fn start_over(&mut self) {
        self.value.start_over();
    }

    fn take_body(&mut self, body: &[u8]) -> WireResult<()> {
        self.value.take_body(body)
    }

    fn take_progress(&mut self, done: u64, total: u64) {
        (self.watch)(done, total);
    }
}

/// Takes traces and passes signs of progress on.
struct TraceListener<'a> {
    found: Vec<StoredTrace>,
    watch: &'a mut dyn FnMut(u64, u64),
}

impl AnswerListener for TraceListener<'_> {
    fn start_over(&mut self) {
        self.found.clear();
    }

    fn take_body(&mut self, body: &[u8]) -> WireResult<()> {
        take_rows(body, &mut self.found, &|row: WireTrace, _| Ok(row.into()))
    }

    fn take_progress(&mut self, done: u64, total: u64) {
        (self.watch)(done, total);
    }
}

impl Erasure for PluginCollection {
    fn begin(&self) -> Result<()> {
        self.check_writing()?;
        self.link.descriptor.require_capability(&Capability::Erasure)?;
        ask_value(self, &self.write_plan("begin_erasure"), |handle| {
            WireCall::BeginErasure { handle }
        })
    }

    fn is_unfinished(&self) -> Result<bool> {
        self.check_handle()?;
        let plan = self.read_plan("is_unfinished", None);
        ask_value(self, &plan, |handle| WireCall::IsUnfinished { handle })
    }

    fn purge(&self, watch: &mut dyn FnMut(u64, u64)) -> Result<PurgeReport> {
        self.check_writing()?;
        let mut answer = WatchedListener {
            value: ValueListener::<WirePurge>(None),
            watch,
        };
        let make = |handle: HandleNumber| without_blob(WireCall::Purge { handle });
        call_handle(self, &self.long_plan("purge"), &make, &mut answer)?;
        answer.value.into_value(self.link.name()).map(Into::into)
    }

    fn find_traces(&self, texts: &[String], watch: &mut dyn FnMut(u64, u64)) -> Result<Vec<StoredTrace>> {
        self.check_handle()?;
        let mut answer = TraceListener {
            found: Vec::new(),
            watch,
        };
        let plan = CallPlan {
            reports: true,
            ..self.read_plan("find_traces", None)
        };
        let make = |handle: HandleNumber| {
            without_blob(WireCall::FindTraces {
                handle,
                texts: Cow::Owned(texts.to_vec()),
            })
        };
        call_handle(self, &plan, &make, &mut answer)?;
        Ok(answer.found)
    }
}
