//! The trace of a run: one line for each call of the file layer and each operation, and a hash over all of them.

use std::fmt::Arguments;
use std::hash::Hasher as _;

use twox_hash::XxHash3_64;
use twox_hash::xxhash3_64::Hasher;

/// A line longer than this is shortened in memory, never in the hash.
const LINE: usize = 400;

/// The lines of a run so far. Two runs of one seed must give the same.
#[derive(Default)]
pub struct TraceLog {
    hash: Hasher,
    lines: u64,
    /// The lines themselves, if they are wanted.
    kept: Option<Vec<String>>,
    line: String,
}

impl TraceLog {
    /// A trace that keeps its lines, or only their hash.
    pub fn new(keep: bool) -> Self {
        Self {
            kept: keep.then(Vec::new),
            ..Self::default()
        }
    }

    pub(crate) fn add_line(&mut self, text: Arguments<'_>) {
        use std::fmt::Write as _;
        self.line.clear();
        // Writing to a string cannot fail.
        let _ = self.line.write_fmt(text);
        self.line.push('\n');
        self.hash.write(self.line.as_bytes());
        self.lines += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(self.line.trim_end().chars().take(LINE).collect());
        }
    }

    /// The number of lines and the hash over them.
    pub fn digest(&self) -> (u64, u64) {
        (self.lines, self.hash.finish())
    }

    /// The lines, if they were kept.
    pub fn lines(&self) -> &[String] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// The number of lines so far, which orders events.
    pub(crate) fn count_lines(&self) -> u64 {
        self.lines
    }
}

/// A short fingerprint of bytes for a line.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}
