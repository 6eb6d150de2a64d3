//! Writers at work while the model is switched back and forth: each of their drawers is filed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{DrawerId, NewDrawer, OpenOptions, Result};
use loci_engine::add::AddRequest;
use loci_engine::{OnConflict, Palace, switch_model};

use crate::embedders::{Bag, Machine};
use crate::{Backend as _, EmbeddedBackend, PalaceRef, import_lines, name, palace_at, request};

const WRITERS: usize = 3;
const EACH: usize = 150;

fn add(palace: &Palace, id: String) -> Result<()> {
    let drawer = NewDrawer::new(DrawerId::new(id).unwrap(), "words of a drawer");
    palace
        .add(&AddRequest {
            drawer,
            upsert: false,
        })
        .map(drop)
}

fn import(palace: &Palace, id: &str) -> Result<()> {
    let line = format!("{{\"id\":\"{id}\",\"text\":\"words of a line\"}}");
    import_lines(palace, request(OnConflict::Keep), &line).map(drop)
}

/// Files drawers in two ways, and notes each refusal.
fn write(writer: usize, open: &dyn Fn() -> Palace, refused: &Mutex<Vec<String>>) {
    let kept = open();
    for n in 0..EACH {
        let added = add(&open(), format!("w{writer}-{n:04}"));
        let imported = import(&kept, &format!("i{writer}-{n:04}"));
        for error in [added, imported].into_iter().filter_map(Result::err) {
            let words = format!("{error}: {:?}", error.hint_text());
            refused.lock().unwrap().push(words);
        }
    }
}

/// Switches between the models of the machine until the writers have finished; returns how often.
fn switch_often(reference: &PalaceRef, machine: &Machine, finished: &AtomicBool) -> usize {
    let how = OpenOptions::for_writing();
    let opened = EmbeddedBackend::new().open(reference, &name("drawers"), &how);
    let (collection, mut switches) = (opened.unwrap(), 0);
    while !finished.load(Ordering::SeqCst) {
        let bag = &machine.0[(switches + 1) % 2];
        switch_model(collection.as_ref(), bag, &mut |_| true).unwrap();
        switches += 1;
        // No palace switches its model without a pause: even the smallest one is embedded first.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    switches
}

#[test]
fn no_writer_is_refused_while_models_are_switched() {
    let folder = tempfile::tempdir().unwrap();
    let reference = PalaceRef::local(folder.path().join("palace"));
    let machine = Machine(vec![Bag::new("old", 8), Bag::new("new", 16)]);
    let open = || palace_at(&EmbeddedBackend::new(), reference.clone(), &machine);
    add(&open(), "first".into()).unwrap();
    let (finished, refused) = (AtomicBool::new(false), Mutex::default());
    let switches = std::thread::scope(|scope| {
        let switcher = scope.spawn(|| switch_often(&reference, &machine, &finished));
        let spawn = |writer| {
            let (open, refused) = (&open, &refused);
            scope.spawn(move || write(writer, open, refused))
        };
        let writers: Vec<_> = (0..WRITERS).map(spawn).collect();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        // Before a writer's panic is handed on, or the switching would never end.
        finished.store(true, Ordering::SeqCst);
        assert!(ended.iter().all(std::result::Result::is_ok));
        switcher.join().unwrap()
    });
    assert!(switches > 2, "{switches}");
    let refused = refused.into_inner().unwrap();
    assert!(
        refused.is_empty(),
        "{} of {switches}: {:?}",
        refused.len(),
        refused.first()
    );
    let drawers = open().collections().unwrap()[0].drawers;
    assert_eq!(drawers, (2 * WRITERS * EACH + 1) as u64);
}
