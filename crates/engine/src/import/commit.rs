//! Committing the lines of one batch, and counting what became of them.

use loci_core::{CollectionExt, CollectionName, ErrorKind, Receipt, Result, Write};

use super::shelf::PendingLine;
use super::{FailedLine, LineImporter, OnBadLine, OnConflict, brought, concerns_one_line};
use crate::palace::{FilingSession, MODEL_CHANGES, Palace, model_changes_error};

impl LineImporter<'_> {
    /// Commits the lines. If another process switched the collection's model meanwhile, they are embedded again with
    /// the new one; vectors that lines bring are compared with those it makes.
    pub(super) fn commit_through_switches(
        &mut self,
        palace: &Palace,
        collection: &CollectionName,
        mut filing: FilingSession,
        pending: &[PendingLine],
    ) -> Result<Option<Receipt>> {
        let mut reopened = 0;
        loop {
            let error = match self.commit_pending(&filing, pending) {
                Err(error) if error.kind() == ErrorKind::IdentityMismatch => error,
                done => return done,
            };
            if reopened == MODEL_CHANGES {
                return Err(model_changes_error(error));
            }
            reopened += 1;
            let Some(shelf) = self.shelves.get_mut(collection) else {
                return Err(error);
            };
            let fresh = shelf.reopen_filing(palace, pending)?;
            let vectors = brought::check_brought(&fresh, pending)?;
            if vectors.brought > 0 && !fresh.takes_vectors_of(&filing) {
                return Err(brought::switched_error(error));
            }
            filing = fresh;
        }
    }

    /// Commits the lines in one batch; if one drawer spoils it, one by one, so that only that drawer fails.
    fn commit_pending(&mut self, filing: &FilingSession, pending: &[PendingLine]) -> Result<Option<Receipt>> {
        let on_conflict = self.request.on_conflict;
        let write = |one: &PendingLine| match on_conflict {
            OnConflict::Replace => Write::Upsert(one.drawer.clone()),
            // Adding keeps an existing drawer and names it in the receipt, from which failures are listed.
            OnConflict::Keep | OnConflict::Fail => Write::Add(one.drawer.clone()),
        };
        let mut batch: Vec<Write> = pending.iter().map(write).collect();
        filing.embed(&mut batch)?;
        let handle = filing.collection();
        let error = match handle.apply_batch(&batch) {
            Ok(receipt) => return Ok(Some(receipt)),
            Err(error) => error,
        };
        if self.request.on_bad_line == OnBadLine::Stop || !concerns_one_line(&error) {
            return Err(error);
        }
        // Each write has its vector already, so the second attempt embeds nothing.
        let mut all = None;
        for (one, write) in pending.iter().zip(batch) {
            match handle.apply_batch(&[write]) {
                Ok(receipt) => merge_receipt(all.get_or_insert_default(), receipt),
                Err(error) => self.list_failure(one.line, error)?,
            }
        }
        Ok(all)
    }

    /// Adds a receipt to the report, line by line if a conflict is a failure.
    pub(super) fn count_receipt(&mut self, pending: &[PendingLine], receipt: &Receipt) {
        let report = &mut self.report;
        report.added += receipt.added.len() as u64;
        report.replaced += receipt.replaced.len() as u64;
        report.without_vector += receipt.without_vector.len() as u64;
        if self.request.on_conflict != OnConflict::Fail {
            report.kept += (receipt.kept.len() + receipt.twins.len()) as u64;
            return;
        }
        for one in pending {
            let id = &one.drawer.id;
            let twin = receipt.twins.iter().find(|twin| twin.given == *id);
            let error = match twin {
                Some(twin) => format!(
                    "{:?} already exists under the id {:?}",
                    id.as_str(),
                    twin.existing.as_str()
                ),
                None if receipt.kept.contains(id) => format!("the id {:?} already exists", id.as_str()),
                None => continue,
            };
            report.failed.push(FailedLine {
                line: one.line,
                error,
            });
        }
    }
}

fn merge_receipt(all: &mut Receipt, one: Receipt) {
    all.added.extend(one.added);
    all.kept.extend(one.kept);
    all.replaced.extend(one.replaced);
    all.updated.extend(one.updated);
    all.deleted.extend(one.deleted);
    all.missing.extend(one.missing);
    all.twins.extend(one.twins);
    all.without_vector.extend(one.without_vector);
    // The newest commit, because a reader that waits for it has seen all the others.
    all.seq = all.seq.max(one.seq);
}
