//! Undoing the addition and the edit of one drawer.

use loci_core::{
    DeleteSelection, Drawer, DrawerId, ErrorKind, IdentityState, NewDrawer, OpenOptions, Result, Write,
};

use super::{UndoReport, apply_as_read, estimate_drawer, model_of_vectors, read_whole, to_new_drawer};
use crate::palace::{FilingSession, Palace};
use crate::seal::{DrawerSeals, SealedSpan, SecretGuard, read_whole_spans};

/// The number of times a drawer is read again because it changed between reading and writing.
const TRIES: usize = 5;

/// A drawer that was added, as it was stored then.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AddedDrawer(Drawer);

/// A drawer that was edited.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EditedDrawer {
    before: Drawer,
    /// As the edit stored it.
    after: Drawer,
    /// The model of the vector before; none if it is not known.
    model: Option<IdentityState>,
    /// The labels that the text had before, with their secrets encrypted.
    spans: Vec<SealedSpan>,
}

impl AddedDrawer {
    /// Reads a drawer that was just added; none if it is gone or was changed already.
    pub(super) fn read(palace: &Palace, new: &NewDrawer) -> Result<Option<Self>> {
        let mut read = palace.read(|session| read_whole(palace, session.reader(), [new.id.clone()]))?;
        let Some(stored) = read.pop() else {
            return Ok(None);
        };
        let filed_at = stored.filed_at.unwrap_or_else(|| palace.now());
        let is_known = stored.is_same_apart_from_vector(&new.to_filed_drawer(filed_at)?);
        Ok(Some(stored).filter(|_| is_known).map(Self))
    }

    pub(super) fn estimate_size(&self) -> usize {
        estimate_drawer(&self.0)
    }

    /// Removes the drawer, unless it was changed.
    pub(super) fn undo(&self, palace: &Palace) -> Result<UndoReport> {
        let mut report = UndoReport::default();
        palace.write(|collection| {
            let batch = [Write::Delete(DeleteSelection::Ids(vec![self.0.id.clone()]))];
            let Some(now) = read_whole(palace, collection, [self.0.id.clone()])?.pop() else {
                report.leave(&self.0.id, "was removed already");
                return Ok(());
            };
            if !now.is_same_apart_from_vector(&self.0) {
                report.leave(&self.0.id, "was changed since it was added, and stays");
                return Ok(());
            }
            let receipt = apply_as_read(palace, collection, &batch, &[now])?;
            report.undone = receipt.deleted.len() as u64;
            Ok(())
        })?;
        Ok(report)
    }
}

impl EditedDrawer {
    /// Remembers an edit. `before` is the drawer as it was read, `after` as it is stored now.
    pub(crate) fn new(
        palace: &Palace,
        filing: &FilingSession,
        before: Drawer,
        after: Drawer,
    ) -> Result<Self> {
        let whole = palace.open_whole(&OpenOptions::default())?;
        Ok(Self {
            model: model_of_vectors(palace, filing.collection().as_ref())?,
            spans: read_whole_spans(whole.as_ref(), &before)?,
            before,
            after,
        })
    }

    pub(super) fn id(&self) -> &DrawerId {
        &self.before.id
    }

    pub(super) fn estimate_size(&self) -> usize {
        estimate_drawer(&self.before) + estimate_drawer(&self.after)
    }

    /// Files the drawer again as it was before, unless it was changed since.
    pub(super) fn undo(&self, palace: &Palace) -> Result<UndoReport> {
        let mut tried = 0;
        loop {
            match palace.run_change(|filing| self.restore(palace, filing)) {
                // Changed between the comparison and the write: the next comparison tells.
                Err(error) if error.kind() == ErrorKind::Conflict && tried < TRIES => tried += 1,
                done => return done,
            }
        }
    }

    fn restore(&self, palace: &Palace, filing: &FilingSession) -> Result<UndoReport> {
        let mut report = UndoReport::default();
        let Some(now) = read_whole(palace, filing.reader(), [self.before.id.clone()])?.pop() else {
            report.leave(&self.before.id, "was removed since it was edited");
            return Ok(report);
        };
        if !now.is_same_apart_from_vector(&self.after) {
            report.leave(
                &self.before.id,
                "was changed since it was edited, and stays as it is",
            );
            return Ok(report);
        }
        let keeps_vector = self.model == Some(filing.collection().model());
        let mut batch = [Write::Upsert(to_new_drawer(&self.before, keeps_vector))];
        if !keeps_vector {
            filing.embed(&mut batch)?;
            report.embedded = 1;
        }
        let guard = SecretGuard::new(palace);
        let seals = [DrawerSeals {
            id: &self.before.id,
            text: self.before.document.as_deref().unwrap_or_default(),
            spans: &self.spans,
        }];
        guard.store_seals(&seals)?;
        let receipt = apply_as_read(palace, filing.collection().as_ref(), &batch, &[now])?;
        // Once more, in case another process has collected the records before the text was there.
        guard.store_seals(&seals)?;
        if receipt.replaced.is_empty() {
            report.embedded = 0;
            report.leave(
                &self.before.id,
                "stays as it is: another drawer has its old place in its source by now",
            );
            return Ok(report);
        }
        report.undone = 1;
        Ok(report)
    }
}
