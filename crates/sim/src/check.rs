//! Looks at the palace after a life of the machine, on a copy and without faults.

use std::path::Path;

use loci_core::{Backend, Collection, Doctor, ErrorKind, PalaceRef, Result};
use loci_store::EmbeddedBackend;
use loci_testkit::SeededRandom;

use crate::content::{ModelledContent, find_difference, find_disagreements, read_drawers};
use crate::history::{BatchFate, COLLECTIONS, CopyEntry, HistoryBook};
use crate::process::{PALACE, collection_name, open_options, read_counter};
use crate::replay;

/// Checks a folder as it is after a power cut or a shutdown, and closes the life that ended with it.
pub(crate) fn check_folder(
    folder: &Path,
    book: &mut HistoryBook,
    processes: usize,
    random: &mut SeededRandom,
) {
    let palace = folder.join(PALACE);
    let exchanged = book.exchanged.take().is_some();
    book.opened = false;
    let before = book.violations.len();
    let flagged = exchanged && is_flagged(&palace);
    let backend = EmbeddedBackend::new();
    let mut contents: [Option<ModelledContent>; COLLECTIONS.len()] = Default::default();
    for (collection, content) in contents.iter_mut().enumerate() {
        let name = collection_name(collection);
        match backend.open(&PalaceRef::local(&palace), &name, &open_options()) {
            Ok(handle) => match look_at(&*handle, collection, book, processes, random) {
                Ok(found) => *content = Some(found),
                Err(error) => book.violate(format!("{name} cannot be read: {error:?}")),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => book.violate(format!("{name} does not open: {error:?}")),
        }
    }
    backend.close();
    replay::check_life(book, contents);
    check_health(&palace, book);
    if flagged {
        // Files were exchanged, and the next command says that something is missing.
        book.violations.truncate(before);
        book.count("exchange: told");
        book.damaged = true;
    }
    for copy in book.copies.clone() {
        if let Err(why) = check_copy(folder, &copy) {
            book.violate(format!("the copy {}: {why}", copy.name));
        }
    }
}

/// Whether the next command says that the palace is not as it was.
fn is_flagged(palace: &Path) -> bool {
    if !EmbeddedBackend::detect(palace) {
        return true;
    }
    match EmbeddedBackend::new().examine(palace) {
        Ok(diagnosis) => !diagnosis.findings.is_empty(),
        Err(_) => true,
    }
}

/// Reads a collection, settles the outcome of every batch in it, and asks its indexes.
fn look_at(
    handle: &dyn Collection,
    collection: usize,
    book: &mut HistoryBook,
    processes: usize,
    random: &mut SeededRandom,
) -> Result<ModelledContent> {
    let content = ModelledContent::read(handle)?;
    for process in 0..processes {
        let (number, seq) = read_counter(handle, process)?;
        settle_batch(book, collection, process, number, seq);
    }
    let wrong = find_disagreements(handle, &content.drawers, random)?;
    wrong.into_iter().for_each(|wrong| book.violate(wrong));
    for warning in handle.info()?.warnings {
        if !book.is_scar(&warning) {
            book.violate(format!("a warning: {warning:?}"));
        }
    }
    Ok(content)
}

/// Notes that the batch `number` was the last of its process that was applied to the collection.
fn settle_batch(book: &mut HistoryBook, collection: usize, process: usize, number: u64, seq: u64) {
    let own = |batch: &&mut crate::history::BatchEntry| {
        batch.collection == collection && batch.process == process && batch.number == number
    };
    let Some(batch) = book.batches.iter_mut().find(own) else {
        return;
    };
    match batch.fate {
        BatchFate::Pending | BatchFate::Absent => batch.fate = BatchFate::Applied(seq),
        BatchFate::Refused => {
            book.violate(format!("batch {number} was refused, and is there"));
        }
        BatchFate::Applied(_) => {}
    }
}

fn check_health(palace: &Path, book: &mut HistoryBook) {
    if !EmbeddedBackend::detect(palace) {
        return;
    }
    match EmbeddedBackend::new().examine(palace) {
        Ok(diagnosis) if diagnosis.healthy && diagnosis.findings.iter().all(|found| book.is_scar(found)) => {}
        // A palace that was never acknowledged may be a file without tables.
        Err(error) if error.kind() == ErrorKind::NotFound && !book.bases[0].exists => {}
        Ok(diagnosis) => book.violate(format!("examined: {:?}", diagnosis.findings)),
        Err(error) => book.violate(format!("it cannot be examined: {error:?}")),
    }
}

/// An acknowledged copy holds what it held when it was made.
fn check_copy(folder: &Path, copy: &CopyEntry) -> std::result::Result<(), String> {
    let backend = EmbeddedBackend::new();
    let palace = PalaceRef::local(folder.join(&copy.name));
    for (collection, drawers) in &copy.contents {
        let found = backend
            .open(&palace, &collection_name(*collection), &open_options())
            .and_then(|handle| read_drawers(&*handle))
            .map_err(|error| format!("{error:?}"))?;
        if let Some(why) = find_difference(drawers, &found) {
            return Err(why);
        }
    }
    backend.close();
    Ok(())
}
