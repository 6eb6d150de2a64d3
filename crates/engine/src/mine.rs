//! Mine: sources into drawers, every word verbatim and once.
//!
//! ```text
//! walk → look up (unchanged? done) → read → draft → compare → group → commit (embedded with no lock held) → account
//! ```
//!
//! `loci_mine` finds sources and reads them into documents; the stages here compare them with the collection and file
//! them. Each stage hands values to the next; a source that another process filed meanwhile goes round again.
//!
//! A source is old or new, never both: its drawers and the note of what it looked like change in one transaction. A
//! bad source is a line in the report, not a stop.

mod account;
mod commit;
mod compare;
pub(crate) mod draft;
mod drafter;
mod filer;
mod gone;
mod group;
mod lookup;
mod queue;
mod run;
mod shelving;
pub mod stamp;
mod stored;
mod trouble;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use loci_core::{Error, ErrorKind, FilingDoor, Result, Timestamp};
use loci_mine::WalkEvent;
use loci_mine::conversation::Note;
use loci_mine::cut::Cutting;
pub use loci_mine::{cut, formats, name, project, walk};
use serde::Serialize;

use crate::palace::Palace;
pub use shelving::spelled;
pub(crate) use stored::mined;

/// How large a file may be unless somebody asks for more, in bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// What to mine, and how.
#[derive(Debug, Clone)]
pub struct MineRequest {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// What every file is taken for, by name; see [`formats::names`].
    pub format: Option<String>,
    /// The wing for everything.
    pub wing: Option<String>,
    /// The room for everything.
    pub room: Option<String>,
    /// Only what was said or changed at this time or later.
    pub since: Option<Timestamp>,
    /// Larger files are left out.
    pub max_bytes: u64,
    /// Take hidden files and folders, too.
    pub hidden: bool,
    /// Take what ignore files leave out, too.
    pub ignored: bool,
    /// How to cut.
    pub cutting: Cutting,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Folders never entered.
    pub avoid: Vec<PathBuf>,
    /// The user's own ignore file for every repository.
    pub excludes: Option<PathBuf>,
    /// The door that what is mined comes through.
    pub door: FilingDoor,
    /// Ends the run between two sources.
    pub stop: Stop,
}

/// Asks something that takes long to end soon; what it did until then stays.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<()> {
        if self.is_asked() {
            return Err(Error::new(ErrorKind::Conflict, "mining was stopped")
                .hint("what was filed until then stays; the next run goes on from there"));
        }
        Ok(())
    }
}

impl MineRequest {
    /// Mines these paths with everything else as usual.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            paths: paths.into_iter().collect(),
            format: None,
            wing: None,
            room: None,
            since: None,
            max_bytes: MAX_BYTES,
            hidden: false,
            ignored: false,
            cutting: Cutting::default(),
            dry_run: false,
            avoid: Vec::new(),
            excludes: None,
            door: FilingDoor::Library,
            stop: Stop::default(),
        }
    }
}

/// What mining did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MineReport {
    /// Files and bundles that were looked at.
    pub sources_seen: u64,
    /// Those that were new or had changed, and are filed now.
    pub sources_mined: u64,
    /// Those that are as they were when they were filed.
    pub sources_unchanged: u64,
    /// Those that could not be read; what was filed of them before is still there.
    pub sources_failed: Vec<FailedSource>,
    /// Those that were left out, and why.
    pub skipped: Vec<SkippedSource>,
    /// Drawers filed for the first time.
    pub drawers_added: u64,
    /// Drawers that were there and stay.
    pub drawers_kept: u64,
    /// Drawers whose text is no longer in its source.
    pub drawers_removed: u64,
    /// What of the sources could not be taken over: broken lines, images.
    pub notes: Vec<SourceNote>,
    /// Sources that were filed from these paths and are no longer there; their drawers stay.
    pub vanished: Vec<String>,
    /// How many sources were taken for what.
    pub formats: BTreeMap<String, u64>,
    /// What was not looked at, because it is hidden, ignored, or made by others.
    pub left_out: LeftOut,
    /// What would be filed; of a dry run only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<Planned>>,
    /// How many of the added drawers have no vector.
    pub without_vector: u64,
    /// Why, where a model is recorded that should have made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The palace, where it was made for these sources.
    #[serde(skip)]
    pub made_palace: Option<String>,
    /// The time it took.
    pub seconds: f64,
}

/// A source that could not be mined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedSource {
    /// The source.
    pub source: String,
    /// Why.
    pub error: String,
}

/// A source that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedSource {
    /// The source.
    pub source: String,
    /// Why.
    pub reason: String,
}

/// Something of a source that could not be taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceNote {
    /// The source.
    pub source: String,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What it is.
    pub note: String,
}

impl SourceNote {
    pub(crate) fn new(source: &str, note: Note) -> Self {
        Self {
            source: source.to_owned(),
            line: note.line,
            note: note.text,
        }
    }
}

/// What was not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// How many hidden files and folders.
    pub hidden: u64,
    /// How many files and folders that ignore files name.
    pub ignored: u64,
    /// How many folders of downloaded or built things.
    pub vendored: u64,
}

/// What would be filed of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// The source.
    pub source: String,
    /// What it is taken for.
    pub format: String,
    /// The wing its drawers would go to.
    pub wing: String,
    /// The room.
    pub room: String,
    /// How many drawers it would have.
    pub drawers: u64,
    /// How many of them are not there yet.
    pub new: u64,
}

/// How far mining is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Sources that are dealt with.
    pub sources: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Drawers added so far.
    pub drawers: u64,
}

/// How much there is to mine, as far as a walk can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Sources.
    pub sources: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// Says how much there is to mine; reads no file.
pub fn survey(request: &MineRequest) -> Result<Extent> {
    let mut extent = Extent::default();
    for event in loci_mine::walk(&run::walk_request(request)?)? {
        if let WalkEvent::Source(found) = event {
            extent.sources += 1;
            extent.bytes += found.bytes();
        }
    }
    Ok(extent)
}

impl Palace {
    /// Mines.
    ///
    /// `watch` hears how far it is. Sources are committed as they come, so that whatever ends the run leaves every source
    /// old or new, and the next run goes on.
    pub fn mine(&self, request: &MineRequest, watch: &mut dyn FnMut(Progress)) -> Result<MineReport> {
        self.access().check_whole("mining")?;
        let began = Instant::now();
        let clock = || self.now();
        let report = run::MineRun::new(self, request, &clock, watch)?.run()?;
        Ok(MineReport {
            seconds: (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            ..report
        })
    }
}
