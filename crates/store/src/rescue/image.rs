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
    /// An earlier frame of the log.
    Replaced(u32),
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
    /// The frame of the log that holds the newest version of each page.
    logged: BTreeMap<u32, u32>,
    /// Frames with earlier versions of pages that may hold what the newest ones lack; 0 stands for the file.
    replaced: BTreeMap<u32, Vec<u32>>,
    /// The number of pages of the palace, as the log or page 1 has it.
    pub(super) count: u32,
    /// The number of pages in the file.
    in_file: u32,
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
        let in_file = u32::try_from(length.len().div_ceil(PAGE as u64)).unwrap_or(u32::MAX);
        let mut image = Self {
            path,
            file,
            log: None,
            logged: BTreeMap::new(),
            replaced: BTreeMap::new(),
            count: in_file,
            in_file,
            mixed: false,
            outdated: BTreeSet::new(),
            corrections: Mutex::default(),
            lost: Vec::new(),
            findings: Vec::new(),
        };
        let scan = image.attach_log().unwrap_or_default();
        image.learn_count(&scan);
        if image.lacks_pages() {
            image.findings.push(trouble::cut_file(in_file, image.count));
        }
        Ok(image)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Decides whether the log beside the file is read, and reads where its pages are. Returns what was found if it is.
    fn attach_log(&mut self) -> Option<LogScan> {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        let log = File::open(name).ok();
        let (mark, copied) = self.read_log_records();
        let scan = log.as_ref().and_then(|log| LogScan::read(log, mark));
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
            self.note_lost_mark(scan.as_ref(), judged.used);
        }
        self.note_judgement(judged);
        let scan = scan.filter(|_| matches!(judged.used, LogUse::Newer | LogUse::Mixed))?;
        self.logged = scan.newest_frames().clone();
        self.replaced = scan.replaced_frames().clone();
        self.outdated = scan.outdated_pages().collect();
        self.mixed = judged.used == LogUse::Mixed;
        self.log = log;
        Some(scan)
    }

    /// Learns how many pages the palace has: from the last commit in the log. If there is none or it cannot be read, page 1
    /// tells, and no page that the log holds lies beyond.
    fn learn_count(&mut self, scan: &LogScan) {
        let noted = (scan.torn_pages > 0 || scan.file_pages.is_none()).then(|| self.read_count());
        // Pages that a checkpoint copied may be newer than the last commit that is left of the log.
        let least = if self.mixed { self.in_file } else { 0 };
        let known = scan.file_pages.max(noted.flatten()).unwrap_or(self.in_file);
        self.count = known.max(scan.torn_pages).max(least);
    }

    /// Notes that nothing says how much of the log counts, and whether writes may be lost for that.
    fn note_lost_mark(&mut self, scan: Option<&LogScan>, used: LogUse) {
        let reason = match scan {
            Some(scan) if scan.is_unfinished => Some(trouble::LOG_UNFINISHED),
            Some(_) if used != LogUse::Foreign => None,
            _ => Some(trouble::LOG_UNKNOWN),
        };
        self.findings
            .push(trouble::unreadable_mark(scan.map(|_| used), reason.is_some()));
        self.lost.extend(reason.map(|reason| LostDrawers {
            reason: reason.to_owned(),
            ..LostDrawers::default()
        }));
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
        let in_log = scan.newest_frames().values().find_map(|frame| {
            log?.read_exact_at(&mut page, log::content_offset(*frame)).ok()?;
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

    /// Reads from page 1 how many pages the palace has.
    fn read_count(&self) -> Option<u32> {
        let mut page = Vec::new();
        self.load_newest(1, &mut page)
            .then(|| read_long(&page, 28).filter(|count| *count > 0))
            .flatten()
    }

    /// Returns the pages of the palace that the file or the log has room for. A count alone may name any number.
    pub(super) fn present_pages(&self) -> impl Iterator<Item = u32> {
        let logged = self.logged.keys().copied();
        let behind = logged.filter(|number| *number > self.in_file && *number <= self.count);
        (1..=self.in_file.min(self.count)).chain(behind)
    }

    /// Returns whether a page lies behind the end of the file and is not in the log either.
    pub(super) fn is_absent(&self, number: u32) -> bool {
        number > self.in_file && number <= self.count && !self.logged.contains_key(&number)
    }

    /// Returns whether any page is absent.
    pub(super) fn lacks_pages(&self) -> bool {
        u64::from(self.count) > self.present_pages().count() as u64
    }

    /// Returns the number of bytes that SQLite can have stored in all pages that are here.
    pub(super) fn capacity(&self) -> usize {
        (self.in_file as usize)
            .saturating_add(self.logged.len())
            .saturating_mul(USABLE)
    }

    /// Returns the versions of a page to read, the newest last.
    pub(super) fn versions(&self, number: u32) -> &'static [PageVersion] {
        match (self.logged.contains_key(&number), self.mixed) {
            (false, _) => &[PageVersion::File],
            (true, false) => &[PageVersion::Log],
            (true, true) => &[PageVersion::File, PageVersion::Log],
        }
    }

    /// Returns earlier versions of a page, which may hold what a transaction with missing frames moved elsewhere.
    pub(super) fn replaced_versions(&self, number: u32) -> impl Iterator<Item = PageVersion> {
        let frames = self.replaced.get(&number).into_iter().flatten();
        let versions = frames.map(|frame| match frame {
            0 => PageVersion::File,
            frame => PageVersion::Replaced(*frame),
        });
        versions.filter(move |version| !self.versions(number).contains(version))
    }

    /// Returns whether a version of a page is known to be the newest.
    pub(super) fn is_newest(&self, number: u32, version: PageVersion) -> bool {
        !self.is_outdated(number) && self.versions(number).last() == Some(&version)
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
        let frame = match version {
            PageVersion::File => None,
            PageVersion::Replaced(frame) => Some(frame),
            PageVersion::Log => self.logged.get(&number).copied(),
        };
        if version != PageVersion::File {
            let (Some(log), Some(frame)) = (&self.log, frame) else {
                return false;
            };
            // The checksum of the frame was compared when the log was scanned.
            return log.read_exact_at(into, log::content_offset(frame)).is_ok();
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
