//! Progress of long jobs: one line on a terminal, or a plain line now and then in a log.

mod line;

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use line::ProgressLine;

/// The time a job may take before its line appears. Most commands end sooner and show nothing.
const DELAY: Duration = Duration::from_millis(500);
/// The time between two drawings of the line.
const REDRAW: Duration = Duration::from_millis(100);
/// The time between two lines in a log.
const LOG_PAUSE: Duration = Duration::from_secs(10);
/// The columns that the spinner and the space behind it take.
const SPINNER_WIDTH: usize = 2;

/// The progress of one job, through all its phases. Dropping it clears the line.
#[derive(Debug)]
pub(crate) struct JobProgress {
    line: Arc<Mutex<ProgressLine>>,
    display: ProgressDisplay,
}

/// The place where progress is shown.
#[derive(Debug)]
enum ProgressDisplay {
    Hidden,
    Terminal(TerminalLine),
    Log { next: Instant },
}

impl JobProgress {
    /// Progress that is not shown.
    pub(crate) fn hidden() -> Self {
        Self::new("", |_| ProgressDisplay::Hidden)
    }

    /// Progress on the terminal behind standard error; `doing` names the first phase.
    pub(crate) fn on_terminal(doing: &str) -> Self {
        Self::new(doing, |line| ProgressDisplay::Terminal(TerminalLine::start(line)))
    }

    /// Progress for a log: a line on standard error every ten seconds.
    pub(crate) fn in_log(doing: &str) -> Self {
        Self::new(doing, |_| ProgressDisplay::Log {
            next: Instant::now() + LOG_PAUSE,
        })
    }

    fn new(doing: &str, display: impl FnOnce(&Arc<Mutex<ProgressLine>>) -> ProgressDisplay) -> Self {
        let line = Arc::new(Mutex::new(ProgressLine::new(doing)));
        Self {
            display: display(&line),
            line,
        }
    }

    /// Begins another phase, with its own count, rate and clock. A phase that is running already goes on.
    pub(crate) fn begin_phase(&mut self, doing: &str) {
        let mut line = lock(&self.line);
        // Reporters name their phase with every count, and only a change of it restarts the clock.
        if !line.is_phase(doing) {
            *line = ProgressLine::new(doing);
        }
    }

    /// Reports that `done` of `total` is done in this phase; a total that is not known is `None`.
    pub(crate) fn tick(&mut self, done: u64, total: Option<u64>) {
        lock(&self.line).count(done, total);
        self.log();
    }

    /// Reports in other words than the count: `words` are shown, `rated` gives the rate, and `done` of `total` the bar
    /// and the time left.
    pub(crate) fn tick_in_words(&mut self, words: String, rated: u64, done: u64, total: Option<u64>) {
        lock(&self.line).describe(words, rated, done, total);
        self.log();
    }

    /// Runs `print`, which writes to the terminal, with the line out of its way.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.display {
            ProgressDisplay::Terminal(terminal) => terminal.bar.suspend(print),
            _ => print(),
        }
    }

    fn log(&mut self) {
        let ProgressDisplay::Log { next } = &mut self.display else {
            return;
        };
        let now = Instant::now();
        if now < *next {
            return;
        }
        *next = now + LOG_PAUSE;
        let text = lock(&self.line).text(now);
        // Progress that cannot be written stops nothing.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
    }
}

/// A line that a thread of its own draws, so that the clock moves on while a phase has nothing to report.
#[derive(Debug)]
struct TerminalLine {
    bar: ProgressBar,
    /// Dropped to end the thread before the line has appeared.
    ended: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

impl TerminalLine {
    fn start(line: &Arc<Mutex<ProgressLine>>) -> Self {
        let shown = Arc::clone(line);
        let style = ProgressStyle::with_template("{spinner} {line}")
            .expect("the template is well formed")
            .with_key(
                "line",
                move |_: &ProgressState, text: &mut dyn std::fmt::Write| {
                    // One column stays free: a terminal may wrap a line that fills it to the last.
                    let width = terminal_width().saturating_sub(SPINNER_WIDTH + 1);
                    let line = lock(&shown).fit(width, Instant::now());
                    // A line that cannot be written is drawn again a moment later.
                    let _ = text.write_str(&line);
                },
            );
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_style(style);
        let (ended, end) = mpsc::channel();
        let delayed = bar.clone();
        let drawer = thread::spawn(move || {
            if end.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                delayed.set_draw_target(ProgressDrawTarget::stderr());
                delayed.enable_steady_tick(REDRAW);
            }
        });
        Self {
            bar,
            ended: Some(ended),
            drawer: Some(drawer),
        }
    }
}

impl Drop for TerminalLine {
    fn drop(&mut self) {
        // The thread must be gone before the line is cleared, or it could draw the line once more.
        self.ended.take();
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
        self.bar.finish_and_clear();
    }
}

/// A thread that panicked while it held the line leaves words behind that are still good to show.
fn lock(line: &Mutex<ProgressLine>) -> MutexGuard<'_, ProgressLine> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The width of the terminal behind standard error now; a user may resize it at any moment.
fn terminal_width() -> usize {
    const USUAL_WIDTH: usize = 80;
    let size = console::Term::stderr().size_checked();
    let width = size.map_or(0, |(_, columns)| usize::from(columns));
    if width == 0 { USUAL_WIDTH } else { width }
}
