//! Verifying an audit log: every record of every file, in bounded memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};

use super::chain::{ChainWalk, WalkBreak};
use super::head::AuditHead;
use super::key::AuditKey;
use super::line::{LONGEST_LINE, read_line};
use super::parts::{OpenedPart, open_parts};
use crate::private_file::file_error;

/// The most breaks that a report lists; it counts all of them.
const MOST_BREAKS: usize = 100;

/// A place where a chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBreak {
    /// The file.
    pub part: PathBuf,
    /// The line in it, from 1 on; 0 for the log as a whole.
    pub line: u64,
    /// The finding.
    pub kind: AuditBreakKind,
}

/// What is wrong at a break.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditBreakKind {
    /// A line is not a record, and no record after it says that a crash cut it off.
    Unreadable,
    /// A record is not the one that was written, or not after this one.
    Changed {
        /// Its number.
        number: u64,
    },
    /// Records are missing.
    Missing {
        /// The number of the first.
        first: u64,
        /// The number of the last.
        last: u64,
    },
    /// A record stands behind one with the same number or a higher one.
    Repeated {
        /// Its number.
        number: u64,
    },
    /// A record says that a crash cut off the line before it, and there is no such line.
    TornLineGone,
    /// The first record is not the beginning of a file.
    BeginningMissing,
    /// A known head has another hash than the record with its number: the log was rewritten.
    OtherHead {
        /// The number.
        number: u64,
    },
    /// The log does not have the record of a known head: its end was cut off, or its beginning set aside.
    HeadMissing {
        /// The number.
        number: u64,
    },
    /// No record holds under this key: it is another one.
    OtherKey,
}

impl fmt::Display for AuditBreakKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("a line is not a record"),
            Self::Changed { number } => write!(f, "record {number} was changed or does not belong here"),
            Self::Missing { first, last } if first == last => write!(f, "record {first} is missing"),
            Self::Missing { first, last } => write!(f, "records {first} to {last} are missing"),
            Self::Repeated { number } => write!(f, "record {number} stands in the wrong place or twice"),
            Self::TornLineGone => f.write_str("the line that a crash cut off is gone or was changed"),
            Self::BeginningMissing => f.write_str("the log does not begin with the first record of a file"),
            Self::OtherHead { number } => write!(f, "record {number} is not the one of the known head"),
            Self::HeadMissing { number } => write!(f, "record {number} of a known head is not in the log"),
            Self::OtherKey => f.write_str("no record holds under this key; it was written with another"),
        }
    }
}

/// The outcome of verifying a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// How many records hold.
    pub records: u64,
    /// The last record; `None` if there is none.
    pub head: Option<AuditHead>,
    /// The head before the first record, if older files were set aside; they are not verified.
    pub starts_after: Option<AuditHead>,
    /// Where the chain does not hold; at most a hundred places.
    pub breaks: Vec<AuditBreak>,
    /// How many places there are.
    pub break_count: u64,
    /// How many lines were cut off by crashes and closed by a record. Each was not yet acknowledged.
    pub torn_lines: u64,
    /// How many acts could not be recorded, as the log itself says.
    pub missed_acts: u64,
    /// The bytes behind the last line feed: a record that is being written, or one that a crash cut off just now.
    pub unfinished_bytes: u64,
    /// How many files there are.
    pub parts: u64,
}

impl AuditReport {
    /// Reports whether nothing was changed, as far as the log, the key and the known heads can tell.
    ///
    /// Records behind the last known head may have been cut off; nothing in the log can tell.
    pub fn is_whole(&self) -> bool {
        self.break_count == 0
    }
}

/// Verifies every file of the log at `path`, the oldest first, and compares it with heads that were kept elsewhere. The log
/// may be in use.
pub fn verify_log(path: &Path, key: &AuditKey, known_heads: &[AuditHead]) -> Result<AuditReport> {
    let parts = open_parts(path)?;
    if parts.is_empty() {
        let message = format!("the audit log {} does not exist", path.display());
        return Err(
            Error::new(ErrorKind::NotFound, message).with_hint("name the file that the server writes")
        );
    }
    let mut run = LogVerification::new(key, known_heads);
    let last = parts.len() - 1;
    for (place, part) in parts.iter().enumerate() {
        run.read_part(part, place == last)?;
    }
    Ok(run.finish(path, parts.len()))
}

/// One pass over a log.
struct LogVerification<'a> {
    walk: ChainWalk<'a>,
    /// The known heads that were not met yet; one number may have several.
    awaited: BTreeMap<u64, Vec<AuditHead>>,
    report: AuditReport,
}

impl<'a> LogVerification<'a> {
    fn new(key: &'a AuditKey, known_heads: &[AuditHead]) -> Self {
        let mut awaited: BTreeMap<u64, Vec<AuditHead>> = BTreeMap::new();
        // The head of an empty log says nothing about any record.
        for head in known_heads.iter().filter(|head| **head != AuditHead::START) {
            awaited.entry(head.number).or_default().push(*head);
        }
        Self {
            walk: ChainWalk::new(key, None),
            awaited,
            report: AuditReport::default(),
        }
    }

    fn read_part(&mut self, part: &OpenedPart, is_last: bool) -> Result<()> {
        let mut reader = BufReader::with_capacity(1 << 16, &part.file);
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            // Bounded, so that a file without line feeds cannot fill the memory.
            let mut bounded = reader.by_ref().take(LONGEST_LINE as u64 + 1);
            let read = bounded.read_until(b'\n', &mut line);
            if read.map_err(|cause| file_error("read", &part.path, cause))? == 0 {
                break;
            }
            number += 1;
            let is_ended = line.pop_if(|last| *last == b'\n').is_some();
            let is_cut = !is_ended && line.len() <= LONGEST_LINE;
            if is_cut && is_last && read_line(&line).is_none() {
                self.report.unfinished_bytes = line.len() as u64;
                break;
            }
            let breaks = self.walk.take_line(number, &line);
            self.note_breaks(&part.path, breaks);
            self.meet_heads(&part.path, number);
        }
        if is_last {
            let left = self.walk.end();
            self.note_breaks(&part.path, left);
        }
        Ok(())
    }

    /// Compares the record that was just read with the known head of its number.
    fn meet_heads(&mut self, part: &Path, line: u64) {
        let Some(here) = self.walk.head else { return };
        let Some(known) = self.awaited.remove(&here.number) else {
            return;
        };
        if known.iter().any(|known| *known != here) {
            let kind = AuditBreakKind::OtherHead { number: here.number };
            self.note_breaks(part, [(line, kind)]);
        }
    }

    fn note_breaks(&mut self, part: &Path, breaks: impl IntoIterator<Item = WalkBreak>) {
        for (line, kind) in breaks {
            self.report.break_count += 1;
            if self.report.breaks.len() < MOST_BREAKS {
                let part = part.to_path_buf();
                self.report.breaks.push(AuditBreak { part, line, kind });
            }
        }
    }

    fn finish(mut self, path: &Path, parts: usize) -> AuditReport {
        if self.walk.verified == 0 && self.report.break_count > 0 {
            // One finding explains all the others.
            self.report.breaks.clear();
            self.report.break_count = 0;
            self.note_breaks(path, [(0, AuditBreakKind::OtherKey)]);
        }
        let unmet: Vec<u64> = self.awaited.keys().copied().collect();
        self.note_breaks(
            path,
            unmet
                .into_iter()
                .map(|number| (0, AuditBreakKind::HeadMissing { number })),
        );
        AuditReport {
            records: self.walk.verified,
            head: self.walk.head,
            starts_after: self.walk.starts_after,
            torn_lines: self.walk.torn,
            missed_acts: self.walk.missed,
            parts: parts as u64,
            ..self.report
        }
    }
}
