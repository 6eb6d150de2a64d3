//! The removal of drawers, by id and by condition.

use loci_core::{DrawerCondition, DrawerFields, DrawerId, Result};

use super::ServerBatchWork;
use super::known::BatchDrawer;
use crate::row::{self, ServerDrawer};

impl ServerBatchWork<'_, '_> {
    pub(super) fn delete(&mut self, id: &DrawerId) {
        let known = self.known.find(id).filter(|known| self.sees(known));
        let Some(row) = known.map(|known| known.stored.row) else {
            self.receipt.missing.push(id.clone());
            return;
        };
        self.remove_row(row);
        self.known.remove(id);
        self.changes.drawers -= 1;
        let seq = self.next_seq();
        self.rows.note_removal(id.as_str(), seq);
        self.receipt.deleted.push(id.clone());
    }

    pub(super) fn delete_matching(&mut self, condition: &DrawerCondition) -> Result<()> {
        // The condition sees the state after the writes before it, so those are sent first.
        let pending = self.take_pending();
        self.transaction.ask_all(&pending)?;
        let matching = self.find_matching(condition)?;
        let ids: Vec<DrawerId> = matching.iter().map(|stored| stored.drawer.id.clone()).collect();
        for stored in matching {
            let piece = row::piece_hash(&stored.drawer);
            self.known.insert(BatchDrawer { stored, piece });
        }
        ids.iter().for_each(|id| self.delete(id));
        Ok(())
    }

    /// Returns the drawers that the caller sees and that meet a condition, whole enough to be removed.
    fn find_matching(&self, condition: &DrawerCondition) -> Result<Vec<ServerDrawer>> {
        let view = self.view();
        let scope = view.resolve_scope(&condition.filter, &condition.document)?;
        let include = DrawerFields {
            metadata: true,
            document: true,
            ..DrawerFields::NOTHING
        };
        let mut statement = view.select_drawers(include);
        scope.push_condition(&mut statement);
        statement.push(" ORDER BY d.id");
        let mut matching = Vec::new();
        view.session.stream(&statement, view.deadline, &mut |found| {
            matching.push(ServerDrawer::read(found)?);
            Ok(())
        })?;
        Ok(matching)
    }

    pub(super) fn remove_row(&mut self, row: i64) {
        self.leave_row(row);
        let is_sealed = self.transaction.shelf.words.remove_drawer(row);
        self.rows.remove(row, is_sealed);
    }

    /// Closes the changes if they file a row that is about to be removed: removing comes first in them.
    pub(super) fn leave_row(&mut self, row: i64) {
        if self.rows.files(row) {
            self.close_changes();
        }
    }
}
