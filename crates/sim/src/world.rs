//! The simulated machine: one clock, one disk and some processes, of which one runs at a time.
//!
//! Every process has a thread, and only the thread that holds the baton runs. At each call of the file layer the
//! seed decides whether the baton goes to another one, so the order of all calls follows from the seed alone.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_testkit::SeededRandom;

use crate::disk::SimDisk;
use crate::fault::{CallFate, CallKind, FaultPlan};
use crate::process::PALACE;
use crate::trace::TraceLog;

/// The longest time, in microseconds, that a slow sync takes: longer than a writer waits for another.
const SLOWEST_SYNC: usize = 45_000_000;

/// The machine as all its processes see it.
pub(crate) struct SimWorld {
    folder: PathBuf,
    /// The number of pages in the log at which SQLite checkpoints by itself.
    pub(crate) checkpoint_pages: usize,
    state: Mutex<WorldState>,
    turns: Vec<Condvar>,
}

/// Everything that changes while the machine runs.
pub(crate) struct WorldState {
    pub(crate) random: SeededRandom,
    pub(crate) disk: SimDisk,
    pub(crate) trace: TraceLog,
    pub(crate) plan: FaultPlan,
    /// Microseconds since the machine was built.
    pub(crate) clock: u64,
    /// Calls of the file layer in this life.
    pub(crate) calls: u64,
    /// Calls that failed by chance or for lack of room in this life.
    pub(crate) faults: u64,
    /// Whether the power has failed.
    pub(crate) dark: bool,
    /// One of so many calls hands the baton on.
    switch_one_in: usize,
    running: usize,
    processes: Vec<ProcessState>,
    /// The shared memory at the moment of a kill, until the killed process has let go of it.
    memory: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct ProcessState {
    killed: bool,
    finished: bool,
    /// The time until which it sleeps.
    wakes: u64,
}

/// The settings of one life of a machine.
pub(crate) struct WorldSettings {
    pub(crate) folder: PathBuf,
    pub(crate) processes: usize,
    pub(crate) random: SeededRandom,
    pub(crate) disk: SimDisk,
    pub(crate) trace: TraceLog,
    pub(crate) plan: FaultPlan,
    pub(crate) clock: u64,
}

impl SimWorld {
    pub(crate) fn new(settings: WorldSettings) -> Self {
        let WorldSettings {
            folder,
            processes,
            mut random,
            disk,
            trace,
            plan,
            clock,
        } = settings;
        Self {
            folder,
            checkpoint_pages: random.pick(&[4, 20, 60, 1000]),
            turns: (0..processes).map(|_| Condvar::new()).collect(),
            state: Mutex::new(WorldState {
                switch_one_in: random.pick(&[2, 8, 40]),
                running: random.below(processes),
                processes: vec![ProcessState::default(); processes],
                random,
                disk,
                trace,
                plan,
                clock,
                memory: None,
                calls: 0,
                faults: 0,
                dark: false,
            }),
        }
    }

    /// The folder that the disk shows.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of `path` on the disk; `None` for a file elsewhere.
    pub(crate) fn name_on_disk(&self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(&self.folder).ok()?.to_str()?;
        // Copies carry the id of the real process in their names, which differs from run to run.
        Some(name.replace(&format!(".{}.", std::process::id()), ".pid."))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the life of the machine and returns its state.
    pub(crate) fn into_state(self) -> WorldState {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the first turn of a process.
    pub(crate) fn begin_process(&self, process: usize) {
        drop(self.wait_for_turn(self.lock(), process));
    }

    /// Ends a process and hands the baton on for good.
    pub(crate) fn finish_process(&self, process: usize) {
        let mut state = self.lock();
        state.processes[process].finished = true;
        if let Some(next) = state.choose_next() {
            state.running = next;
            self.turns[next].notify_one();
        }
    }

    fn wait_for_turn<'a>(
        &self,
        mut state: MutexGuard<'a, WorldState>,
        process: usize,
    ) -> MutexGuard<'a, WorldState> {
        while state.running != process {
            state = self.turns[process]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    fn hand_over<'a>(
        &self,
        mut state: MutexGuard<'a, WorldState>,
        process: usize,
    ) -> MutexGuard<'a, WorldState> {
        match state.choose_next() {
            Some(next) if next != process => {
                state.running = next;
                self.turns[next].notify_one();
                self.wait_for_turn(state, process)
            }
            _ => state,
        }
    }

    /// Begins a call of the file layer: other processes may run first, and the plan decides its fate.
    pub(crate) fn begin_call(
        &self,
        process: usize,
        kind: CallKind,
    ) -> (MutexGuard<'_, WorldState>, CallFate) {
        let mut state = self.lock();
        if state.is_dead(process) {
            return (state, CallFate::Dead);
        }
        let every = state.switch_one_in;
        if state.processes.len() > 1 && state.random.below(every) == 0 {
            state = self.hand_over(state, process);
            if state.is_dead(process) {
                return (state, CallFate::Dead);
            }
        }
        let call = state.count_call();
        if state.plan.cut == Some(call) {
            state.dark = true;
            state.trace.add_line(format_args!("the power fails"));
            return (state, CallFate::Dead);
        }
        if state.plan.kills.contains(&call) {
            state.processes[process].killed = true;
            state.memory = self.read_memory();
            state.trace.add_line(format_args!("p{process} is killed"));
            return (state, CallFate::Dead);
        }
        let WorldState { plan, random, .. } = &mut *state;
        let fate = plan.judge_call(call, kind, random);
        state.faults += u64::from(fate != CallFate::Proceed);
        (state, fate)
    }

    /// Lets a process sleep; the others run meanwhile.
    pub(crate) fn sleep(&self, process: usize, pause: Duration) {
        let state = self.lock();
        self.sleep_within(state, process, pause);
    }

    fn sleep_within(&self, mut state: MutexGuard<'_, WorldState>, process: usize, pause: Duration) {
        if state.is_dead(process) {
            return;
        }
        let micros = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        let wakes = state.clock.saturating_add(micros);
        state.processes[process].wakes = wakes;
        drop(self.hand_over(state, process));
    }

    /// After a sync: it may have taken long.
    pub(crate) fn delay_sync(&self, mut state: MutexGuard<'_, WorldState>, process: usize) {
        let slow = state.plan.slow_one_in;
        if slow > 0 && state.random.below(slow) == 0 {
            let micros = state.random.below(SLOWEST_SYNC) as u64;
            state
                .trace
                .add_line(format_args!("p{process} waits {micros} us for the disk"));
            self.sleep_within(state, process, Duration::from_micros(micros));
        }
    }

    /// Whether a process has been killed, or has no power.
    pub(crate) fn is_dead(&self, process: usize) -> bool {
        self.lock().is_dead(process)
    }

    /// Starts a killed process anew. There is no way back from a power cut.
    ///
    /// Its last steps have let go of locks and files, as the system would. They have also tidied up the shared memory,
    /// which a killed process leaves as it is.
    pub(crate) fn revive(&self, process: usize) {
        let mut state = self.lock();
        state.processes[process].killed = false;
        if let Some(bytes) = state.memory.take() {
            let opened = OpenOptions::new().write(true).open(self.memory_file());
            let _ = opened.and_then(|file| file.write_all_at(&bytes, 0));
        }
    }

    fn memory_file(&self) -> PathBuf {
        self.folder.join(PALACE).join("palace.db-shm")
    }

    /// Reads the shared memory of the palace, if processes other than the killed one use it.
    fn read_memory(&self) -> Option<Vec<u8>> {
        if self.turns.len() == 1 {
            return None;
        }
        std::fs::read(self.memory_file()).ok()
    }
}

impl WorldState {
    pub(crate) fn is_dead(&self, process: usize) -> bool {
        self.dark || self.processes[process].killed
    }

    fn count_call(&mut self) -> u64 {
        let call = self.calls;
        self.calls += 1;
        self.clock += 1 + self.random.below(30) as u64;
        call
    }

    /// Chooses the process that runs next; if all sleep, time passes until one wakes.
    fn choose_next(&mut self) -> Option<usize> {
        let unfinished = |state: &Self| -> Vec<usize> {
            let numbered = state.processes.iter().enumerate();
            numbered
                .filter(|(_, one)| !one.finished)
                .map(|(n, _)| n)
                .collect()
        };
        let candidates = unfinished(self);
        let earliest = candidates.iter().map(|n| self.processes[*n].wakes).min()?;
        self.clock = self.clock.max(earliest);
        let awake: Vec<usize> = candidates
            .into_iter()
            .filter(|n| self.processes[*n].wakes <= self.clock)
            .collect();
        Some(self.random.pick(&awake))
    }
}
