//! Mine: files sources as drawers, every word verbatim and once.
//!
//! ```text
//! walk → look up (unchanged? done) → read → draft → compare → group → commit (embedded with no lock held) → account
//! ```
//!
//! `loci_mine` finds sources and reads them into documents; the stages here compare them with the collection
//! and file them. Each stage hands values to the next. A source that another process filed in the meantime is
//! read again.
//!
//! A source is old or new, never both: its drawers and its stamp change in one transaction. A bad source is a
//! line in the report and does not stop the run.

mod account;
mod commit;
mod compare;
pub(crate) mod draft;
mod drafter;
mod filer;
mod gone;
mod group;
mod lookup;
mod older;
mod queue;
mod run;
mod shelving;
pub mod stamp;
mod stored;
mod trouble;
mod vouch;
mod withhold;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use loci_core::{Error, ErrorKind, FilingDoor, Result, Timestamp};
use loci_mine::WalkEvent;
use loci_mine::conversation::ReadingNote;
use loci_mine::cut::PieceLengths;
pub use loci_mine::{cut, formats, name, project, walk};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::seal::SecretTally;
pub(crate) use older::is_older_filing;
pub use shelving::spell_wing;
pub(crate) use stored::{StoredSource, is_mined, read_mined_drawers};
pub use vouch::TranscriptFolder;

/// The default limit on the size of a file, in bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// The sources to mine, and how to mine them.
#[derive(Debug, Clone)]
pub struct MineRequest {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// The format of every file, by name; see [`formats::format_names`]. Detected if not given.
    pub format: Option<String>,
    /// The wing for everything.
    pub wing: Option<String>,
    /// The room for everything.
    pub room: Option<String>,
    /// Only messages said and files changed at this time or later.
    pub since: Option<Timestamp>,
    /// Larger files are skipped.
    pub max_bytes: u64,
    /// Include hidden files and folders.
    pub hidden: bool,
    /// Include files and folders that ignore files exclude.
    pub ignored: bool,
    /// Include files whose names say that they hold private keys or credentials.
    pub credentials: bool,
    /// The size of pieces.
    pub cutting: PieceLengths,
    /// File words again that were deleted, and forget that they were.
    pub restore_deleted: bool,
    /// Only report what would be done.
    pub dry_run: bool,
    /// Folders that are never entered.
    pub avoid: Vec<PathBuf>,
    /// The user's global ignore file.
    pub excludes: Option<PathBuf>,
    /// The door recorded in the provenance of the drawers.
    pub door: FilingDoor,
    /// Believe that transcripts are what a harness wrote, wherever they lie. Without it, only those in the palace's
    /// [`TranscriptFolder`]s are; any other is a file, whatever speakers and working folder it names.
    pub trusted: bool,
    /// Stops the run between two sources.
    pub stop: StopSignal,
}

/// Asks a long operation to end soon; everything it did until then stays.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Requests the stop.
    pub fn request_stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether a stop was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check_not_stopped(&self) -> Result<()> {
        if self.is_requested() {
            return Err(Error::new(ErrorKind::Conflict, "mining was stopped")
                .with_hint("everything filed so far is kept; the next run continues from there"));
        }
        Ok(())
    }
}

impl MineRequest {
    /// Requests these paths with default settings.
    pub fn for_paths(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            paths: paths.into_iter().collect(),
            format: None,
            wing: None,
            room: None,
            since: None,
            max_bytes: MAX_BYTES,
            hidden: false,
            ignored: false,
            credentials: false,
            cutting: PieceLengths::default(),
            restore_deleted: false,
            dry_run: false,
            avoid: Vec::new(),
            excludes: None,
            door: FilingDoor::Library,
            trusted: false,
            stop: StopSignal::default(),
        }
    }
}

/// The outcome of mining.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct MineReport {
    /// The files and bundles examined.
    pub sources_seen: u64,
    /// The sources that were new or had changed and are filed now.
    pub sources_mined: u64,
    /// The sources that have not changed since they were filed.
    pub sources_unchanged: u64,
    /// The sources that could not be read; their earlier drawers are kept.
    pub sources_failed: Vec<FailedSource>,
    /// The sources that were skipped, with reasons.
    pub skipped: Vec<SkippedSource>,
    /// Drawers filed for the first time.
    pub drawers_added: u64,
    /// Existing drawers that stay.
    pub drawers_kept: u64,
    /// Drawers removed because their text is no longer in its source.
    pub drawers_removed: u64,
    /// Pieces that were not filed again because they were deleted.
    pub withheld: u64,
    /// Drawers that MemPalace had filed from these sources, recognised as older filings of them.
    #[serde(skip_serializing_if = "OlderDrawers::is_empty")]
    pub recognised: OlderDrawers,
    /// The secrets found in what was read.
    #[serde(skip_serializing_if = "SecretTally::is_empty")]
    pub secrets: SecretTally,
    /// Parts of sources that could not be filed, such as broken lines and images.
    pub notes: Vec<SourceNote>,
    /// Sources filed from these paths that no longer exist; their drawers stay.
    pub vanished: Vec<String>,
    /// The number of sources of each format.
    pub formats: BTreeMap<String, u64>,
    /// The files and folders that were not examined because they are hidden, ignored or vendored.
    pub left_out: LeftOutCounts,
    /// The planned sources; only in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<PlannedSource>>,
    /// The number of added drawers without a vector.
    pub without_vector: u64,
    /// The reason they have none although a model is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The palace, if it was created for these sources.
    #[serde(skip)]
    pub made_palace: Option<String>,
    /// The time it took.
    pub seconds: f64,
}

/// Drawers of an older filing of the same sources, which came with a migration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OlderDrawers {
    /// Those whose words are all in their source, and which its new drawers replace.
    pub replaced: u64,
    /// Those that stay, because some of their words are not in their source any more.
    pub kept: u64,
}

impl OlderDrawers {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A source that could not be mined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedSource {
    /// The source.
    pub source: String,
    /// The reason.
    pub error: String,
}

/// A source that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedSource {
    /// The source.
    pub source: String,
    /// The reason.
    pub reason: String,
}

/// A part of a source that could not be filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceNote {
    /// The source.
    pub source: String,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// A description of the part.
    pub note: String,
}

impl SourceNote {
    pub(crate) fn new(source: &str, note: ReadingNote) -> Self {
        Self {
            source: source.to_owned(),
            line: note.line,
            note: note.text,
        }
    }
}

/// The numbers of files and folders that were not examined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOutCounts {
    /// Hidden files and folders.
    pub hidden: u64,
    /// Files and folders excluded by ignore files.
    pub ignored: u64,
    /// Folders of downloaded or built artefacts.
    pub vendored: u64,
}

/// A source as a dry run would file it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedSource {
    /// The source.
    pub source: String,
    /// Its format.
    pub format: String,
    /// The wing its drawers would go to.
    pub wing: String,
    /// The room.
    pub room: String,
    /// The number of drawers it would have.
    pub drawers: u64,
    /// The number of drawers that would be new.
    pub new: u64,
}

/// The progress of mining.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MineProgress {
    /// The sources dealt with.
    pub sources: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Drawers added so far.
    pub drawers: u64,
}

/// The amount to mine, as far as a walk can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MineExtent {
    /// Sources.
    pub sources: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// Measures how much there is to mine without reading a file.
pub fn survey_sources(request: &MineRequest) -> Result<MineExtent> {
    let mut extent = MineExtent::default();
    for event in loci_mine::walk(&run::walk_request(request)?)? {
        if let WalkEvent::Source(found) = event {
            extent.sources += 1;
            extent.bytes += found.total_bytes();
        }
    }
    Ok(extent)
}

impl Palace {
    /// Mines the sources of a request.
    ///
    /// `watch` is called with the progress. Sources are committed as they come: however the run ends, every
    /// source is old or new, and the next run continues.
    pub fn mine(&self, request: &MineRequest, watch: &mut dyn FnMut(MineProgress)) -> Result<MineReport> {
        // Mining decides on wings by itself and reads the ledger of all sources, so it needs the whole palace.
        self.access().check_mining()?;
        let began = Instant::now();
        let clock = || self.now();
        let report = run::MineRun::new(self, request, &clock, watch)?.run()?;
        Ok(MineReport {
            seconds: (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            ..report
        })
    }
}
