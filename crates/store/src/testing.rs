//! Access for tests only: arbitrary SQL on a palace file, with valid page checksums, and a simulated machine to run on.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use crate::disk::FileStep;
use loci_core::{PalaceRef, Result};
use rusqlite::Connection;

use crate::EmbeddedBackend;

/// Registers the checking VFS over `base` and returns the name to open connections with.
///
/// A statement run there can write states that no call of this crate would, such as duplicates or a foreign segment,
/// while the pages it touches keep valid checksums: the damage is one of meaning, not of bytes.
pub fn file_system(base: Option<&str>) -> Result<&'static str> {
    crate::vfs::register(base)
}

/// The parts of a machine that the store uses without SQLite: its clocks and a few steps on files.
pub trait SimulatedMachine {
    /// The time since 1970.
    fn time_of_day(&self) -> Duration;
    /// The present instant of a clock that only moves forward.
    fn instant(&self) -> Instant;
    /// Lets this much time pass.
    fn sleep(&self, pause: Duration);
    /// Takes a step on files by calling `act`, or fails in its place.
    fn take_step(
        &self,
        step: FileStep<'_>,
        act: &mut dyn FnMut() -> std::io::Result<()>,
    ) -> std::io::Result<()>;
    /// Sees each connection when it is opened, to give it smaller limits than a real one has.
    fn tune_connection(&self, connection: &Connection);
}

thread_local! {
    static MACHINE: RefCell<Option<Rc<dyn SimulatedMachine>>> = const { RefCell::new(None) };
}

/// Makes the store run on `machine` when called by this thread; on the real one without it.
pub fn run_on(machine: Option<Rc<dyn SimulatedMachine>>) {
    MACHINE.set(machine);
}

pub(crate) fn simulated_machine() -> Option<Rc<dyn SimulatedMachine>> {
    MACHINE.with_borrow(Clone::clone)
}

/// Keeps at most this many bytes of codes in memory from now on, so that small palaces are read as large ones are.
pub fn keep_codes_up_to(bytes: usize) {
    crate::palace::keep_codes_up_to(bytes);
}

/// Returns how many runs of pages were read past SQLite so far.
pub fn runs_read() -> usize {
    crate::vfs::runs_read()
}

/// Returns how many writers of a palace stand in line, the one whose turn it is included, if `backend` groups writes.
pub fn count_writers(backend: &EmbeddedBackend, palace: &PalaceRef) -> Result<usize> {
    let palace = backend.open_palace(palace, false)?;
    Ok(palace.writer_line().map_or(0, |line| line.count_writers()))
}
