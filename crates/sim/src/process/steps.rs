//! The steps of a simulated process, one function each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    ApplyRequest, Backend, Collection, CollectionExt, Drawer, DrawerId, Error, ErrorKind, IdempotencyKey,
    MaintenanceKind, PalaceFinding, PalaceRef, Receipt, Result, RevisionOutcome, SourceRecordQuery,
    SourceRevision, Write,
};

use super::{SimProcess, collection_name, open_options};
use crate::content::{count_batch, find_disagreements, read_drawers};
use crate::history::{BatchEntry, BatchFate, COLLECTIONS, CopyEntry, ReadEntry};
use crate::workload::{ProcessStep, choose_writes};

const SOURCES: [&str; 3] = ["a.md", "b.md", "c.md"];

impl SimProcess {
    pub(super) fn take_step(&mut self, step: ProcessStep) {
        let collection = usize::from(self.random.below(4) == 0);
        match step {
            ProcessStep::Write { keyed, budget } => self.write(collection, keyed, budget),
            ProcessStep::Revise => self.revise(collection),
            ProcessStep::Read => self.read(collection),
            ProcessStep::Maintain(kind) => self.maintain(collection, &kind),
            ProcessStep::Reopen => self.reopen(),
            ProcessStep::Copy => self.copy(),
            ProcessStep::Wait(milliseconds) => {
                self.world
                    .sleep(self.process, Duration::from_millis(milliseconds));
            }
        }
    }

    /// Notes a batch before it is applied, and returns its place in the history.
    fn begin_batch(&mut self, collection: usize, keyed: bool, stamp: Option<String>) -> usize {
        let number = self.book().next_number();
        let mut writes = choose_writes(&mut self.random, number);
        writes.push(count_batch(self.process, number));
        let began = self.note(format!("tries batch {number} of {} writes", writes.len()));
        let entry = BatchEntry {
            process: self.process,
            collection,
            number,
            writes,
            stamp: stamp.map(|source| (source, number.to_string())),
            keyed,
            began,
            acknowledged: None,
            fate: BatchFate::Pending,
        };
        let mut book = self.book();
        book.batches.push(entry);
        book.batches.len() - 1
    }

    /// Notes the outcome of a batch.
    fn end_batch(&mut self, entry: usize, first: bool, outcome: Result<Option<Receipt>>) {
        let collection = self.book().batches[entry].collection;
        self.unknown[collection] = None;
        match outcome {
            Ok(Some(receipt)) => {
                let now = self.note(format!("is told that it is stored at {}", receipt.seq));
                let mut book = self.book();
                book.count("batch: stored");
                let batch = &mut book.batches[entry];
                (batch.fate, batch.acknowledged) = (BatchFate::Applied(receipt.seq), Some(now));
            }
            Ok(None) => {
                self.note("is overtaken".to_owned());
                let mut book = self.book();
                book.count("batch: overtaken");
                book.batches[entry].fate = BatchFate::Refused;
            }
            Err(error) => {
                let alive = self.judge_error("batch", &error);
                // These promise that nothing was written.
                let refused = matches!(
                    error.kind(),
                    ErrorKind::Locked | ErrorKind::TimedOut | ErrorKind::Poisoned
                );
                // An error of a repetition says nothing about the first attempt.
                if alive && refused && first {
                    self.book().batches[entry].fate = BatchFate::Refused;
                } else {
                    self.unknown[collection] = Some(entry);
                }
                if error.kind() != ErrorKind::Locked && error.kind() != ErrorKind::TimedOut {
                    self.handles[collection] = None;
                }
            }
        }
    }

    fn write(&mut self, collection: usize, keyed: bool, budget: Option<u64>) {
        // A batch under a key may be repeated without asking for its fate.
        let again = self.unknown[collection].filter(|entry| self.book().batches[*entry].keyed);
        let repeated = again.filter(|_| self.random.toss_coin());
        if repeated.is_some() {
            self.unknown[collection] = None;
        }
        let handle = self.handle(collection);
        if let Some(entry) = repeated {
            self.unknown[collection] = Some(entry);
        }
        let Some(handle) = handle else { return };
        let entry = repeated.unwrap_or_else(|| self.begin_batch(collection, keyed, None));
        let (writes, number, keyed) = {
            let book = self.book();
            let batch = &book.batches[entry];
            (batch.writes.clone(), batch.number, batch.keyed)
        };
        let key = IdempotencyKey::new(number.to_string()).expect("a number is a valid key");
        let mut request = ApplyRequest::from_writes(&writes);
        if keyed {
            request = request.under_key(&key);
        }
        if let Some(budget) = budget {
            request = request.within_budget(Duration::from_millis(budget));
        }
        let outcome = handle.apply(&request).map(Some);
        drop(handle);
        self.end_batch(entry, repeated.is_none(), outcome);
    }

    fn revise(&mut self, collection: usize) {
        let Some(handle) = self.handle(collection) else {
            return;
        };
        let source = self.random.pick(&SOURCES);
        let known = match find_revision(&*handle, source) {
            Ok(known) => known,
            Err(error) => {
                self.judge_error("sources", &error);
                return;
            }
        };
        let entry = self.begin_batch(collection, false, Some(source.to_owned()));
        let (writes, stamp) = {
            let book = self.book();
            let batch = &book.batches[entry];
            (batch.writes.clone(), batch.number.to_string())
        };
        let (first, second) = writes.split_at(writes.len() / 2);
        let parts: Vec<Vec<Write>> = vec![first.to_vec(), second.to_vec()];
        let revision = SourceRevision {
            source: source.to_owned(),
            expects: known,
            stamp: Some(stamp),
            parts: Box::new(parts.into_iter()),
        };
        let outcome = handle
            .require_sources()
            .and_then(|sources| sources.revise(vec![revision]))
            .map(|mut outcomes| match outcomes.pop() {
                Some(RevisionOutcome::Done { receipt, .. }) => Some(receipt),
                _ => None,
            });
        drop(handle);
        self.end_batch(entry, true, outcome);
    }

    fn read(&mut self, collection: usize) {
        let Some(handle) = self.handle(collection) else {
            return;
        };
        let began = self.note("reads".to_owned());
        match self.read_moment(&handle) {
            Ok((seq, drawers, wrong)) => {
                let ended = self.note(format!("has read {} drawers at {seq}", drawers.len()));
                let faults = self.world.lock().faults;
                let mut book = self.book();
                book.count("read: done");
                if shows_damage(&drawers) && faults > 0 {
                    // A disk that failed within the read: the drawer says itself that a part of it is missing.
                    return book.count("read: damage shown");
                }
                if book.exchanged.is_some_and(|moment| moment > began) {
                    // It may have seen the files before the exchange or after it.
                    return;
                }
                let number = book.reads.len();
                wrong
                    .into_iter()
                    .for_each(|wrong| book.violate(format!("read {number} at {seq}: {wrong}")));
                book.reads.push(ReadEntry {
                    collection,
                    began,
                    ended,
                    seq,
                    drawers,
                    through: "a moment",
                });
            }
            Err(error) => {
                self.judge_error("read", &error);
            }
        }
    }

    /// Reads everything at one moment, and asks its indexes about the same moment.
    #[allow(clippy::type_complexity, reason = "one caller takes it apart")]
    fn read_moment(
        &mut self,
        handle: &Arc<dyn Collection>,
    ) -> Result<(u64, BTreeMap<DrawerId, Drawer>, Vec<String>)> {
        let moment = handle.moment()?.expect("the embedded store has moments");
        let drawers = read_drawers(&*moment)?;
        let mut wrong = find_disagreements(&*moment, &drawers, &mut self.random)?;
        let info = moment.info()?;
        let faults = self.world.lock().faults > 0;
        self.book().faulted |= faults;
        // A process remembers which drawers it could not read, even if the disk works again.
        let failed_read = |warning: &PalaceFinding| {
            warning.code == "damaged_drawer" && warning.message.ends_with("disk I/O error")
        };
        let warning = info
            .warnings
            .iter()
            .find(|warning| !(self.book().is_scar(warning) || faults && failed_read(warning)));
        if let Some(warning) = warning {
            // A palace whose files were exchanged may say so, and then need not be whole.
            if self.book().exchanged.is_some() {
                wrong.clear();
            } else {
                wrong.push(format!("a warning: {warning:?}"));
            }
        }
        Ok((info.seq.0, drawers, wrong))
    }

    fn maintain(&mut self, collection: usize, kind: &MaintenanceKind) {
        let Some(handle) = self.handle(collection) else {
            return;
        };
        let done = handle.require_upkeep().and_then(|upkeep| upkeep.run(kind));
        match done {
            Ok(report) => {
                self.note(format!("maintenance: {:?}", report.status));
                self.book().count(format!("{}: {:?}", kind.name(), report.status));
            }
            Err(error) => {
                self.judge_error(kind.name(), &error);
            }
        }
    }

    /// Backs up, restores the copy elsewhere, and reads both.
    fn copy(&mut self) {
        // Opening it first makes sure that there is a palace to copy.
        if self.handle(0).is_none() {
            return;
        }
        let number = self.book().next_number();
        let name = format!("backup-{number}.db");
        let file = self.world.folder().join(&name);
        let began = self.note(format!("backs up to {name}"));
        let copied = self.copy_to(&file, number, began);
        match copied {
            Ok(contents) => {
                self.note("has copied".to_owned());
                let mut book = self.book();
                book.count("copy: done");
                book.copies.push(CopyEntry { name, contents });
            }
            Err(error) => {
                self.judge_error("copy", &error);
            }
        }
    }

    #[allow(clippy::type_complexity, reason = "one caller takes it apart")]
    fn copy_to(
        &mut self,
        file: &std::path::Path,
        number: u64,
        began: u64,
    ) -> Result<Vec<(usize, BTreeMap<DrawerId, Drawer>)>> {
        snapshots_of(&self.backend).backup(&self.palace(), file, &mut |_| {})?;
        let ended = self.note("has backed up".to_owned());
        let restored = PalaceRef::local(self.world.folder().join(format!("restored-{number}")));
        snapshots_of(&self.backend).restore(file, &restored, &mut |_| {})?;
        let contents = self.read_copy(&restored, began, ended);
        self.backend.close_palace(&restored);
        contents
    }

    #[allow(clippy::type_complexity, reason = "one caller takes it apart")]
    fn read_copy(
        &mut self,
        palace: &PalaceRef,
        began: u64,
        ended: u64,
    ) -> Result<Vec<(usize, BTreeMap<DrawerId, Drawer>)>> {
        let mut contents = Vec::new();
        for collection in 0..COLLECTIONS.len() {
            let opened = self
                .backend
                .open(palace, &collection_name(collection), &open_options());
            let handle = match opened {
                Ok(handle) => handle,
                Err(error) if is_missing_collection(&error) => continue,
                Err(error) => return Err(error),
            };
            let drawers = read_drawers(&*handle)?;
            let seq = handle.info()?.seq.0;
            // A part that could not be read just now says nothing about the copy.
            if shows_damage(&drawers) && self.world.lock().faults > 0 {
                continue;
            }
            contents.push((collection, drawers.clone()));
            if self.book().exchanged.is_some_and(|moment| moment > began) {
                continue;
            }
            self.book().reads.push(ReadEntry {
                collection,
                began,
                ended,
                seq,
                drawers,
                through: "a copy",
            });
        }
        Ok(contents)
    }
}

fn snapshots_of(backend: &dyn Backend) -> &dyn loci_core::SnapshotStore {
    backend.snapshots().expect("the embedded store copies")
}

/// Whether a drawer says that a part of it could not be read.
fn shows_damage(drawers: &BTreeMap<DrawerId, Drawer>) -> bool {
    drawers.values().any(|drawer| !drawer.damage.is_empty())
}

/// Whether an error says that the palace has no such collection yet.
pub(crate) fn is_missing_collection(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

fn find_revision(handle: &dyn Collection, source: &str) -> Result<Option<u64>> {
    let named = SourceRecordQuery::Named(vec![source.to_owned()]);
    let found = handle.require_sources()?.find_records(&named)?;
    Ok(found.first().map(|record| record.revision))
}
