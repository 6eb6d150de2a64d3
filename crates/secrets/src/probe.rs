//! Reads around an anchor, and counts the bytes it reads.

use std::cell::Cell;
use std::ops::Range;

use crate::byte_set::{ALNUM, ByteSet, HEX};

/// A text that rules read from any place, within its bounds.
pub(crate) struct TextProbe<'t> {
    bytes: &'t [u8],
    reads: Cell<u64>,
    /// The last run that was read to its end, so that it is read once however often it is asked for.
    whole_run: Cell<(usize, usize)>,
}

impl<'t> TextProbe<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            bytes: text.as_bytes(),
            reads: Cell::new(0),
            whole_run: Cell::new((0, 0)),
        }
    }

    /// Returns how many bytes the rules have read so far: the measure of their work.
    #[cfg(test)]
    pub(crate) fn reads(&self) -> u64 {
        self.reads.get()
    }

    fn count(&self, bytes: usize) {
        self.reads.set(self.reads.get() + bytes as u64);
    }

    /// Returns the byte at this place.
    pub(crate) fn byte(&self, at: usize) -> Option<u8> {
        self.count(1);
        self.bytes.get(at).copied()
    }

    /// Returns the byte before this place.
    pub(crate) fn byte_before(&self, at: usize) -> Option<u8> {
        self.byte(at.checked_sub(1)?)
    }

    /// Returns the bytes of a range, or none if it leaves the text.
    pub(crate) fn slice(&self, range: Range<usize>) -> &'t [u8] {
        self.count(range.len());
        self.bytes.get(range).unwrap_or_default()
    }

    /// Returns at most this many bytes that begin here.
    pub(crate) fn ahead(&self, from: usize, most: usize) -> &'t [u8] {
        self.slice(from..from.saturating_add(most).min(self.bytes.len()))
    }

    /// Returns at most this many bytes that end here.
    pub(crate) fn behind(&self, end: usize, most: usize) -> &'t [u8] {
        self.slice(end.saturating_sub(most)..end)
    }

    /// Returns whether the text continues with these bytes here.
    pub(crate) fn starts_with(&self, at: usize, wanted: &str) -> bool {
        self.count(1);
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.starts_with(wanted.as_bytes())
    }

    /// Returns whether these bytes end here.
    pub(crate) fn ends_with(&self, end: usize, wanted: &str) -> bool {
        self.count(1);
        let rest = self.bytes.get(..end).unwrap_or_default();
        rest.ends_with(wanted.as_bytes())
    }

    /// Returns the bytes from here to the next occurrence of `stop`, or to the end of the text.
    pub(crate) fn until(&self, from: usize, stop: &str) -> &'t [u8] {
        let rest = self.bytes.get(from..).unwrap_or_default();
        let found = memchr::memmem::find(rest, stop.as_bytes());
        let bytes = found.and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.count(bytes.len());
        bytes
    }

    /// Returns the end of the run of these bytes that begins here; it reads at most `most` of them.
    pub(crate) fn run_end(&self, from: usize, set: ByteSet, most: usize) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        let run = rest
            .iter()
            .take(most)
            .take_while(|byte| set.contains(**byte))
            .count();
        self.count(run + 1);
        from + run
    }

    /// Returns the end of the run of these bytes that begins here, however long it is; the set must be the same in every
    /// call, because the run is remembered.
    pub(crate) fn whole_run_end(&self, from: usize, set: ByteSet) -> usize {
        let (start, end) = self.whole_run.get();
        if start <= from && from < end {
            return end;
        }
        let end = self.run_end(from, set, usize::MAX);
        self.whole_run.set((from, end));
        end
    }

    /// Returns the start of the run of these bytes that ends here; it reads at most `most` of them.
    pub(crate) fn run_start(&self, end: usize, set: ByteSet, most: usize) -> usize {
        let rest = self.bytes.get(..end).unwrap_or_default();
        let run = rest
            .iter()
            .rev()
            .take(most)
            .take_while(|byte| set.contains(**byte))
            .count();
        self.count(run + 1);
        end - run
    }

    /// Returns whether a token may begin here: not within a word, unless the letter before belongs to an escape such
    /// as `\n`, `%3D` or the end of a terminal's colour.
    pub(crate) fn begins_token(&self, at: usize) -> bool {
        let Some(before) = self.byte_before(at).filter(|byte| ALNUM.contains(*byte)) else {
            return true;
        };
        match self.behind(at, 6) {
            [.., b'\\', b'n' | b'r' | b't'] => true,
            [.., b'%', high, low] => HEX.contains(*high) && HEX.contains(*low),
            [.., b'[', b'0'..=b'9', b'm'] => true,
            [b'\\', b'u', ..] => HEX.contains(before),
            [.., b'[', b'0'..=b'9', b'0'..=b'9', b'm'] => true,
            _ => false,
        }
    }

    /// Returns whether a token may end here: not within a word.
    pub(crate) fn ends_token(&self, end: usize) -> bool {
        self.byte(end).is_none_or(|byte| !ALNUM.contains(byte))
    }
}
