//! One simulated process as the store sees it: its clocks, its sleeps, and its few steps on files without SQLite.

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use loci_store::testing::{FileStep, SimulatedMachine};
use rusqlite::Connection;

use crate::fault::{CallFate, CallKind};
use crate::world::SimWorld;

/// The time of day at which every machine is built, in seconds since 1970.
const BUILT: u64 = 1_800_000_000;

/// The machine as one process uses it.
pub(crate) struct ProcessMachine {
    pub(crate) world: Arc<SimWorld>,
    pub(crate) process: usize,
}

impl ProcessMachine {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.world.lock().clock)
    }

    fn name(&self, path: &Path) -> String {
        self.world.name_on_disk(path).unwrap_or_default()
    }
}

impl SimulatedMachine for ProcessMachine {
    fn time_of_day(&self) -> Duration {
        Duration::from_secs(BUILT) + self.elapsed()
    }

    fn instant(&self) -> Instant {
        // An instant cannot be made from a number, so all are counted from a real one.
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        *BEGAN.get_or_init(Instant::now) + self.elapsed()
    }

    fn sleep(&self, pause: Duration) {
        self.world.sleep(self.process, pause);
    }

    fn take_step(&self, step: FileStep<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let kind = match step {
            FileStep::Sync(_) | FileStep::SyncFolder(_) => CallKind::Sync,
            FileStep::Link { .. } => CallKind::Open,
            FileStep::Remove(_) => CallKind::Delete,
        };
        let (mut state, fate) = self.world.begin_call(self.process, kind);
        if fate != CallFate::Proceed {
            return Err(io::Error::other("a simulated fault"));
        }
        let done = act();
        let process = self.process;
        let (what, path) = match step {
            FileStep::Sync(path) => ("sync", path),
            FileStep::SyncFolder(path) => ("sync folder", path),
            FileStep::Link { from, .. } => ("link", from),
            FileStep::Remove(path) => ("remove", path),
        };
        let name = self.name(path);
        state
            .trace
            .add_line(format_args!("p{process} {what} {name} {}", done.is_ok()));
        if done.is_ok() {
            match step {
                FileStep::Sync(path) => {
                    let file = state.disk.find_file(&name, path)?;
                    state.disk.sync(file);
                }
                FileStep::SyncFolder(_) => state.disk.sync_folder(&name),
                FileStep::Link { from, to } => {
                    let file = state.disk.find_file(&name, from)?;
                    state.disk.link(file, &self.name(to));
                }
                FileStep::Remove(_) => state.disk.remove_name(&name),
            }
        }
        done
    }

    fn tune_connection(&self, connection: &Connection) {
        // Small palaces never fill the log that a real one is checkpointed at.
        let pages = self.world.checkpoint_pages;
        let _ = connection.execute_batch(&format!("PRAGMA wal_autocheckpoint = {pages}"));
    }
}
