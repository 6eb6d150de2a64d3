//! One simulated process: it opens the palace, takes steps that the seed chooses, and notes what it was told.

mod steps;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Backend, Collection, CollectionExt, CollectionName, CreateMode, Cursor, EmbedderIdentity, Error,
    ErrorKind, GetRequest, MetadataScalar, MetadataValue, OpenOptions, PalaceRef, Result,
};
use loci_store::EmbeddedBackend;
use loci_testkit::SeededRandom;

use crate::content::{DIMENSION, counter_id};
use crate::exchange::FileExchange;
use crate::history::{BatchFate, COLLECTIONS, HistoryBook};
use crate::machine::ProcessMachine;
use crate::workload::ProcessStep;
use crate::world::SimWorld;
use crate::{stock, vfs};

/// A process gives up after failing to open the palace so many times in a row.
const ATTEMPTS: usize = 6;

/// Before one of so many steps, files are exchanged.
const EXCHANGE_ONE_IN: usize = 6;

/// The folder of the palace on the simulated disk.
pub(crate) const PALACE: &str = "palace";

/// A process that runs on a machine of its own thread.
pub(crate) struct SimProcess {
    world: Arc<SimWorld>,
    process: usize,
    random: SeededRandom,
    history: Arc<Mutex<HistoryBook>>,
    /// The name of the file layer.
    layer: &'static str,
    backend: EmbeddedBackend,
    handles: [Option<Arc<dyn Collection>>; COLLECTIONS.len()],
    /// The batch of each collection whose outcome this process does not know yet.
    unknown: [Option<usize>; COLLECTIONS.len()],
}

/// Returns the options with which every process opens a collection.
pub(crate) fn open_options() -> OpenOptions {
    OpenOptions {
        embedder: Some(EmbedderIdentity {
            model: "test".into(),
            revision: "1".into(),
            dimension: DIMENSION,
        }),
        ..OpenOptions::for_writing()
    }
}

pub(crate) fn collection_name(collection: usize) -> CollectionName {
    CollectionName::new(COLLECTIONS[collection]).expect("the name is plain")
}

impl SimProcess {
    pub(crate) fn new(
        world: Arc<SimWorld>,
        process: usize,
        random: SeededRandom,
        history: Arc<Mutex<HistoryBook>>,
    ) -> Self {
        let layer = vfs::attach_process(process, Some(Arc::clone(&world)));
        Self {
            world,
            process,
            random,
            history,
            layer,
            backend: EmbeddedBackend::over_vfs(layer),
            handles: Default::default(),
            unknown: Default::default(),
        }
    }

    /// Takes `steps` steps, unless the power fails or the palace cannot be opened any more.
    pub(crate) fn run(mut self, steps: usize, exchanges: bool) {
        let machine = Rc::new(ProcessMachine {
            world: Arc::clone(&self.world),
            process: self.process,
        });
        loci_store::testing::run_on(Some(machine));
        self.world.begin_process(self.process);
        for _ in 0..steps {
            let step = ProcessStep::choose(&mut self.random);
            if exchanges && self.random.below(EXCHANGE_ONE_IN) == 0 {
                self.exchange_files();
            }
            self.note(format!("begins {step:?}"));
            self.take_step(step);
            if self.world.lock().dark {
                break;
            }
            if self.world.is_dead(self.process) {
                self.start_anew();
            }
        }
        self.close();
        loci_store::testing::run_on(None);
        self.world.finish_process(self.process);
    }

    fn note(&self, text: String) -> u64 {
        let mut state = self.world.lock();
        let (process, clock) = (self.process, state.clock);
        state
            .trace
            .add_line(format_args!("p{process} {clock} us: {text}"));
        state.trace.count_lines()
    }

    fn book(&self) -> MutexGuard<'_, HistoryBook> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn palace_folder(&self) -> PathBuf {
        self.world.folder().join(PALACE)
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::local(self.palace_folder())
    }

    /// Closes the palace in order; a dead process only lets go of it.
    fn close(&mut self) {
        self.handles = Default::default();
        self.backend.close();
    }

    fn reopen(&mut self) {
        self.close();
        self.backend = EmbeddedBackend::over_vfs(self.layer);
    }

    /// Exchanges files of the palace, as a user would behind the store's back.
    fn exchange_files(&mut self) {
        let exchange = FileExchange::choose(&mut self.random);
        if exchange.takes_log() && !self.book().opened || !exchange.carry_out(&self.world) {
            return;
        }
        let now = self.note(format!("exchanges files: {exchange:?}"));
        let mut book = self.book();
        book.count(format!("exchange: {exchange:?}"));
        book.exchanged = Some(now);
        if exchange == FileExchange::ReplaceDatabase {
            book.begin_other_palace(&stock::other_palace().base);
        }
    }

    /// Goes on as a new process after a kill.
    fn start_anew(&mut self) {
        self.reopen();
        self.world.revive(self.process);
        self.note("starts anew".to_owned());
    }

    /// Judges an error by what may go wrong here; returns whether the process is still alive.
    fn judge_error(&mut self, during: &str, error: &Error) -> bool {
        let (dead, faults) = {
            let state = self.world.lock();
            (state.is_dead(self.process), state.faults)
        };
        self.note(format!("{during} fails: {}", error.kind().name()));
        if dead {
            self.book().count(format!("{during}: dead"));
            return false;
        }
        let expected = match error.kind() {
            _ if self.book().exchanged.is_some() => true,
            ErrorKind::Locked | ErrorKind::TimedOut => true,
            ErrorKind::Io | ErrorKind::Poisoned => faults > 0,
            // A copy that cannot be read back is unsound, and a moment ends with the first page that cannot be read.
            ErrorKind::Corrupt => faults > 0 && matches!(during, "copy" | "read"),
            _ => false,
        };
        let mut book = self.book();
        book.count(format!("{during}: {}", error.kind().name()));
        if !expected {
            book.violate(format!("{during} fails without a reason: {error:?}"));
        }
        true
    }

    /// Returns an open handle whose last batch has a known outcome; `None` if that fails for good.
    fn handle(&mut self, collection: usize) -> Option<Arc<dyn Collection>> {
        for _ in 0..ATTEMPTS {
            match self.try_handle(collection) {
                Ok(handle) => return Some(handle),
                Err(error) => {
                    if !self.judge_error("open", &error) {
                        return None;
                    }
                    self.reopen();
                }
            }
        }
        None
    }

    fn try_handle(&mut self, collection: usize) -> Result<Arc<dyn Collection>> {
        if self.handles[collection].is_none() {
            let replaced = self.book().replaced;
            let handle = self.backend.create(
                &self.palace(),
                &collection_name(collection),
                CreateMode::OpenExisting,
                &open_options(),
            )?;
            let mut book = self.book();
            book.opened = true;
            // A file that lost its name meanwhile still answers for what it holds, and the one that took its name need
            // not hold it. A collection that was made is another matter: the commit finds that the name leads elsewhere.
            if book.replaced == replaced {
                book.bases[collection].exists = true;
            }
            drop(book);
            self.handles[collection] = Some(handle);
        }
        let handle = Arc::clone(self.handles[collection].as_ref().expect("it was opened above"));
        if let Some(entry) = self.unknown[collection] {
            let number = self.book().batches[entry].number;
            let fate = find_fate(&*handle, self.process, number)?;
            self.note(format!("finds its last batch {fate:?}"));
            self.book().batches[entry].fate = fate;
            self.unknown[collection] = None;
        }
        Ok(handle)
    }
}

/// Looks up whether the last batch of a process was applied.
fn find_fate(handle: &dyn Collection, process: usize, number: u64) -> Result<BatchFate> {
    let (found, seq) = read_counter(handle, process)?;
    Ok(if found == number {
        BatchFate::Applied(seq)
    } else {
        BatchFate::Absent
    })
}

/// Returns the number in the counter of a process and the sequence number it was written at; zeros without one.
pub(crate) fn read_counter(handle: &dyn Collection, process: usize) -> Result<(u64, u64)> {
    let id = counter_id(process);
    let found = handle.get(&GetRequest::by_ids([id.clone()]))?.pop();
    let number = found.and_then(|drawer| match drawer.metadata?.get("number") {
        Some(MetadataValue::One(MetadataScalar::Int(number))) => u64::try_from(*number).ok(),
        _ => None,
    });
    let Some(number) = number else { return Ok((0, 0)) };
    let changes = handle
        .require_feed()?
        .changes_since(Cursor(0), usize::MAX >> 1)?
        .changes;
    let change = changes.iter().rev().find(|change| change.id == id);
    Ok((number, change.map_or(0, |change| change.seq)))
}
