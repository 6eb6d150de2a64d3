//! Shows how far mining is: a bar on a terminal, a plain line now and then elsewhere.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use loci_engine::mine::{Extent, Progress};

/// How often a terminal is told.
const TERMINAL_PAUSE: Duration = Duration::from_millis(100);

/// How often a log is told.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// How wide the bar is, in characters.
const WIDTH: u64 = 24;

/// Shows how far mining is.
#[derive(Debug)]
pub(crate) struct Bar {
    extent: Option<Extent>,
    terminal: bool,
    began: Instant,
    next: Instant,
    drawn: bool,
}

impl Bar {
    /// A bar on a terminal; lines elsewhere.
    pub(crate) fn new(extent: Option<Extent>, terminal: bool) -> Self {
        let began = Instant::now();
        Self {
            extent,
            terminal,
            began,
            next: began
                + if terminal {
                    Duration::from_millis(500)
                } else {
                    LOG_PAUSE
                },
            drawn: false,
        }
    }

    /// Takes note of how far it is.
    pub(crate) fn tick(&mut self, progress: Progress) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + if self.terminal { TERMINAL_PAUSE } else { LOG_PAUSE };
        let words = words(progress, self.extent, self.began.elapsed());
        let line = match self.terminal {
            true => format!("\r\u{1b}[K{}{words}", drawing(progress, self.extent)),
            false => format!("{words}\n"),
        };
        self.drawn |= self.terminal;
        show(&line);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.drawn {
            show("\r\u{1b}[K");
        }
    }
}

/// Progress that cannot be shown stops nothing.
fn show(text: &str) {
    let mut err = io::stderr();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

fn drawing(progress: Progress, extent: Option<Extent>) -> String {
    let Some(extent) = extent.filter(|extent| extent.bytes > 0) else {
        return String::new();
    };
    let full = (progress.bytes.min(extent.bytes) * WIDTH / extent.bytes) as usize;
    format!("[{}{}] ", "#".repeat(full), "-".repeat(WIDTH as usize - full))
}

fn words(progress: Progress, extent: Option<Extent>, took: Duration) -> String {
    let of = extent.map_or(String::new(), |extent| format!(" of {}", extent.sources));
    let rate = progress.drawers as f64 / took.as_secs_f64().max(0.001);
    let left = extent.map_or(String::new(), |extent| {
        crate::progress::left(took, progress.bytes, extent.bytes.saturating_sub(progress.bytes))
    });
    format!(
        "{}{of} sources, {} drawers filed, {rate:.0}/s{left}",
        progress.sources, progress.drawers
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_tells_how_far_it_is_how_fast_and_how_long_still() {
        let progress = Progress {
            sources: 5,
            bytes: 500,
            drawers: 200,
        };
        let extent = Some(Extent {
            sources: 10,
            bytes: 1000,
        });
        let two = Duration::from_secs(2);
        assert_eq!(
            words(progress, extent, two),
            "5 of 10 sources, 200 drawers filed, 100/s, about 2 s left"
        );
        assert_eq!(words(progress, None, two), "5 sources, 200 drawers filed, 100/s");
        assert_eq!(drawing(progress, extent), "[############------------] ");
        assert_eq!(drawing(progress, None), "");
    }

    #[test]
    fn a_tree_that_grew_while_it_was_walked_does_not_overflow_the_bar() {
        let progress = Progress {
            sources: 5,
            bytes: 5000,
            drawers: 1,
        };
        let extent = Some(Extent {
            sources: 1,
            bytes: 10,
        });
        assert_eq!(drawing(progress, extent), format!("[{}] ", "#".repeat(24)));
    }
}
