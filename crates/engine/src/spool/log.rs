//! The log of a spool: one line for each thing that went wrong, within a bound.

use std::io::Write;

use loci_core::Timestamp;

use super::{Spool, lines};

/// How long the log may become before it makes room, in bytes. One older log is kept.
const LONGEST: u64 = 128 << 10;

/// How much of one message is kept, in characters.
const MESSAGE: usize = 1000;

const LOG: &str = "hook.log";
const OLD: &str = "hook.log.old";

impl Spool {
    /// Writes a line to the log. That it cannot be written is nobody's trouble.
    pub fn note(&self, at: Timestamp, message: &str) {
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let message: String = message.chars().take(MESSAGE).map(clean).collect();
        let path = self.file(LOG);
        if path.metadata().is_ok_and(|found| found.len() > LONGEST) {
            let _ = std::fs::rename(&path, self.file(OLD));
        }
        let opened = self
            .prepare()
            .and_then(|()| lines::private().append(true).create(true).open(&path));
        let _ = opened.and_then(|mut log| log.write_all(format!("{at} {message}\n").as_bytes()));
    }
}
