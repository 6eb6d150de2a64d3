//! The operations that can be undone: each acts, and returns its act if all that it replaced is remembered.

use loci_core::Result;

use super::erasure::ErasureMark;
use super::{ActMemory, AddedDrawer, MoveMemory, PalaceAct, RemovalMemory};
use crate::delete::{DeleteReport, DeleteRequest};
use crate::note::{NoteReport, NoteRequest};
use crate::palace::Palace;
use crate::refile::{MoveReport, MoveRequest};
use crate::update::{UpdateReport, UpdateRequest};

impl Palace {
    /// Files a note like [`Palace::file_note`]. A note that was there already is no act.
    pub fn file_note_undoable(&self, request: &NoteRequest) -> Result<(NoteReport, Option<PalaceAct>)> {
        let mark = self.mark_before()?;
        let (report, filed) = self.file_note_remembering(request)?;
        // From here on, the note is filed: what cannot be remembered is no reason to call it failed.
        let added = filed.and_then(|new| AddedDrawer::read(self, &new).ok()?);
        let memory = added.map(|added| ActMemory::Added(Box::new(added)));
        Ok((report, memory.map(|memory| PalaceAct::new(mark, memory))))
    }

    /// Changes a drawer like [`Palace::update`].
    pub fn update_undoable(&self, request: &UpdateRequest) -> Result<(UpdateReport, Option<PalaceAct>)> {
        let mark = self.mark_before()?;
        let (report, edited) = self.update_remembering(request, true)?;
        let memory = edited.map(|edited| ActMemory::Edited(Box::new(edited)));
        Ok((report, memory.map(|memory| PalaceAct::new(mark, memory))))
    }

    /// Moves drawers like [`Palace::move_drawers`].
    pub fn move_undoable(&self, request: &MoveRequest) -> Result<(MoveReport, Option<PalaceAct>)> {
        let mark = self.mark_before()?;
        let mut memory = MoveMemory::new();
        let report = self.move_remembering(request, &mut memory)?;
        let memory = memory.into_moved().map(ActMemory::Moved);
        Ok((report, memory.map(|memory| PalaceAct::new(mark, memory))))
    }

    /// Removes drawers like [`Palace::delete`].
    pub fn delete_undoable(&self, request: &DeleteRequest) -> Result<(DeleteReport, Option<PalaceAct>)> {
        let mark = self.mark_before()?;
        let mut memory = RemovalMemory::default();
        let report = self.delete_remembering(request, &mut memory)?;
        let memory = memory.into_removed().map(ActMemory::Removed);
        Ok((report, memory.map(|memory| PalaceAct::new(mark, memory))))
    }

    /// Returns the mark of the last erasure, read before an act so that one during the act is noticed.
    fn mark_before(&self) -> Result<ErasureMark> {
        ErasureMark::read(self)
    }
}
