//! Reads whatever is left of a palace file, page by page, without SQLite.
//!
//! Every page carries a checksum and every drawer a hash of its text, so each can be judged alone. Neither the header,
//! nor the schema, nor the interior of any tree is needed to find a drawer. They are used where they can be read: to tell
//! pages in use from free ones, which keep the rows of removed drawers, and to name the drawers that are lost.

mod image;
mod indexes;
mod log;
mod losses;
mod node;
mod payload;
mod pointers;
mod record;
mod remains;
mod rows;
mod shelves;
mod stamp;
mod survey;
mod trouble;

use std::path::Path;
use std::sync::Arc;

use loci_core::{PalaceRef, PalaceRemains, Result};

use image::PageImage;
use indexes::IndexSurvey;
use pointers::FileStructure;
use remains::RemainsBackend;
use survey::PageSurvey;

/// Reads the remains of the palace or copy at `path`; `watch` receives the number of pages read and their total.
pub(crate) fn open_remains(path: &Path, watch: &mut dyn FnMut(u64, u64)) -> Result<PalaceRemains> {
    let mut image = PageImage::open(path)?;
    let mut survey = PageSurvey::take(&image, watch);
    if survey.sound == 0 {
        return Err(trouble::not_a_palace(image.path()));
    }
    image.note_corrections();
    let structure = FileStructure::read(&image, &survey.interior_pages);
    survey.mark_sure(&image, &structure);
    let indexes = IndexSurvey::take(&image, &structure, &survey);
    losses::keep_newest(&mut survey, &indexes);
    let names = shelves::name_collections(&survey, &indexes);
    let doubtful = losses::list_doubtful(&survey.drawers, &names);
    let mut lost = std::mem::take(&mut image.lost);
    lost.extend(losses::list_lost(&image, &structure, &survey, &indexes, &names));
    let mut findings = std::mem::take(&mut image.findings);
    let roots = shelves::vector_spaces(&image, &structure, &survey);
    let collections = shelves::build_shelves(survey, indexes, &roots, &names, &lost, &mut findings);
    let palace = PalaceRef::local(path);
    Ok(PalaceRemains {
        backend: Arc::new(RemainsBackend::new(image, collections)),
        palace,
        lost,
        doubtful,
        findings,
    })
}
