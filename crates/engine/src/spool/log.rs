//! The log of a spool: one line for each failure, bounded in size.

use std::io::Write;

use loci_core::Timestamp;

use super::{EventSpool, lines};

/// The size in bytes at which the log is rotated. One older log is kept.
const LONGEST: u64 = 128 << 10;

/// The most characters kept of one message.
const MESSAGE: usize = 1000;

const LOG: &str = "hook.log";
const OLD: &str = "hook.log.old";

impl EventSpool {
    /// Writes a line to the log. A log that cannot be written is ignored: it must not fail the work it reports
    /// on.
    pub fn log_message(&self, at: Timestamp, message: &str) {
        // Messages may quote file names and stored text, which must not forge lines or control a terminal.
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let message: String = message.chars().take(MESSAGE).map(clean).collect();
        let path = self.file_path(LOG);
        if path.metadata().is_ok_and(|found| found.len() > LONGEST) {
            let _ = std::fs::rename(&path, self.file_path(OLD));
        }
        let opened = self
            .create_folder()
            .and_then(|()| lines::private_options().append(true).create(true).open(&path));
        let _ = opened.and_then(|mut log| log.write_all(format!("{at} {message}\n").as_bytes()));
    }
}
