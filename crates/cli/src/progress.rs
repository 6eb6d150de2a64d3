//! Tells on a terminal how far a long job is.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

/// Says how far a job is, a plain line at a time, once it takes longer than a second.
#[derive(Debug)]
pub(crate) struct Progress {
    doing: &'static str,
    watched: bool,
    next: Instant,
}

const PAUSE: Duration = Duration::from_secs(1);

impl Progress {
    /// Progress of what is being done; silent unless `watched`.
    pub(crate) fn new(doing: &'static str, watched: bool) -> Self {
        Self {
            doing,
            watched,
            next: Instant::now() + PAUSE,
        }
    }

    /// Takes note that `done` of `total` is done, where the total is known.
    pub(crate) fn tick(&mut self, done: u64, total: Option<u64>) {
        if !self.watched || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PAUSE;
        let line = match total {
            Some(total) => format!("{}: {done} of {total}\n", self.doing),
            None => format!("{}: {done}\n", self.doing),
        };
        // Progress that cannot be shown stops nothing.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}
