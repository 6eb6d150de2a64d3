//! Pages that are damaged in the file and read all the same, because what they say can be told without them.

use loci_core::{FindingSeverity, PalaceFinding, Result};
use rusqlite::Connection;

use crate::vfs;

/// Returns a finding for each page that is damaged and read all the same.
pub(crate) fn mended_findings(connection: &Connection) -> Result<Vec<PalaceFinding>> {
    let pages = vfs::mended_pages(connection)?;
    Ok(pages.into_iter().map(mended_finding).collect())
}

fn mended_finding(page: u32) -> PalaceFinding {
    let what = match page {
        1 => "a single bit of it is flipped, or its record of the log is damaged and was read from the copy",
        _ => "only its copy of the record of the log is damaged",
    };
    PalaceFinding::new(
        "page_mended",
        FindingSeverity::Warning,
        format!("page {page} of the file is damaged, but nothing is lost: {what}"),
    )
    .with_hint("make a sound copy with `loci backup`, and look after the disk")
}
