//! An open collection or moment of a plug-in.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loci_core::{
    ApplyRequest, Capability, ChangeFeed, Collection, CollectionInfo, CollectionName, CollectionReader,
    Drawer, DrawerCondition, DrawerHit, EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind,
    FacetCount, FacetRequest, GetRequest, IdentityChange, IdentityState, LexicalRequest, Maintenance, Metric,
    OpenOptions, PalaceRef, QueryRequest, Receipt, Result, SourceLedger, Visibility,
};

use super::checks::{check_budget, check_writable, check_writes};
use super::errors::closed_error;
use super::link::{PluginLink, ValueListener};
use super::process::PluginProcess;
use super::reader::{self, RemoteHandle, ask_value};
use super::talk::CallPlan;
use crate::wire::answer::OpenedAnswer;
use crate::wire::call::{HandleNumber, WireCall};
use crate::wire::drawer::WireDrawer;
use crate::wire::request::{WireBudget, WireOptions, WirePalace};
use crate::wire::write::wire_batch;

/// A collection in a plug-in.
pub(super) struct PluginCollection {
    pub(super) link: Arc<PluginLink>,
    palace: PalaceRef,
    name: CollectionName,
    /// Opens the same handle again in a new process.
    options: OpenOptions,
    model: IdentityState,
    metric: Metric,
    palace_closed: Arc<AtomicBool>,
    remote: Mutex<RemoteNumber>,
}

/// The number of a handle in one process.
#[derive(Debug, Clone, Copy)]
struct RemoteNumber {
    generation: u64,
    number: HandleNumber,
}

impl PluginCollection {
    pub(super) fn new(
        link: Arc<PluginLink>,
        process: &PluginProcess,
        (palace, name, options): (&PalaceRef, &CollectionName, OpenOptions),
        opened: OpenedAnswer,
        palace_closed: Arc<AtomicBool>,
    ) -> Self {
        let model: IdentityState = opened.model.into();
        // Settled now: opened again in a new process, the handle must not adopt a model that was recorded since.
        let embedder = options.declared_embedder(&model).embedder;
        Self {
            link,
            palace: palace.clone(),
            name: name.clone(),
            options: OpenOptions {
                embedder,
                adopts_model: false,
                ..options
            },
            model,
            metric: opened.metric,
            palace_closed,
            remote: Mutex::new(RemoteNumber {
                generation: process.generation,
                number: opened.handle,
            }),
        }
    }

    fn is_restricted(&self) -> bool {
        !self.options.visible.is_unrestricted()
    }

    fn offers(&self, capability: &Capability) -> bool {
        !self.is_restricted() && self.link.descriptor.has_capability(capability)
    }

    /// Refuses writes through a closed handle or one that only reads.
    pub(super) fn check_writing(&self) -> Result<()> {
        self.check_handle()?;
        check_writable(&self.link.descriptor)?;
        if self.options.writable {
            return Ok(());
        }
        let message = format!(
            "the collection {:?} was opened to be read only",
            self.name.as_str()
        );
        Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("nothing was changed; open it to be written"))
    }

    fn open_again(&self, process: &PluginProcess) -> Result<HandleNumber> {
        let plan = self.read_plan("open", None);
        let palace = WirePalace::new(&self.palace)?;
        let call = WireCall::Open {
            palace,
            collection: self.name.to_string(),
            options: WireOptions::new(&self.options),
        };
        let bytes = self.link.encode_call(process, &plan, call, &[])?;
        let mut answer = ValueListener::<OpenedAnswer>(None);
        super::talk::make_call(process, &self.link.options, &plan, bytes, &mut answer)
            .map_err(|fault| super::errors::call_error(self.link.name(), &plan, fault))?;
        Ok(answer.into_value(self.link.name())?.handle)
    }
}

impl fmt::Debug for PluginCollection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginCollection")
            .field("plugin", &self.link.name())
            .field("palace", &self.palace)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Drop for PluginCollection {
    fn drop(&mut self) {
        let remote = *self.remote.lock().expect("no holder of this lock panics");
        release_handle(&self.link, remote);
    }
}

/// Tells the process that a handle is no longer needed, if it still runs.
fn release_handle(link: &PluginLink, remote: RemoteNumber) {
    let process = link.living_process();
    let Some(process) = process.filter(|process| process.generation == remote.generation) else {
        return;
    };
    let plan = CallPlan {
        name: "release",
        repeats: false,
        writes: false,
        reports: false,
        time: link.options.call_time,
    };
    let call = WireCall::Release {
        handle: remote.number,
    };
    if let Ok(bytes) = link.encode_call(&process, &plan, call, &[]) {
        process.notify(bytes);
    }
}

impl RemoteHandle for PluginCollection {
    fn link(&self) -> &PluginLink {
        &self.link
    }

    fn check_handle(&self) -> Result<()> {
        self.link.check_open()?;
        if self.palace_closed.load(Ordering::SeqCst) {
            return Err(closed_error(&format!("the palace {:?}", self.palace.id)));
        }
        Ok(())
    }

    fn resolve(&self) -> Result<(Arc<PluginProcess>, HandleNumber)> {
        let process = self.link.process()?;
        // Held while it is opened again, so that it is opened once.
        let mut remote = self.remote.lock().expect("no holder of this lock panics");
        if remote.generation != process.generation {
            *remote = RemoteNumber {
                generation: process.generation,
                number: self.open_again(&process)?,
            };
        }
        Ok((process, remote.number))
    }

    fn survives(&self) -> bool {
        true
    }

    fn metric(&self) -> Metric {
        self.metric
    }
}

/// A moment in a plug-in. It ends with the process that holds it.
pub(super) struct PluginMoment<'a> {
    collection: &'a PluginCollection,
    process: Arc<PluginProcess>,
    number: HandleNumber,
}

impl fmt::Debug for PluginMoment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginMoment")
            .field("collection", self.collection)
            .finish_non_exhaustive()
    }
}

impl Drop for PluginMoment<'_> {
    fn drop(&mut self) {
        let remote = RemoteNumber {
            generation: self.process.generation,
            number: self.number,
        };
        release_handle(&self.collection.link, remote);
    }
}

impl RemoteHandle for PluginMoment<'_> {
    fn link(&self) -> &PluginLink {
        &self.collection.link
    }

    fn check_handle(&self) -> Result<()> {
        self.collection.check_handle()
    }

    fn resolve(&self) -> Result<(Arc<PluginProcess>, HandleNumber)> {
        // In a new process it would be another moment, and the reads before it would not agree with those after.
        Ok((Arc::clone(&self.process), self.number))
    }

    fn survives(&self) -> bool {
        false
    }

    fn metric(&self) -> Metric {
        self.collection.metric
    }
}

macro_rules! read_remotely {
    ($name:ty) => {
        impl CollectionReader for $name {
            fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
                reader::get(self, request)
            }

            fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
                reader::query(self, request)
            }

            fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
                reader::lexical(self, request)
            }

            fn count(&self, condition: &DrawerCondition) -> Result<u64> {
                reader::count(self, condition)
            }

            fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
                reader::facets(self, request)
            }

            fn info(&self) -> Result<CollectionInfo> {
                reader::info(self)
            }
        }
    };
}

read_remotely!(PluginCollection);
read_remotely!(PluginMoment<'_>);

impl Collection for PluginCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.check_writing()?;
        check_budget(request.budget)?;
        check_writes(&self.link.descriptor, request.writes, self.metric)?;
        if !request.expects.is_empty() {
            // A plug-in that does not know the field would ignore it, and overwrite.
            self.link
                .descriptor
                .require_capability(&Capability::ConditionalBatch)?;
        }
        let budgeted = self.read_plan("apply", request.budget);
        let plan = CallPlan {
            // Under a key a repetition is not applied again.
            repeats: request.key.is_some(),
            writes: true,
            time: match request.budget {
                Some(_) => budgeted.time,
                None => budgeted.time.saturating_add(self.options.wait),
            },
            ..budgeted
        };
        let mut answer = ValueListener(None);
        let mut encode = || {
            let (process, number) = self.resolve()?;
            let (writes, blob) = wire_batch(request.writes);
            let call = WireCall::Apply {
                handle: number,
                writes,
                key: request.key.map(|key| Cow::Borrowed(key.as_str())),
                expects: request.expects.iter().map(WireDrawer::without_vector).collect(),
                budget_us: WireBudget::new(request.budget),
            };
            let bytes = self.link.encode_call(&process, &plan, call, &blob)?;
            Ok((process, bytes))
        };
        self.link.call(&plan, &mut encode, &mut answer)?;
        answer.into_value(self.link.name())
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.check_writing()?;
        if self.is_restricted() {
            return Err(Visibility::whole_collection_error("recording a model"));
        }
        ask_value(self, &self.write_plan("set_identity"), |number| {
            WireCall::SetIdentity {
                handle: number,
                identity: identity.clone(),
                force: why == IdentityChange::Force,
            }
        })
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        self.check_handle()?;
        if !self.link.descriptor.has_capability(&Capability::Moment) {
            return Ok(None);
        }
        let mut answer = ValueListener::<Option<HandleNumber>>(None);
        let plan = self.read_plan("moment", None);
        let mut holder = None;
        let mut encode = || {
            let (process, number) = self.resolve()?;
            holder = Some(Arc::clone(&process));
            let bytes = self
                .link
                .encode_call(&process, &plan, WireCall::Moment { handle: number }, &[])?;
            Ok((process, bytes))
        };
        self.link.call(&plan, &mut encode, &mut answer)?;
        let number = answer.into_value(self.link.name())?;
        let moment = number.zip(holder).map(|(number, process)| PluginMoment {
            collection: self,
            process,
            number,
        });
        Ok(moment.map(|moment| -> Box<dyn CollectionReader + '_> { Box::new(moment) }))
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        self.offers(&Capability::Spaces).then_some(self)
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        self.offers(&Capability::Sources).then_some(self)
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        self.offers(&Capability::ChangeFeed).then_some(self)
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        let offered = !self.is_restricted() && !self.link.descriptor.maintenance.is_empty();
        offered.then_some(self)
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        self.offers(&Capability::Erasure).then_some(self)
    }
}
