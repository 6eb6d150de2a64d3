//! One seed: some lives of a machine, one after the other, each on the disk that the last one left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use loci_testkit::SeededRandom;

use crate::check::check_folder;
use crate::disk::{CutMode, DiskHonesty, SimDisk};
use crate::fault::FaultPlan;
use crate::history::HistoryBook;
use crate::process::{PALACE, SimProcess};
use crate::trace::TraceLog;
use crate::world::{SimWorld, WorldSettings};
use crate::{stock, vfs};

/// One of so many seeds begins with a palace of many drawers.
const STOCKED_ONE_IN: usize = 40;

/// The settings of a run, besides its seed.
#[derive(Debug, Clone, Default)]
pub struct SimSettings {
    /// The number of processes; chosen by the seed if none is given.
    pub processes: Option<usize>,
    /// Whether the lines of the trace are kept.
    pub keep_trace: bool,
    /// Whether files are exchanged under the processes.
    pub exchanges: bool,
    /// Whether the disk does as it is told.
    pub honesty: DiskHonesty,
}

/// The result of a run.
pub struct SeedOutcome {
    /// Everything that was not as promised.
    pub violations: Vec<String>,
    /// The trace of the run.
    pub trace: TraceLog,
    /// Operations by name and outcome.
    pub tally: BTreeMap<String, u64>,
}

/// A machine between two lives.
struct RestingMachine {
    random: SeededRandom,
    disk: SimDisk,
    trace: TraceLog,
    clock: u64,
    history: HistoryBook,
}

/// Runs one seed.
///
/// Only one run at a time may take place in a process: SQLite has one generator of random numbers for all of it.
pub fn run_seed(seed: u64, settings: &SimSettings) -> SeedOutcome {
    // Asking for the store's file layer registers the native one below it.
    loci_store::testing::file_system(None).expect("the native layer can be registered");
    vfs::register_layers(Some("loci-native"));
    let mut random = SeededRandom::new(seed);
    let by_seed = random.pick(&[1, 1, 2, 3]);
    let processes = settings.processes.unwrap_or(by_seed);
    let lives = 1 + random.below(3);
    let folder = tempfile::Builder::new()
        .prefix("loci-sim-")
        .tempdir_in(fast_folder())
        .expect("a folder can be made");
    let root = folder.path().canonicalize().expect("the folder is there");
    let mut machine = RestingMachine {
        disk: SimDisk::default(),
        trace: TraceLog::new(settings.keep_trace),
        clock: 0,
        history: HistoryBook::default(),
        random,
    };
    let mut place = root.join("life-0");
    std::fs::create_dir_all(place.join(PALACE)).expect("a folder can be made");
    if machine.random.below(STOCKED_ONE_IN) == 0 {
        place = stock_palace(&mut machine, &root);
    }
    machine.disk.honesty = settings.honesty;
    if settings.exchanges {
        stock::other_palace();
    }
    vfs::seed_sqlite(seed);
    for life in 0..lives {
        machine = live_once(machine, &place, processes, settings.exchanges);
        place = cut_power(&mut machine, &root, life);
        let copy = root.join(format!("check-{life}"));
        copy_folder(&place, &copy).expect("a folder can be copied");
        let RestingMachine { history, random, .. } = &mut machine;
        check_folder(&copy, history, processes, random);
        let _ = std::fs::remove_dir_all(&copy);
        if !machine.history.violations.is_empty() || machine.history.damaged {
            break;
        }
    }
    let RestingMachine { trace, history, .. } = machine;
    SeedOutcome {
        violations: history.violations,
        trace,
        tally: history.tally,
    }
}

/// Begins with a palace that holds many drawers; returns the folder it is in.
fn stock_palace(machine: &mut RestingMachine, root: &Path) -> PathBuf {
    let stocked = stock::stocked_palace();
    let place = root.join("stocked");
    machine.disk = stocked
        .disk
        .cut_power(&place, &mut machine.random, CutMode::Kept)
        .expect("files can be written");
    machine.history.bases[0] = stocked.base.clone();
    place
}

/// Runs the processes of one life until they have ended or the power has failed.
fn live_once(machine: RestingMachine, place: &Path, processes: usize, exchanges: bool) -> RestingMachine {
    let RestingMachine {
        mut random,
        disk,
        trace,
        clock,
        history,
    } = machine;
    let calls = random.pick(&[300, 1500, 6000]);
    let plan = FaultPlan::choose(&mut random, calls);
    let steps = 3 + random.below(12);
    let seeds: Vec<SeededRandom> = (0..processes)
        .map(|_| SeededRandom::new(random.next_bits()))
        .collect();
    let mut trace = trace;
    trace.add_line(format_args!("a life of {processes} processes: {plan:?}"));
    let world = Arc::new(SimWorld::new(WorldSettings {
        folder: place.to_owned(),
        processes,
        random,
        disk,
        trace,
        plan,
        clock,
    }));
    let history = Arc::new(Mutex::new(history));
    let threads: Vec<_> = seeds
        .into_iter()
        .enumerate()
        .map(|(number, random)| {
            let (world, history) = (Arc::clone(&world), Arc::clone(&history));
            std::thread::spawn(move || SimProcess::new(world, number, random, history).run(steps, exchanges))
        })
        .collect();
    for thread in threads {
        thread.join().expect("a process does not panic");
    }
    for process in 0..processes {
        vfs::attach_process(process, None);
    }
    let world = Arc::into_inner(world).expect("every process has let go of the machine");
    let state = world.into_state();
    let history = Arc::into_inner(history).expect("every process has ended");
    let mut history = history.into_inner().unwrap_or_else(PoisonError::into_inner);
    history.faulted |= state.faults > 0;
    RestingMachine {
        random: state.random,
        disk: state.disk,
        trace: state.trace,
        clock: state.clock,
        history,
    }
}

/// Cuts the power after a life and returns the folder that the disk then holds.
fn cut_power(machine: &mut RestingMachine, root: &Path, life: usize) -> PathBuf {
    let place = root.join(format!("life-{}", life + 1));
    std::fs::create_dir_all(place.join(PALACE)).expect("a folder can be made");
    let mode = CutMode::pick(&mut machine.random);
    machine
        .trace
        .add_line(format_args!("what was not synced: {mode:?}"));
    machine.disk = machine
        .disk
        .cut_power(&place, &mut machine.random, mode)
        .expect("files can be written");
    // The clock of the next life begins later.
    machine.clock += 1_000_000;
    place
}

/// A folder in memory if the system has one: a run syncs often, which a real disk takes its time for.
fn fast_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
