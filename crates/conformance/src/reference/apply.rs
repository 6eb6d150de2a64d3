//! Applying batches in the reference: in order, on a copy that replaces the table if no write is refused.

use loci_core::{
    DeleteSelection, Drawer, DrawerId, DrawerPatch, DrawerTwin, EmbedderIdentity, NewDrawer, Receipt, Result,
    Timestamp, Visibility, Write,
};

use super::table::{ReferenceRow, ReferenceTable};

/// Batches being applied to a copy of a table.
pub(super) struct BatchApplier<'a> {
    table: ReferenceTable,
    receipt: Receipt,
    changed: bool,
    seq: u64,
    now: Timestamp,
    declared: Option<&'a EmbedderIdentity>,
    visible: &'a Visibility,
}

/// Returns whether any write of the batch carries a vector.
pub(super) fn has_vectors(batch: &[Write]) -> bool {
    batch.iter().any(|write| match write {
        Write::Add(drawer) | Write::Upsert(drawer) => drawer.embedding.is_some(),
        Write::Update(patch) => patch.embedding.is_some(),
        Write::Delete(_) => false,
    })
}

impl<'a> BatchApplier<'a> {
    pub(super) fn on_copy(
        table: &ReferenceTable,
        seq: u64,
        now: Timestamp,
        declared: Option<&'a EmbedderIdentity>,
        visible: &'a Visibility,
    ) -> Self {
        Self {
            table: table.clone(),
            receipt: Receipt::default(),
            changed: false,
            seq,
            now,
            declared,
            visible,
        }
    }

    /// Returns the table with the batches applied so far.
    pub(super) fn table(&self) -> &ReferenceTable {
        &self.table
    }

    /// Applies one batch.
    pub(super) fn apply_batch(&mut self, batch: &[Write]) -> Result<()> {
        for write in batch {
            match write {
                Write::Add(drawer) => self.add_drawer(drawer)?,
                Write::Upsert(drawer) => self.upsert_drawer(drawer)?,
                Write::Update(patch) => self.update_drawer(patch)?,
                Write::Delete(DeleteSelection::Ids(ids)) => ids.iter().for_each(|id| self.delete_drawer(id)),
                Write::Delete(DeleteSelection::Matching(condition)) => {
                    let rows = self.table.rows.values();
                    // Collected first: the rows cannot be removed while they are iterated, and the
                    // condition sees the state before.
                    let matching: Vec<DrawerId> = rows
                        .filter(|row| condition.accepts(&row.drawer) && self.visible.sees_drawer(&row.drawer))
                        .map(|row| row.drawer.id.clone())
                        .collect();
                    matching.iter().for_each(|id| self.delete_drawer(id));
                }
            }
        }
        Ok(())
    }

    /// Returns the table, the palace's sequence number after all batches, and one receipt for them.
    pub(super) fn into_result(mut self) -> (ReferenceTable, u64, Receipt) {
        // A batch that changed nothing must not tell how often others have written out of sight.
        self.receipt.seq = if self.changed {
            self.table.seq
        } else {
            self.table.seen_through(self.visible).seq
        };
        (self.table, self.seq, self.receipt)
    }

    fn add_drawer(&mut self, drawer: &NewDrawer) -> Result<()> {
        // Checked even if the id exists and the drawer is only kept: a hidden drawer under that id is a
        // conflict.
        let filed = self.check_drawer(drawer)?;
        if self.table.rows.contains_key(&drawer.id) {
            self.receipt.kept.push(drawer.id.clone());
            return Ok(());
        }
        self.file_drawer(filed)
    }

    fn upsert_drawer(&mut self, drawer: &NewDrawer) -> Result<()> {
        let filed = self.check_drawer(drawer)?;
        self.file_drawer(filed)
    }

    /// Returns the drawer to be filed; refused if it, or an existing drawer with its id, is out of sight.
    fn check_drawer(&self, drawer: &NewDrawer) -> Result<Drawer> {
        let filed = drawer.to_filed_drawer(self.now)?;
        // Before the id is looked up: otherwise the kind of the error would tell whether a hidden drawer
        // has it.
        self.visible.check_written(&filed)?;
        match self.table.rows.get(&drawer.id) {
            Some(row) if !self.visible.sees_drawer(&row.drawer) => {
                Err(Visibility::id_taken_error(&drawer.id))
            }
            _ => Ok(filed),
        }
    }

    fn file_drawer(&mut self, filed: Drawer) -> Result<()> {
        if self.is_twin(&filed)? {
            return Ok(());
        }
        let id = filed.id.clone();
        let list = if self.put_row(filed, None) {
            &mut self.receipt.replaced
        } else {
            &mut self.receipt.added
        };
        list.push(id);
        Ok(())
    }

    fn update_drawer(&mut self, patch: &DrawerPatch) -> Result<()> {
        let row = self.table.rows.get(&patch.id);
        let Some(row) = row.filter(|row| self.visible.sees_drawer(&row.drawer)) else {
            self.receipt.missing.push(patch.id.clone());
            return Ok(());
        };
        let (mut drawer, version) = (row.drawer.clone(), row.version);
        patch.apply_to(&mut drawer);
        // The version stands for the text that is embedded, which includes the context.
        let same_text = drawer.document == row.drawer.document && drawer.context == row.drawer.context;
        self.visible.check_written(&drawer)?;
        if !self.is_twin(&drawer)? {
            self.put_row(drawer, same_text.then_some(version));
            self.receipt.updated.push(patch.id.clone());
        }
        Ok(())
    }

    fn delete_drawer(&mut self, id: &DrawerId) {
        let row = self.table.rows.get(id);
        if !row.is_some_and(|row| self.visible.sees_drawer(&row.drawer)) {
            self.receipt.missing.push(id.clone());
            return;
        }
        self.table.rows.remove(id);
        self.table.forget_vectors(id);
        self.table.garbage += 1;
        let seq = self.next_seq();
        // Kept for the change feed; there is nothing else left of a removed drawer.
        self.table.removed.insert(id.clone(), seq);
        self.receipt.deleted.push(id.clone());
    }

    /// Lists `drawer` as a twin if the same piece of the same source is filed under another id; refused if that
    /// drawer is out of sight.
    fn is_twin(&mut self, drawer: &Drawer) -> Result<bool> {
        let Some(piece) = piece_key(drawer) else {
            return Ok(false);
        };
        let mut others = self.table.rows.values().filter(|row| row.drawer.id != drawer.id);
        let Some(twin) = others.find(|row| self::piece_key(&row.drawer).as_ref() == Some(&piece)) else {
            return Ok(false);
        };
        if !self.visible.sees_drawer(&twin.drawer) {
            return Err(Visibility::piece_taken_error(&drawer.id));
        }
        self.receipt.twins.push(DrawerTwin {
            given: drawer.id.clone(),
            existing: twin.drawer.id.clone(),
        });
        Ok(true)
    }

    /// Stores a drawer, keeping `version` if its text is unchanged; returns whether it replaced one.
    fn put_row(&mut self, drawer: Drawer, version: Option<u64>) -> bool {
        match &drawer.embedding {
            Some(vector) => {
                // The first vector of a collection fixes its dimension and, if declared, its model.
                self.table.dimension = Some(vector.len());
                if self.table.recorded.is_none() {
                    self.table.recorded = self.declared.cloned();
                }
            }
            None => self.receipt.without_vector.push(drawer.id.clone()),
        }
        let (id, seq) = (drawer.id.clone(), self.next_seq());
        // Filed again: the feed lists only the newest change of an id.
        self.table.removed.remove(&id);
        if version.is_none() {
            self.table.forget_vectors(&id);
        }
        let version = version.unwrap_or(seq);
        let row = ReferenceRow { drawer, seq, version };
        let was_there = self.table.rows.insert(id, row).is_some();
        self.table.garbage += u64::from(was_there);
        was_there
    }

    fn next_seq(&mut self) -> u64 {
        self.changed = true;
        // One sequence for the whole palace, so that numbers never repeat across collections.
        self.seq += 1;
        self.table.seq = self.seq;
        self.seq
    }
}

/// Returns the key under which two drawers are the same piece of the same source.
fn piece_key(drawer: &Drawer) -> Option<(&str, &str, u64)> {
    let source = drawer.place.source.as_deref()?;
    Some((source, drawer.document.as_deref()?, drawer.place.span?.start))
}
