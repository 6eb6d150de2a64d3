//! Writers at work while the model is switched back and forth: each of their drawers is filed.

use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{DrawerId, NewDrawer, OpenOptions};
use loci_engine::add::AddRequest;
use loci_engine::{OnConflict, switch_model};

use crate::embedders::{Bag, Machine};
use crate::{Backend as _, EmbeddedBackend, PalaceRef, name, palace_at, request};

const WRITERS: usize = 3;
const EACH: usize = 150;

#[test]
fn no_writer_is_refused_while_models_are_switched() {
    let folder = tempfile::tempdir().unwrap();
    let reference = PalaceRef::local(folder.path().join("palace"));
    let machine = Machine(vec![Bag::new("old", 8), Bag::new("new", 16)]);
    let open = || palace_at(&EmbeddedBackend::new(), reference.clone(), &machine);
    let add = |id: String| {
        let drawer = NewDrawer::new(DrawerId::new(id).unwrap(), "words of a drawer");
        open().add(&AddRequest {
            drawer,
            upsert: false,
        })
    };
    add("first".into()).unwrap();
    let (finished, refused) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
    let note = |what: String| refused.lock().unwrap().push(what);
    let switches = std::thread::scope(|scope| {
        let switcher = scope.spawn(|| {
            let backend = EmbeddedBackend::new();
            let how = OpenOptions::for_writing();
            let collection = backend.open(&reference, &name("drawers"), &how).unwrap();
            let mut switches = 0;
            while !finished.load(Ordering::SeqCst) {
                let bag = &machine.0[(switches + 1) % 2];
                switch_model(collection.as_ref(), bag, &mut |_| true).unwrap();
                switches += 1;
            }
            switches
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (add, note, open) = (&add, &note, &open);
                scope.spawn(move || {
                    let kept = open();
                    for n in 0..EACH {
                        let id = format!("w{writer}-{n:04}");
                        if let Err(error) = add(id) {
                            note(format!("{error}: {:?}", error.hint_text()));
                        }
                        let mut importer = kept.import(request(OnConflict::Keep));
                        let line = format!("{{\"id\":\"i{writer}-{n:04}\",\"text\":\"words of a line\"}}");
                        let pushed = importer.push(1, line.as_bytes()).and_then(|_| importer.finish());
                        if let Err(error) = pushed {
                            note(format!("{error}: {:?}", error.hint_text()));
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        finished.store(true, Ordering::SeqCst);
        switcher.join().unwrap()
    });
    assert!(switches > 2, "{switches}");
    let refused = refused.into_inner().unwrap();
    assert!(
        refused.is_empty(),
        "{} after {switches} switches: {:?}",
        refused.len(),
        refused.first()
    );
    assert_eq!(
        open().collections().unwrap()[0].drawers,
        (2 * WRITERS * EACH + 1) as u64
    );
}
