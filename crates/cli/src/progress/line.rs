//! The words of a progress line, fitted to the width of the terminal.

use std::time::{Duration, Instant};

/// The widest bar, in characters between its brackets.
const WIDEST_BAR: usize = 24;
/// The narrowest bar that still says something.
const NARROWEST_BAR: usize = 6;
/// The characters of a bar beside its own: two brackets and a space.
const BAR_FRAME: usize = 3;

/// A phase of a job: its words, and how far it is.
#[derive(Debug)]
pub(super) struct ProgressLine {
    doing: String,
    /// Words in place of the phase and its count.
    words: Option<String>,
    count: Option<PhaseCount>,
    began: Instant,
}

/// The amount done in a phase.
#[derive(Debug, Clone, Copy)]
struct PhaseCount {
    done: u64,
    total: Option<u64>,
    rated: u64,
    /// The amounts at the first report. A job that resumes did them earlier, so that they say nothing about its speed.
    first_done: u64,
    first_rated: u64,
}

impl ProgressLine {
    /// A phase that has nothing to report yet.
    pub(super) fn new(doing: &str) -> Self {
        Self {
            doing: doing.to_owned(),
            words: None,
            count: None,
            began: Instant::now(),
        }
    }

    /// Whether this is the phase of that name.
    pub(super) fn is_phase(&self, doing: &str) -> bool {
        self.doing == doing
    }

    /// Takes over how much of how much is done.
    pub(super) fn count(&mut self, done: u64, total: Option<u64>) {
        self.measure(done, done, total);
    }

    /// Takes over words, the amount that gives the rate, and how much of how much is done.
    pub(super) fn describe(&mut self, words: String, rated: u64, done: u64, total: Option<u64>) {
        self.words = Some(words);
        self.measure(rated, done, total);
    }

    fn measure(&mut self, rated: u64, done: u64, total: Option<u64>) {
        if self.count.is_none() {
            // Work before the first report, such as opening a palace, says nothing about the speed.
            self.began = Instant::now();
        }
        let count = self.count.get_or_insert(PhaseCount {
            done,
            total,
            rated,
            first_done: done,
            first_rated: rated,
        });
        (count.done, count.total, count.rated) = (done, total, rated);
    }

    /// The line without a bar and at full length, for a log.
    pub(super) fn text(&self, now: Instant) -> String {
        let took = now.saturating_duration_since(self.began);
        [self.lead(), self.rate(took), self.left(took)].concat()
    }

    /// The line in at most `width` columns: the rate goes first, then the time left, then the name of the phase, then the
    /// end of the words.
    pub(super) fn fit(&self, width: usize, now: Instant) -> String {
        let took = now.saturating_duration_since(self.began);
        let (lead, rate, left) = (self.lead(), self.rate(took), self.left(took));
        let choices = [
            [lead.as_str(), rate.as_str(), left.as_str()].concat(),
            [lead.as_str(), left.as_str()].concat(),
            lead.clone(),
            self.numbers().unwrap_or_default(),
        ];
        let fits = |text: &&String| !text.is_empty() && columns(text) <= width;
        let text = choices.iter().find(fits);
        let text = text.map_or_else(|| shorten(&lead, width), Clone::clone);
        // The bar takes only columns that are left: it repeats what the count says.
        match self.bar(width - columns(&text)) {
            Some(bar) => format!("{bar} {text}"),
            None => text,
        }
    }

    /// The count without the phase, for a terminal that has no room for both.
    fn numbers(&self) -> Option<String> {
        let count = self.count.filter(|_| self.words.is_none())?;
        Some(match count.total {
            Some(total) => format!("{} of {total}", count.done),
            None => count.done.to_string(),
        })
    }

    /// The words and the count.
    fn lead(&self) -> String {
        match (&self.words, &self.count) {
            (Some(words), _) => words.clone(),
            (None, None) => self.doing.clone(),
            (None, Some(_)) => format!("{}: {}", self.doing, self.numbers().unwrap_or_default()),
        }
    }

    /// The amount done in a second, where that is at least one.
    fn rate(&self, took: Duration) -> String {
        let Some(count) = &self.count else {
            return String::new();
        };
        // A dozen steps of different length have no rate that says anything.
        if self.words.is_none() && count.total.is_some_and(|total| total < 100) {
            return String::new();
        }
        let done = count.rated.saturating_sub(count.first_rated);
        let rate = done as f64 / took.as_secs_f64().max(0.001);
        if rate >= 1.0 {
            format!(", {rate:.0}/s")
        } else {
            String::new()
        }
    }

    /// The time left, or the time it took so far where the end is not known.
    fn left(&self, took: Duration) -> String {
        let total = self.count.and_then(|count| Some((count, count.total?)));
        let Some((count, total)) = total else {
            return match took.as_secs() {
                0 => String::new(),
                seconds => format!(", {}", spell_seconds(seconds)),
            };
        };
        let done = count.done.saturating_sub(count.first_done);
        let left = total.saturating_sub(count.done);
        // Nothing done in this run says nothing about the rest of it.
        if done == 0 || left == 0 {
            return String::new();
        }
        let seconds = (took.as_secs_f64() * left as f64 / done as f64).ceil() as u64;
        format!(", about {} left", spell_seconds(seconds))
    }

    /// A bar for the columns that the words leave, if the total is known and the columns are enough.
    fn bar(&self, spare: usize) -> Option<String> {
        let count = self.count.as_ref()?;
        let total = count.total.filter(|total| *total > 0)?;
        let width = spare.checked_sub(BAR_FRAME)?.min(WIDEST_BAR);
        if width < NARROWEST_BAR {
            return None;
        }
        // A tree may grow while it is walked, so that more is done than was counted beforehand.
        let share = count.done.min(total) as f64 / total as f64;
        let full = (share * width as f64) as usize;
        Some(format!("[{}{}]", "#".repeat(full), "-".repeat(width - full)))
    }
}

/// Every character of a progress line takes one column: its words are our own, and none is wide.
fn columns(text: &str) -> usize {
    text.chars().count()
}

fn shorten(text: &str, width: usize) -> String {
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        short.push('…');
    }
    short
}

/// A time in the largest unit in which it is not tiny.
fn spell_seconds(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of mining two seconds after it began.
    fn mining(done: u64, total: Option<u64>) -> (ProgressLine, Instant) {
        let mut line = ProgressLine::new("looking for sources");
        line.describe(String::new(), 0, 0, total);
        line.describe("5 of 10 sources, 200 drawers filed".to_owned(), 200, done, total);
        let now = line.began + Duration::from_secs(2);
        (line, now)
    }

    #[test]
    fn the_line_says_how_far_it_is_how_fast_and_how_long_still() {
        let (line, now) = mining(500, Some(1000));
        assert_eq!(
            line.text(now),
            "5 of 10 sources, 200 drawers filed, 100/s, about 2 s left"
        );
        assert_eq!(
            line.fit(100, now),
            "[############------------] 5 of 10 sources, 200 drawers filed, 100/s, about 2 s left"
        );
    }

    #[test]
    fn the_line_fits_every_terminal() {
        for total in [None, Some(1000), Some(10)] {
            let (line, now) = mining(500, total);
            for width in 0..200 {
                let text = line.fit(width, now);
                assert!(columns(&text) <= width, "{width}: {text}");
                let tells = text.contains("5 of 10") || width < 8;
                assert!(tells, "{width}: {text}");
            }
        }
        let (line, now) = mining(500, Some(1000));
        assert_eq!(
            line.fit(77, now),
            "[########---------] 5 of 10 sources, 200 drawers filed, 100/s, about 2 s left"
        );
        assert_eq!(
            line.fit(50, now),
            "5 of 10 sources, 200 drawers filed, about 2 s left"
        );
        assert_eq!(line.fit(17, now), "5 of 10 sources,…");
    }

    #[test]
    fn a_tree_that_grew_while_it_was_walked_does_not_overflow_the_bar() {
        let (line, now) = mining(5000, Some(10));
        let text = line.fit(100, now);
        assert!(text.starts_with(&format!("[{}] ", "#".repeat(24))), "{text}");
    }

    #[test]
    fn a_phase_without_a_count_shows_its_clock() {
        let mut line = ProgressLine::new("verifying the copy");
        let at = |line: &ProgressLine, seconds| line.fit(80, line.began + Duration::from_secs(seconds));
        assert_eq!(at(&line, 0), "verifying the copy");
        assert_eq!(at(&line, 12), "verifying the copy, 12 s");
        line.count(7, None);
        line.count(307, None);
        assert_eq!(at(&line, 3), "verifying the copy: 307, 100/s, 3 s");
    }

    #[test]
    fn earlier_work_does_not_count_for_the_speed() {
        let mut line = ProgressLine::new("drawers copied");
        line.count(900, Some(1000));
        line.count(910, Some(1000));
        let now = line.began + Duration::from_secs(1);
        assert_eq!(
            line.text(now),
            "drawers copied: 910 of 1000, 10/s, about 9 s left"
        );
        assert_eq!(line.fit(17, now), "910 of 1000", "numbers say more than words");
    }

    #[test]
    fn times_are_spelled_in_units_people_read() {
        let check = |seconds, text| assert_eq!(spell_seconds(seconds), text);
        check(10, "10 s");
        check(600, "10 min");
        check(36_000, "10 h");
    }
}
