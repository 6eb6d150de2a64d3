//! How the reference applies batches: in order, on a copy that takes the table's place when all went well.

use loci_core::{
    Drawer, DrawerId, EmbedderIdentity, NewDrawer, Patch, Receipt, Result, Selection, Timestamp, Twin,
    Visibility, Write,
};

use super::table::{Row, Table};

/// Batches being applied to a copy of a table.
pub(super) struct Applying<'a> {
    table: Table,
    receipt: Receipt,
    changed: bool,
    seq: u64,
    now: Timestamp,
    declared: Option<&'a EmbedderIdentity>,
    visible: &'a Visibility,
}

/// What each vector of a batch says of its drawer.
pub(super) fn has_vectors(batch: &[Write]) -> bool {
    batch.iter().any(|write| match write {
        Write::Add(drawer) | Write::Upsert(drawer) => drawer.embedding.is_some(),
        Write::Update(patch) => patch.embedding.is_some(),
        Write::Delete(_) => false,
    })
}

impl<'a> Applying<'a> {
    pub(super) fn to(
        table: &Table,
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

    /// The table with what was applied so far.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Applies one batch.
    pub(super) fn batch(&mut self, batch: &[Write]) -> Result<()> {
        for write in batch {
            match write {
                Write::Add(drawer) => self.add(drawer)?,
                Write::Upsert(drawer) => self.upsert(drawer)?,
                Write::Update(patch) => self.update(patch)?,
                Write::Delete(Selection::Ids(ids)) => ids.iter().for_each(|id| self.delete(id)),
                Write::Delete(Selection::Matching(condition)) => {
                    let rows = self.table.rows.values();
                    let matching: Vec<DrawerId> = rows
                        .filter(|row| condition.accepts(&row.drawer) && self.visible.sees(&row.drawer))
                        .map(|row| row.drawer.id.clone())
                        .collect();
                    matching.iter().for_each(|id| self.delete(id));
                }
            }
        }
        Ok(())
    }

    /// The table and the palace's sequence number after all batches, and one receipt for them.
    pub(super) fn end(mut self) -> (Table, u64, Receipt) {
        // A batch that changed nothing must not tell how often others have written out of sight.
        self.receipt.seq = if self.changed {
            self.table.seq
        } else {
            self.table.seen_through(self.visible).seq
        };
        (self.table, self.seq, self.receipt)
    }

    fn add(&mut self, drawer: &NewDrawer) -> Result<()> {
        let filed = self.checked(drawer)?;
        if self.table.rows.contains_key(&drawer.id) {
            self.receipt.kept.push(drawer.id.clone());
            return Ok(());
        }
        self.file(filed)
    }

    fn upsert(&mut self, drawer: &NewDrawer) -> Result<()> {
        let filed = self.checked(drawer)?;
        self.file(filed)
    }

    /// The drawer to be filed; refused where it, or the one that has its id, is out of sight.
    fn checked(&self, drawer: &NewDrawer) -> Result<Drawer> {
        let filed = drawer.filed(self.now)?;
        self.visible.check_written(&filed)?;
        match self.table.rows.get(&drawer.id) {
            Some(row) if !self.visible.sees(&row.drawer) => Err(Visibility::id_taken(&drawer.id)),
            _ => Ok(filed),
        }
    }

    fn file(&mut self, filed: Drawer) -> Result<()> {
        if self.is_twin(&filed)? {
            return Ok(());
        }
        let id = filed.id.clone();
        let list = if self.put(filed, None) {
            &mut self.receipt.replaced
        } else {
            &mut self.receipt.added
        };
        list.push(id);
        Ok(())
    }

    fn update(&mut self, patch: &Patch) -> Result<()> {
        let row = self.table.rows.get(&patch.id);
        let Some(row) = row.filter(|row| self.visible.sees(&row.drawer)) else {
            self.receipt.missing.push(patch.id.clone());
            return Ok(());
        };
        let (mut drawer, version) = (row.drawer.clone(), row.version);
        patch.apply_to(&mut drawer);
        let same_text = drawer.document == row.drawer.document && drawer.context == row.drawer.context;
        self.visible.check_written(&drawer)?;
        if !self.is_twin(&drawer)? {
            self.put(drawer, same_text.then_some(version));
            self.receipt.updated.push(patch.id.clone());
        }
        Ok(())
    }

    fn delete(&mut self, id: &DrawerId) {
        let row = self.table.rows.get(id);
        if !row.is_some_and(|row| self.visible.sees(&row.drawer)) {
            self.receipt.missing.push(id.clone());
            return;
        }
        self.table.rows.remove(id);
        self.table.forget(id);
        self.table.garbage += 1;
        let seq = self.stamp();
        self.table.removed.insert(id.clone(), seq);
        self.receipt.deleted.push(id.clone());
    }

    /// Lists `drawer` as a twin if the same piece of the same source is filed under another id; refused where that
    /// one is out of sight.
    fn is_twin(&mut self, drawer: &Drawer) -> Result<bool> {
        let Some(piece) = piece(drawer) else {
            return Ok(false);
        };
        let mut others = self.table.rows.values().filter(|row| row.drawer.id != drawer.id);
        let Some(twin) = others.find(|row| self::piece(&row.drawer).as_ref() == Some(&piece)) else {
            return Ok(false);
        };
        if !self.visible.sees(&twin.drawer) {
            return Err(Visibility::piece_taken(&drawer.id));
        }
        self.receipt.twins.push(Twin {
            given: drawer.id.clone(),
            existing: twin.drawer.id.clone(),
        });
        Ok(true)
    }

    /// Stores a drawer, with the version of its text if that stays; whether one stood under its id.
    fn put(&mut self, drawer: Drawer, version: Option<u64>) -> bool {
        match &drawer.embedding {
            Some(vector) => {
                self.table.dimension = Some(vector.len());
                if self.table.recorded.is_none() {
                    self.table.recorded = self.declared.cloned();
                }
            }
            None => self.receipt.without_vector.push(drawer.id.clone()),
        }
        let (id, seq) = (drawer.id.clone(), self.stamp());
        self.table.removed.remove(&id);
        if version.is_none() {
            self.table.forget(&id);
        }
        let version = version.unwrap_or(seq);
        let row = Row { drawer, seq, version };
        let was_there = self.table.rows.insert(id, row).is_some();
        self.table.garbage += u64::from(was_there);
        was_there
    }

    fn stamp(&mut self) -> u64 {
        self.changed = true;
        self.seq += 1;
        self.table.seq = self.seq;
        self.seq
    }
}

/// What makes two drawers the same piece of the same source.
fn piece(drawer: &Drawer) -> Option<(&str, &str, u64)> {
    let source = drawer.place.source.as_deref()?;
    Some((source, drawer.document.as_deref()?, drawer.place.span?.start))
}
