//! A palace with so many drawers that a few more seal segments of vectors and of words; made once in a process.

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use loci_core::{Backend, CollectionExt, CreateMode, NewDrawer, PalaceRef, Write};
use loci_store::EmbeddedBackend;
use loci_testkit::SeededRandom;

use crate::content::{ModelledContent, drawer_id, make_drawer, make_vector};
use crate::disk::{CutMode, SimDisk};
use crate::fault::FaultPlan;
use crate::history::CollectionBase;
use crate::machine::ProcessMachine;
use crate::process::{PALACE, collection_name, open_options};
use crate::trace::TraceLog;
use crate::vfs;
use crate::world::{SimWorld, WorldSettings};

/// A few less than two segments of 1,024 vectors, and than one of 2,048 drawers' words.
const DRAWERS: usize = 2_042;

/// The numbers of these drawers begin here, above those that batches choose.
const FIRST: usize = 1_000;

/// The disk of a machine with such a palace, and what the palace holds.
pub(crate) struct StockedPalace {
    pub(crate) disk: SimDisk,
    pub(crate) base: CollectionBase,
    /// The bytes of its file.
    pub(crate) bytes: Vec<u8>,
}

/// Returns the palace, whose bytes are the same in every process.
pub(crate) fn stocked_palace() -> &'static StockedPalace {
    static MADE: OnceLock<StockedPalace> = OnceLock::new();
    MADE.get_or_init(|| make_palace(DRAWERS, 1))
}

/// Returns a small palace with another id, to be put in the place of the simulated one. It must be asked for once
/// before a run, since making it uses the file layer of the first process.
pub(crate) fn other_palace() -> &'static StockedPalace {
    static MADE: OnceLock<StockedPalace> = OnceLock::new();
    MADE.get_or_init(|| make_palace(5, 2))
}

fn make_palace(drawers: usize, seed: u64) -> StockedPalace {
    vfs::seed_sqlite(seed);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let place = folder.path().canonicalize().expect("the folder is there");
    let place = place.as_path();
    std::fs::create_dir_all(place.join(PALACE)).expect("a folder can be made");
    let world = Arc::new(SimWorld::new(WorldSettings {
        folder: place.to_owned(),
        processes: 1,
        random: SeededRandom::new(1),
        disk: SimDisk::default(),
        trace: TraceLog::default(),
        plan: FaultPlan::default(),
        clock: 0,
    }));
    let layer = vfs::attach_process(0, Some(Arc::clone(&world)));
    let machine = ProcessMachine {
        world: Arc::clone(&world),
        process: 0,
    };
    loci_store::testing::run_on(Some(Rc::new(machine)));
    let base = fill_palace(layer, place, drawers);
    loci_store::testing::run_on(None);
    vfs::attach_process(0, None);
    let state = Arc::into_inner(world).expect("the palace is closed").into_state();
    let image = place.join("image");
    let disk = state
        .disk
        .cut_power(&image, &mut SeededRandom::new(1), CutMode::Kept)
        .expect("files can be written");
    let bytes = std::fs::read(image.join(PALACE).join("palace.db")).expect("the palace is there");
    StockedPalace { disk, base, bytes }
}

fn fill_palace(layer: &str, place: &Path, drawers: usize) -> CollectionBase {
    let backend = EmbeddedBackend::over_vfs(layer);
    let collection = backend
        .create(
            &PalaceRef::local(place.join(PALACE)),
            &collection_name(0),
            CreateMode::OpenExisting,
            &open_options(),
        )
        .expect("nothing fails here");
    let writes: Vec<Write> = (FIRST..FIRST + drawers)
        .map(|n| Write::Add(stocked_drawer(n)))
        .collect();
    let receipt = collection.apply_batch(&writes).expect("nothing fails here");
    let content = ModelledContent::read(&*collection).expect("nothing fails here");
    assert_eq!(
        collection.info().map(|info| info.drawers).ok(),
        Some(drawers as u64)
    );
    drop(collection);
    backend.close();
    CollectionBase {
        exists: true,
        content,
        seq: receipt.seq,
    }
}

/// A short drawer with a vector.
fn stocked_drawer(n: usize) -> NewDrawer {
    NewDrawer {
        id: drawer_id(n),
        document: format!("zq{n}x0 stock"),
        embedding: Some(make_vector(n, 0)),
        context: None,
        ..make_drawer(n, 0)
    }
}
