//! A plug-in as a backend.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Collection, CollectionInfo, CollectionName, CreateMode,
    Doctor, Error, OpenOptions, PalaceFinding, PalaceId, PalaceRef, Result, SnapshotStore,
};
use serde::de::DeserializeOwned;

use super::checks::{check_options, check_palace, check_writable};
use super::collection::PluginCollection;
use super::errors::broken_error;
use super::link::{PluginLink, ValueListener};
use super::options::PluginOptions;
use super::process::PluginProcess;
use super::reader::take_rows;
use super::talk::{AnswerListener, CallPlan};
use crate::wire::WireResult;
use crate::wire::answer::{OpenedAnswer, WireFinding, WireHealth, WireInfo};
use crate::wire::call::WireCall;
use crate::wire::request::{WireOptions, WirePalace};

/// A backend that runs as a program of its own.
///
/// A plug-in that hangs, ends, floods, answers twice, answers garbage or lies about lengths costs an error that names
/// it, within the times of [`PluginOptions`]; memory stays within its sizes. A process that ended is started again by
/// the next call, and once within a call that may be repeated: a read, or a write under an idempotency key. An open
/// collection is then opened again with the options it had; a moment is not. The process ends with the backend and the
/// last of its collections.
#[derive(Debug)]
pub struct PluginBackend {
    link: Arc<PluginLink>,
    palaces: Mutex<HashMap<PalaceRef, Arc<AtomicBool>>>,
}

impl PluginBackend {
    /// Starts the plug-in `program` under the name that users type, and learns what it offers. No palace is touched.
    ///
    /// Another major version of the protocol or the contract is refused by name.
    pub fn start(
        name: &str,
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = String>,
        options: PluginOptions,
    ) -> Result<Self> {
        let arguments = arguments.into_iter().collect();
        Ok(Self {
            link: Arc::new(PluginLink::start(name, program.into(), arguments, options)?),
            palaces: Mutex::default(),
        })
    }

    /// Returns the plug-in's own version.
    pub fn version(&self) -> &str {
        &self.link.version
    }

    /// Returns the operating system's number of the running process, if there is one.
    pub fn process_id(&self) -> Option<u32> {
        self.link.living_process().map(|process| process.process_id())
    }

    fn plan(&self, name: &'static str, writes: bool, wait: Duration) -> CallPlan {
        CallPlan {
            name,
            repeats: !writes,
            writes,
            reports: false,
            time: self.link.options.call_time.saturating_add(wait),
        }
    }

    /// Returns the flag that closes the handles on a palace; a palace opened again after a close gets a new one.
    fn lease_palace(&self, palace: &PalaceRef) -> Arc<AtomicBool> {
        let mut palaces = self.palaces.lock().expect("no holder of this lock panics");
        Arc::clone(palaces.entry(palace.clone()).or_default())
    }

    fn open_handle(
        &self,
        plan: &CallPlan,
        (palace, collection, options): (&PalaceRef, &CollectionName, OpenOptions),
        make: impl Fn(WirePalace) -> WireCall<'static>,
    ) -> Result<Arc<dyn Collection>> {
        let mut answer = ValueListener::<OpenedAnswer>(None);
        let mut holder: Option<Arc<PluginProcess>> = None;
        let mut encode = || {
            let process = self.link.process()?;
            holder = Some(Arc::clone(&process));
            let bytes = self
                .link
                .encode_call(&process, plan, make(WirePalace::new(palace)?), &[])?;
            Ok((process, bytes))
        };
        self.link.call(plan, &mut encode, &mut answer)?;
        let opened = answer.into_value(self.link.name())?;
        let process = holder.ok_or_else(|| broken_error(self.link.name(), "it has no process"))?;
        let closed = self.lease_palace(palace);
        let place = (palace, collection, options);
        Ok(Arc::new(PluginCollection::new(
            Arc::clone(&self.link),
            &process,
            place,
            opened,
            closed,
        )))
    }

    fn ask_rows<R: DeserializeOwned + Into<T>, T>(
        &self,
        plan: &CallPlan,
        make: impl Fn() -> Result<WireCall<'static>>,
    ) -> Result<Vec<T>> {
        let mut answer = PlainRows::<R>(Vec::new());
        let mut encode = || {
            let process = self.link.process()?;
            let bytes = self.link.encode_call(&process, plan, make()?, &[])?;
            Ok((process, bytes))
        };
        self.link.call(plan, &mut encode, &mut answer)?;
        Ok(answer.0.into_iter().map(Into::into).collect())
    }
}

/// Takes rows without vectors.
struct PlainRows<R>(Vec<R>);

impl<R: DeserializeOwned> AnswerListener for PlainRows<R> {
    fn start_over(&mut self) {
        self.0.clear();
    }

    fn take_body(&mut self, body: &[u8]) -> WireResult<()> {
        take_rows(body, &mut self.0, &|row: R, _| Ok(row))
    }
}

impl Backend for PluginBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.link.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.link.check_open()?;
        check_options(&self.link.descriptor, options, options.writable)?;
        check_palace(&self.link.descriptor, palace)?;
        let plan = self.plan("open", false, options.wait);
        self.open_handle(&plan, (palace, collection, options.clone()), |palace| {
            WireCall::Open {
                palace,
                collection: collection.to_string(),
                options: WireOptions::new(options),
            }
        })
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.link.check_open()?;
        check_options(&self.link.descriptor, options, true)?;
        check_palace(&self.link.descriptor, palace)?;
        let plan = CallPlan {
            // Of two exclusive creations the second is refused, although it is the same.
            repeats: mode == CreateMode::OpenExisting,
            ..self.plan("create", true, options.wait)
        };
        let writable = OpenOptions {
            writable: true,
            ..options.clone()
        };
        self.open_handle(&plan, (palace, collection, writable), |palace| WireCall::Create {
            palace,
            collection: collection.to_string(),
            mode: mode.into(),
            options: WireOptions::new(options),
        })
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        self.link.check_open()?;
        check_writable(&self.link.descriptor)?;
        check_palace(&self.link.descriptor, palace)?;
        self.link
            .ask(&self.plan("drop_collection", true, Duration::ZERO), || {
                Ok(WireCall::DropCollection {
                    palace: WirePalace::new(palace)?,
                    collection: collection.to_string(),
                })
            })
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.link.check_open()?;
        check_palace(&self.link.descriptor, palace)?;
        let plan = self.plan("collections", false, Duration::ZERO);
        self.ask_rows::<WireInfo, _>(&plan, || {
            Ok(WireCall::Collections {
                palace: WirePalace::new(palace)?,
            })
        })
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        self.link.check_open()?;
        check_palace(&self.link.descriptor, palace)?;
        let id: Option<String> = self
            .link
            .ask(&self.plan("palace_id", false, Duration::ZERO), || {
                Ok(WireCall::PalaceId {
                    palace: WirePalace::new(palace)?,
                })
            })?;
        let parse = |id: String| -> Result<PalaceId> {
            let words = || broken_error(self.link.name(), &format!("{id:?} is not the id of a palace"));
            PalaceId::parse(&id).ok_or_else(words)
        };
        id.map(parse).transpose()
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let asked = self.link.check_open().and_then(|()| {
            self.link
                .ask::<WireHealth>(&self.plan("health", false, Duration::ZERO), || {
                    Ok(WireCall::Health {
                        palace: palace.map(WirePalace::new).transpose()?,
                    })
                })
        });
        match asked {
            Ok(health) => health.into(),
            Err(error) => BackendHealth {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        // A process that does not run has met no damage, and none is started to say so.
        if self.link.living_process().is_none() {
            return Vec::new();
        }
        let plan = self.plan("list_damage", false, Duration::ZERO);
        let listed = self.ask_rows::<WireFinding, _>(&plan, || {
            Ok(WireCall::ListDamage {
                palace: WirePalace::new(palace)?,
            })
        });
        listed.unwrap_or_default()
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let closed = self
            .palaces
            .lock()
            .expect("no holder of this lock panics")
            .remove(palace);
        if let Some(closed) = closed {
            closed.store(true, Ordering::SeqCst);
        }
        if self.link.living_process().is_none() {
            return;
        }
        let asked = self
            .link
            .ask::<()>(&self.plan("close_palace", false, Duration::ZERO), || {
                Ok(WireCall::ClosePalace {
                    palace: WirePalace::new(palace)?,
                })
            });
        // The handles are closed here in any case; what a process held is released when it ends.
        drop::<std::result::Result<(), Error>>(asked);
    }

    fn close(&self) {
        self.link.close();
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        // A plug-in keeps its palaces where only it knows; files are no part of the protocol.
        None
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}
