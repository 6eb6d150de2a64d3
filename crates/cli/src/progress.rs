//! Tells on a terminal how far a long job is.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

/// Says how far a job is, a plain line at a time, once it takes longer than a second.
#[derive(Debug)]
pub(crate) struct Progress {
    doing: &'static str,
    watched: bool,
    began: Instant,
    /// How much was done when it was first asked.
    from: Option<u64>,
    next: Instant,
}

const PAUSE: Duration = Duration::from_secs(1);

impl Progress {
    /// Progress of what is being done; silent unless `watched`.
    pub(crate) fn new(doing: &'static str, watched: bool) -> Self {
        Self {
            doing,
            watched,
            began: Instant::now(),
            from: None,
            next: Instant::now() + PAUSE,
        }
    }

    /// Takes note that `done` of `total` is done, where the total is known.
    pub(crate) fn tick(&mut self, done: u64, total: Option<u64>) {
        if self.from.is_none() {
            // What came before, such as opening a palace, says nothing about how fast this goes.
            self.began = Instant::now();
        }
        let from = *self.from.get_or_insert(done);
        if !self.watched || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PAUSE;
        let line = match total {
            Some(total) => {
                let (took, since) = (self.began.elapsed(), done.saturating_sub(from));
                let left = left(took, since, total.saturating_sub(done));
                format!("{}: {done} of {total}{}{left}\n", self.doing, rate(took, since))
            }
            None => format!("{}: {done}\n", self.doing),
        };
        // Progress that cannot be shown stops nothing.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// How much is done in a second, if that tells something.
fn rate(took: Duration, done: u64) -> String {
    match done as f64 / took.as_secs_f64().max(0.001) {
        fast if fast >= 1.0 => format!(", {fast:.0}/s"),
        _ => String::new(),
    }
}

/// About how long what is left will take, if what was done so far tells.
pub(crate) fn left(took: Duration, done: u64, left: u64) -> String {
    if done == 0 || left == 0 {
        return String::new();
    }
    let seconds = (took.as_secs_f64() * left as f64 / done as f64).ceil() as u64;
    match seconds {
        0..=90 => format!(", about {seconds} s left"),
        91..=5400 => format!(", about {} min left", seconds.div_ceil(60)),
        _ => format!(", about {} h left", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_told_where_it_says_something() {
        let two = Duration::from_secs(2);
        assert_eq!(rate(two, 5000), ", 2500/s");
        assert_eq!(rate(two, 0), "");
    }

    #[test]
    fn what_is_left_is_told_in_units_people_read() {
        let second = Duration::from_secs(1);
        assert_eq!(left(second, 0, 10), "");
        assert_eq!(left(second, 10, 0), "");
        assert_eq!(left(second, 10, 100), ", about 10 s left");
        assert_eq!(left(second * 60, 10, 100), ", about 10 min left");
        assert_eq!(left(second * 3600, 10, 100), ", about 10 h left");
    }
}
