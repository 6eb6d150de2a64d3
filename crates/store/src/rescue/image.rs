//! The pages of a damaged palace: from its file, or from the log beside it where that holds a newer version.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use loci_core::{Error, ErrorKind, FindingSeverity, LostDrawers, PalaceFinding, Result};

use super::log::{self, LogJudgement, LogScan, LogUse};
use super::node::read_long;
use super::{stamp, trouble};
use crate::failure::io_error;
use crate::vfs::{self, LogBackfill, LogMark};
use crate::{EmbeddedBackend, schema};

/// The bytes of a page.
pub(super) const PAGE: usize = schema::PAGE_SIZE as usize;
/// The bytes of a page that SQLite uses.
pub(super) const USABLE: usize = PAGE - vfs::RESERVED as usize;
/// The most damaged pages that are searched for a single flipped bit; each takes about a tenth of a second.
const MOST_CORRECTED: usize = 8;

/// The place of one version of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PageVersion {
    File,
    Log,
}

/// The damaged pages that were searched for a flipped bit.
#[derive(Debug, Default)]
struct PageCorrections {
    /// Those that were put right; the others are damaged beyond that.
    pages: BTreeMap<u32, Option<Vec<u8>>>,
}

/// The pages of a palace as they can be read, each checked.
#[derive(Debug)]
pub(super) struct PageImage {
    path: PathBuf,
    file: File,
    log: Option<File>,
    /// Where the content of each page in the log begins.
    logged: BTreeMap<u32, u64>,
    /// The number of pages of the palace.
    pub(super) count: u32,
    /// Whether pages of the file may be newer than those of the log.
    mixed: bool,
    /// Pages whose newest version is lost.
    outdated: BTreeSet<u32>,
    corrections: Mutex<PageCorrections>,
    /// Drawers that are known to be lost with the log.
    pub(super) lost: Vec<LostDrawers>,
    pub(super) findings: Vec<PalaceFinding>,
}

impl PageImage {
    /// Opens the palace or copy at `path` for reading, with the log beside it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let path = if path.is_dir() {
            path.join(EmbeddedBackend::FILE)
        } else {
            path.to_owned()
        };
        let file = File::open(&path).map_err(|cause| {
            io_error("read", &path, cause)
                .with_hint("nothing was written; name the folder of a palace, its palace.db, or a backup")
        })?;
        let length = file.metadata().map_err(|cause| io_error("read", &path, cause))?;
        if !length.is_file() {
            return Err(
                Error::new(ErrorKind::Invalid, format!("{} is not a file", path.display())).with_hint(
                    "nothing was written; name the folder of a palace, its palace.db, or a backup",
                ),
            );
        }
        let mut image = Self {
            path,
            file,
            log: None,
            logged: BTreeMap::new(),
            count: u32::try_from(length.len().div_ceil(PAGE as u64)).unwrap_or(u32::MAX),
            mixed: false,
            outdated: BTreeSet::new(),
            corrections: Mutex::default(),
            lost: Vec::new(),
            findings: Vec::new(),
        };
        image.attach_log();
        image.learn_count();
        Ok(image)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Decides whether the log beside the file is read, and reads where its pages are.
    fn attach_log(&mut self) {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        let log = File::open(name).ok();
        let (mark, copied) = self.read_log_records();
        let scan = log
            .as_ref()
            .and_then(|log| LogScan::read(log, mark.map_or(0, |mark| mark.frames)));
        let judged = match (&scan, mark) {
            (Some(scan), Some(mark)) => scan.judge(mark, copied),
            (Some(scan), None) => self.judge_by_content(log.as_ref(), scan),
            (None, Some(mark)) => LogJudgement {
                used: LogUse::Unneeded,
                missing: log::judge_missing(mark, copied),
            },
            (None, None) => LogJudgement {
                used: LogUse::Unneeded,
                missing: None,
            },
        };
        if mark.is_none() {
            self.findings
                .push(trouble::unreadable_mark(scan.is_some().then_some(judged.used)));
        }
        self.note_judgement(judged);
        if let (Some(scan), LogUse::Newer | LogUse::Mixed) = (scan, judged.used) {
            self.logged = scan.page_offsets();
            self.outdated = scan.outdated_pages().collect();
            self.mixed = judged.used == LogUse::Mixed;
            if scan.file_pages > 0 {
                self.count = scan.file_pages;
            }
            self.log = log;
        }
    }

    fn note_judgement(&mut self, judged: LogJudgement) {
        if judged.used == LogUse::Foreign {
            self.findings.push(trouble::foreign_log());
        }
        if let Some((promised, found)) = judged.missing {
            self.lost.push(LostDrawers {
                reason: trouble::describe_missing_log(promised, found, judged.used),
                ..LostDrawers::default()
            });
        }
    }

    /// Judges a log without a readable mark: it must continue the palace in the file.
    fn judge_by_content(&self, log: Option<&File>, scan: &LogScan) -> LogJudgement {
        let mut page = vec![0; PAGE];
        let offsets = scan.page_offsets();
        let in_log = offsets.values().find_map(|offset| {
            log?.read_exact_at(&mut page, *offset).ok()?;
            stamp::find_stamp(&page)
        });
        let mut page = Vec::new();
        let in_file = (2..=stamp::SEARCHED).find_map(|number| {
            self.load(number, PageVersion::File, &mut page)
                .then(|| stamp::find_stamp(&page))?
        });
        let used = match (in_log, in_file) {
            (Some(log), Some(file)) if log.palace != file.palace => LogUse::Foreign,
            // Every commit writes the sequence number, so a log that has less was copied into the file long ago.
            (Some(log), Some(file)) if log.seq < file.seq => LogUse::Unneeded,
            _ => LogUse::Newer,
        };
        LogJudgement { used, missing: None }
    }

    /// Reads the records of the log from the end of page 1 or, where one is damaged, from its copy on page 2.
    fn read_log_records(&self) -> (Option<LogMark>, Option<LogBackfill>) {
        let mut found = (None, None);
        for end in [PAGE, 2 * PAGE] {
            let mut room = [0; vfs::ROOM];
            if self
                .file
                .read_exact_at(&mut room, (end - vfs::ROOM) as u64)
                .is_ok()
            {
                let (copied, mark) = room.split_at(LogBackfill::LENGTH);
                found.0 = found.0.or_else(|| LogMark::parse(mark));
                found.1 = found.1.or_else(|| LogBackfill::parse(copied));
            }
        }
        found
    }

    /// Learns from page 1 how many pages the palace has, unless the log has said so.
    fn learn_count(&mut self) {
        let mut page = Vec::new();
        if !self.load_newest(1, &mut page) || self.logged.contains_key(&1) && self.count > 0 {
            return;
        }
        if let Some(count) = read_long(&page, 28).filter(|count| *count > 0) {
            self.count = count;
        }
    }

    /// Returns the versions of a page to read, the newest last.
    pub(super) fn versions(&self, number: u32) -> &'static [PageVersion] {
        match (self.logged.contains_key(&number), self.mixed) {
            (false, _) => &[PageVersion::File],
            (true, false) => &[PageVersion::Log],
            (true, true) => &[PageVersion::File, PageVersion::Log],
        }
    }

    /// Returns whether a page as it can be read may not be the newest version.
    pub(super) fn is_outdated(&self, number: u32) -> bool {
        self.outdated.contains(&number) || (self.mixed && self.logged.contains_key(&number))
    }

    /// Reads the newest version of a page; false if it is damaged.
    pub(super) fn load_newest(&self, number: u32, into: &mut Vec<u8>) -> bool {
        self.versions(number)
            .last()
            .is_some_and(|version| self.load(number, *version, into))
    }

    /// Reads one version of a page; false if it is damaged.
    pub(super) fn load(&self, number: u32, version: PageVersion, into: &mut Vec<u8>) -> bool {
        into.resize(PAGE, 0);
        if version == PageVersion::Log {
            let (Some(log), Some(offset)) = (&self.log, self.logged.get(&number)) else {
                return false;
            };
            // The checksum of the frame was compared when the log was scanned.
            return log.read_exact_at(into, *offset).is_ok();
        }
        if !self.read_raw(number, into) {
            return false;
        }
        vfs::is_content_sound(number, into) || self.correct_page(number, into)
    }

    /// Puts a page of the file right if a single bit of it was flipped.
    fn correct_page(&self, number: u32, into: &mut [u8]) -> bool {
        let mut corrections = self.corrections.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = corrections.pages.len();
        let found = corrections.pages.entry(number).or_insert_with(|| {
            let mut page = into.to_vec();
            (tried < MOST_CORRECTED && vfs::correct_flipped_bit(number, &mut page)).then_some(page)
        });
        if let Some(page) = found {
            into.copy_from_slice(page);
        }
        found.is_some()
    }

    fn read_raw(&self, number: u32, into: &mut [u8]) -> bool {
        let offset = u64::from(number.saturating_sub(1)) * PAGE as u64;
        self.file.read_exact_at(into, offset).is_ok()
    }

    /// Notes the pages that were put right.
    pub(super) fn note_corrections(&mut self) {
        let corrections = self.corrections.get_mut().unwrap_or_else(PoisonError::into_inner);
        let put_right = corrections.pages.iter().filter(|(_, page)| page.is_some());
        let corrected: Vec<String> = put_right.map(|(number, _)| number.to_string()).collect();
        if !corrected.is_empty() {
            self.findings.push(PalaceFinding::new(
                "page_corrected",
                FindingSeverity::Warning,
                format!(
                    "a single bit was flipped on each of the pages {}; they were read as they were written",
                    corrected.join(", ")
                ),
            ));
        }
    }
}
