//! The secrets of imported lines.

use loci_core::Result;

use super::LineImporter;
use super::shelf::PendingLine;
use crate::palace::Palace;
use crate::seal::{DrawerSeals, SealedDrawer, SecretGuard};

impl LineImporter<'_> {
    /// Seals the secrets of pending lines; lines that are refused for theirs are listed and left out.
    pub(super) fn seal_pending(
        &mut self,
        palace: &Palace,
        pending: Vec<PendingLine>,
    ) -> Result<Vec<PendingLine>> {
        let guard = SecretGuard::new(palace);
        let mut sealed_lines = Vec::with_capacity(pending.len());
        for PendingLine {
            line,
            drawer,
            mut spans,
            header,
        } in pending
        {
            guard.keep_own_spans(&mut spans)?;
            match guard.guard_drawer(drawer, spans) {
                Ok(SealedDrawer { drawer, spans, found }) => {
                    self.report.secrets.add(&found);
                    sealed_lines.push(PendingLine {
                        line,
                        drawer,
                        spans,
                        header,
                    });
                }
                Err(error) => self.list_failure(line, error)?,
            }
        }
        store_line_seals(&guard, &sealed_lines)?;
        Ok(sealed_lines)
    }
}

/// Writes the records of lines: before they are committed, and again behind that, in case another process has collected
/// them meanwhile.
pub(super) fn store_line_seals(guard: &SecretGuard<'_>, lines: &[PendingLine]) -> Result<()> {
    let seals: Vec<DrawerSeals<'_>> = lines
        .iter()
        .map(|one| DrawerSeals {
            id: &one.drawer.id,
            text: &one.drawer.document,
            spans: &one.spans,
        })
        .collect();
    guard.store_seals(&seals)
}
