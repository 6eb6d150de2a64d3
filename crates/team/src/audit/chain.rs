//! Walking along a chain, line by line, and noticing where it does not hold.

use super::head::AuditHead;
use super::key::AuditKey;
use super::line::{ReadLine, read_line};
use super::record::{AuditAct, ChainNote};
use super::verify::AuditBreakKind;
use crate::secret::to_hex;

/// A walk along a chain.
///
/// After a break it goes on from what the line claims, so that each break is found once and the records after it are still
/// compared with each other.
#[derive(Debug)]
pub(super) struct ChainWalk<'a> {
    key: &'a AuditKey,
    /// The last record; `None` before the first, if the chain may begin anywhere.
    pub(super) head: Option<AuditHead>,
    /// The last line, if it was not a record: a crash may have cut it off.
    held: Option<HeldLine>,
    /// How many records continue the chain.
    pub(super) verified: u64,
    /// How many torn lines were closed by a record.
    pub(super) torn: u64,
    /// How many acts were not recorded, as the log itself says.
    pub(super) missed: u64,
    /// The head before the first record, if that is not the beginning.
    pub(super) starts_after: Option<AuditHead>,
}

/// A line that is not a record.
#[derive(Debug, PartialEq, Eq)]
struct HeldLine {
    number: u64,
    bytes: u64,
    hash: String,
}

/// A break in a chain: the line and what is wrong there.
pub(super) type WalkBreak = (u64, AuditBreakKind);

/// Returns the hash by which a record names the torn line before it.
pub(super) fn hash_torn(line: &[u8]) -> String {
    to_hex(blake3::hash(line).as_bytes())
}

impl<'a> ChainWalk<'a> {
    pub(super) fn new(key: &'a AuditKey, head: Option<AuditHead>) -> Self {
        Self {
            key,
            head,
            held: None,
            verified: 0,
            torn: 0,
            missed: 0,
            starts_after: None,
        }
    }

    /// Takes the next line, the `number`-th of its file; returns the breaks that it shows.
    pub(super) fn take_line(&mut self, number: u64, line: &[u8]) -> Vec<WalkBreak> {
        let Some(read) = read_line(line) else {
            let held = HeldLine {
                number,
                bytes: line.len() as u64,
                hash: hash_torn(line),
            };
            let before = self.held.replace(held);
            return before.map(unreadable).into_iter().collect();
        };
        let mut breaks = Vec::new();
        let note = read.entry.chain.clone().unwrap_or_default();
        let closes = read.entry.record.act == AuditAct::LINE_TORN;
        match self.held.take() {
            Some(held) if closes && held.is_named_by(&note) => self.torn += 1,
            Some(held) => breaks.push(unreadable(held)),
            None if closes => breaks.push((number, AuditBreakKind::TornLineGone)),
            None => {}
        }
        breaks.extend(self.take_record(&read, &note).map(|kind| (number, kind)));
        breaks
    }

    /// Ends the walk. A line that is not a record and was not closed is a break.
    pub(super) fn end(&mut self) -> Option<WalkBreak> {
        self.held.take().map(unreadable)
    }

    fn take_record(&mut self, read: &ReadLine<'_>, note: &ChainNote) -> Option<AuditBreakKind> {
        let claimed = read.claimed_head();
        let previous = self.head.or_else(|| self.find_start(read, note));
        // Adopted even if it is wrong, so that the next records are compared with it.
        self.head = Some(claimed);
        let Some(previous) = previous else {
            return Some(AuditBreakKind::BeginningMissing);
        };
        let follows = claimed.number == previous.number.saturating_add(1);
        if follows && self.key.hash_record(&previous.mac, read.body) == claimed.mac {
            self.verified += 1;
            self.missed += note.missed.unwrap_or(0);
            return None;
        }
        let expected = previous.number.saturating_add(1);
        Some(if claimed.number > expected {
            AuditBreakKind::Missing {
                first: expected,
                last: claimed.number - 1,
            }
        } else if claimed.number < expected {
            AuditBreakKind::Repeated {
                number: claimed.number,
            }
        } else {
            AuditBreakKind::Changed {
                number: claimed.number,
            }
        })
    }

    /// Returns the head before the first record, which that record names itself.
    fn find_start(&mut self, read: &ReadLine<'_>, note: &ChainNote) -> Option<AuditHead> {
        if read.entry.record.act == AuditAct::CHAIN_BEGUN {
            return Some(AuditHead::START);
        }
        let start = note.after.filter(|_| read.entry.record.act.is_of_chain())?;
        // A torn first line of the first file is followed by a record that begins at the very start.
        self.starts_after = (start != AuditHead::START).then_some(start);
        Some(start)
    }
}

impl HeldLine {
    fn is_named_by(&self, note: &ChainNote) -> bool {
        note.torn_bytes == Some(self.bytes) && note.torn_hash.as_ref() == Some(&self.hash)
    }
}

fn unreadable(held: HeldLine) -> WalkBreak {
    (held.number, AuditBreakKind::Unreadable)
}
