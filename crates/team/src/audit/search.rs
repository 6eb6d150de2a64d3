//! Reading records, the newest first, for people who want to know what happened.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::IpAddr;
use std::path::Path;

use loci_core::{Result, Timestamp};

use super::line::{LONGEST_LINE, read_line};
use super::parts::{OpenedPart, open_parts};
use super::record::AuditEntry;
use crate::accounts::TokenId;
use crate::caller::TeamActor;
use crate::private_file::file_error;

/// The bytes that are read at a time.
const BLOCK: usize = 64 * 1024;

/// The most bytes that one call reads; a rare record needs several calls.
const MOST_BYTES: u64 = 64 << 20;

/// Which records are wanted; the default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Records of this actor.
    pub who: Option<TeamActor>,
    /// Records of this token.
    pub token: Option<TokenId>,
    /// Records of requests from this address.
    pub address: Option<IpAddr>,
    /// Records about this palace.
    pub palace: Option<String>,
    /// Records of this act.
    pub act: Option<String>,
    /// Records with this outcome: `asked`, `done`, `refused` or `failed`.
    pub outcome: Option<String>,
    /// Records about this drawer, or this user or token by its name.
    pub subject: Option<String>,
    /// Records of this time or later.
    pub since: Option<Timestamp>,
    /// Records before this time.
    pub until: Option<Timestamp>,
    /// Records with a lower number than this: those after the last one of a page.
    pub before: Option<u64>,
}

/// Some records, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The records. There may be fewer than asked for even if there are more.
    pub entries: Vec<AuditEntry>,
    /// Give it as `before` to go on; `None` if there are no more.
    pub next_before: Option<u64>,
    /// Lines that are not records. Verifying the log tells whether they should be.
    pub unreadable_lines: u64,
}

impl AuditFilter {
    fn accepts(&self, entry: &AuditEntry) -> bool {
        let record = &entry.record;
        let same =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let subject = &record.subject;
        let mut names = subject.drawers.iter().chain(&subject.name);
        self.before.is_none_or(|before| entry.number < before)
            && self.who.as_ref().is_none_or(|who| *who == record.who)
            && (self.token.is_none() || self.token == record.token)
            && (self.address.is_none() || self.address == record.address)
            && (self.palace.is_none() || self.palace == record.palace)
            && same(&self.act, record.act.name())
            && same(&self.outcome, record.outcome.name())
            && self
                .subject
                .as_ref()
                .is_none_or(|wanted| names.any(|name| name == wanted))
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
    }
}

/// Reads at most `limit` records that the filter accepts, the newest first. Their hashes are not checked; the log may be in
/// use.
pub fn read_records(path: &Path, filter: &AuditFilter, limit: usize) -> Result<AuditPage> {
    let mut page = AuditPage::default();
    let mut budget = MOST_BYTES;
    for part in open_parts(path)?.iter().rev() {
        let mut lines = LinesFromEnd::open(part)?;
        while let Some(line) = lines
            .next_line()
            .map_err(|cause| file_error("read", &part.path, cause))?
        {
            let Some(read) = read_line(&line) else {
                page.unreadable_lines += u64::from(!line.is_empty());
                continue;
            };
            let number = read.entry.number;
            if filter.accepts(&read.entry) {
                page.entries.push(read.entry);
            }
            budget = budget.saturating_sub(line.len() as u64 + 1);
            if page.entries.len() >= limit.max(1) || budget == 0 {
                page.next_before = (number > 1).then_some(number);
                return Ok(page);
            }
        }
    }
    Ok(page)
}

/// The lines of a file, the last first.
struct LinesFromEnd<'a> {
    file: &'a File,
    /// Everything before this place is still to be read.
    start: u64,
    /// The bytes behind it that were read and not yet returned.
    held: Vec<u8>,
}

impl<'a> LinesFromEnd<'a> {
    fn open(part: &'a OpenedPart) -> Result<Self> {
        let mut file = &part.file;
        let start = file.seek(SeekFrom::End(0));
        Ok(Self {
            file,
            start: start.map_err(|cause| file_error("read", &part.path, cause))?,
            held: Vec::new(),
        })
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(feed) = self.held.iter().rposition(|byte| *byte == b'\n') {
                let line = self.held.split_off(feed + 1);
                self.held.truncate(feed);
                // Behind the last line feed of a file there is nothing, or a line that is being written.
                return Ok(Some(line));
            }
            if self.start == 0 {
                let first = std::mem::take(&mut self.held);
                return Ok((!first.is_empty()).then_some(first));
            }
            if self.held.len() > LONGEST_LINE {
                // Too long for a record; its end is enough to see that.
                self.held.truncate(BLOCK);
            }
            self.read_block()?;
        }
    }

    fn read_block(&mut self) -> io::Result<()> {
        let length = self.start.min(BLOCK as u64);
        self.start -= length;
        self.file.seek(SeekFrom::Start(self.start))?;
        let mut block = Vec::new();
        self.file.take(length).read_to_end(&mut block)?;
        block.append(&mut self.held);
        self.held = block;
        Ok(())
    }
}
