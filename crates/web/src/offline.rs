//! The offline page: a scope as one HTML file that can be searched without a server, a network or a palace.
//!
//! ```text
//! drawers of one moment → a line of JSON each → blocks of lines in the file → the script reads block after block,
//! builds an index in memory, and makes every element by createElement and textContent
//! ```
//!
//! **One representation.** A drawer is in the file once: as a line of JSON with the field names of every other
//! interface, in a `<script type="application/json">` block, which browsers never run. Articles of HTML would let the
//! page be read without its script, but 50,000 of them take a browser half a minute and gigabytes to lay out, and data
//! beside them would double the file. Where scripts are off, the style sheet shows the blocks themselves: lines of text
//! between angle brackets that nothing hides, however many there are.
//!
//! **No stored text can end its block**, start a comment or a script, or reorder what is around it: outside of ASCII's
//! visible characters, [`push_json`](lines::push_json) writes `<`, `>`, `&`, and every character that controls or cannot
//! be seen as `\uXXXX`.
//!
//! **The page asks for nothing and runs nothing else.** Its content security policy names the hashes of its one script and
//! one style sheet, and allows no connection, image, frame, form or base; trusted types keep any part of the script
//! from making elements from text. The characters that the script shows by their code come from
//! [`is_invisible`](loci_engine::invisible::is_invisible), as ranges in the file, so that both sides show the same.
//!
//! **Memory is bounded on both sides.** A block is written when it is full, so writing takes the memory of a block and a
//! page of drawers. The reader takes each block out of the document once it is in the index. The last block has the
//! number of drawers: a file that was cut off says so, instead of missing some silently.

mod frame;
mod hash;
mod lines;

use loci_core::{Error, PalaceFinding, Timestamp};
use loci_engine::Palace;
use loci_engine::export::{ExportDamage, ExportReport};
use loci_engine::view::DrawerScope;
use loci_engine::visit::VisitStep;
use serde::Serialize;

use lines::{BlockWriter, OfflineDrawer, push_json};

/// The drawers of an offline page, and what the page says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfflinePageRequest {
    /// The name of the palace.
    pub palace_name: String,
    /// The drawers.
    pub scope: DrawerScope,
    /// The scope in words: names of fields and their values, as its reader chose them.
    pub about: Vec<(String, String)>,
}

/// The outcome of writing an offline page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfflinePageReport {
    /// The number of drawers in it.
    pub drawers: u64,
    /// Its size.
    pub bytes: u64,
    /// Damage: drawers of which only a part was written, and drawers that were omitted.
    pub damaged: Vec<ExportDamage>,
    /// Names in the scope that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

/// How much of an offline page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfflinePageProgress {
    /// The number of drawers written.
    pub drawers: u64,
    /// The number of all drawers, where it is known.
    pub total: Option<u64>,
}

/// What the script knows before the first drawer.
#[derive(Debug, Serialize)]
struct OfflineHead<'a> {
    palace: &'a str,
    written_at: Timestamp,
    about: &'a [(String, String)],
    /// The number of drawers, where it is known.
    drawers: Option<u64>,
    /// The characters that are shown by their code, as ranges.
    unseen: Vec<(u32, u32)>,
}

/// What the script finds behind the last drawer.
#[derive(Debug, Serialize)]
struct OfflineEnd {
    drawers: u64,
    /// The number of drawers that could not be read from the palace, or only in part.
    damaged: usize,
}

/// Writes the drawers of a scope as one HTML file, part by part to `sink`.
///
/// `watch` is told of every drawer; its error, like one of the sink, ends the writing.
pub fn write_offline_page<E: From<Error>>(
    palace: &Palace,
    request: &OfflinePageRequest,
    sink: &mut dyn FnMut(&str) -> Result<(), E>,
    watch: &mut dyn FnMut(OfflinePageProgress) -> Result<(), E>,
) -> Result<OfflinePageReport, E> {
    let mut bytes = 0;
    let mut put = |part: &str| {
        bytes += part.len() as u64;
        sink(part)
    };
    let mut blocks = BlockWriter::default();
    let mut progress = OfflinePageProgress {
        drawers: 0,
        total: None,
    };
    let report = palace.visit_drawers(&request.scope, &mut |step| match step {
        VisitStep::Begin(total) => {
            progress.total = total;
            put(&begin_page(palace, request, total))
        }
        VisitStep::Drawer(drawer) => {
            if let Some(block) = blocks.add(&OfflineDrawer::from(drawer.as_ref())) {
                put(&block)?;
            }
            progress.drawers += 1;
            watch(progress)
        }
    })?;
    if let Some(block) = blocks.finish() {
        put(&block)?;
    }
    put(&end_page(&report))?;
    let ExportReport {
        drawers,
        damaged,
        warnings,
    } = report;
    Ok(OfflinePageReport {
        drawers,
        bytes,
        damaged,
        warnings,
    })
}

fn begin_page(palace: &Palace, request: &OfflinePageRequest, total: Option<u64>) -> String {
    let written_at = palace.now();
    let head = OfflineHead {
        palace: &request.palace_name,
        written_at,
        about: &request.about,
        drawers: total,
        unseen: lines::list_unseen_ranges(),
    };
    let mut json = String::new();
    push_json(&head, &mut json);
    frame::render_frame(&request.palace_name, written_at, &json).into_string()
}

fn end_page(report: &ExportReport) -> String {
    let end = OfflineEnd {
        drawers: report.drawers,
        damaged: report.damaged.len(),
    };
    let mut page = String::from("<script type=\"application/json\" id=\"end\">");
    push_json(&end, &mut page);
    page.push_str("</script>\n");
    page.push_str(frame::END);
    page
}
