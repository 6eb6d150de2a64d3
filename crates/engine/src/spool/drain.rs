//! Draining: what waits is worked off, and a line is taken out only when its work is done.

use std::collections::HashSet;
use std::io;

use loci_core::{Result, Timestamp};

use super::event::Key;
use super::lines::{self, Line};
use super::{BEGUN, EVENTS, Event, Spool, Turn};

/// How often a conversation is tried before it is set aside.
pub const MOST_TRIES: u32 = 5;

/// How long the first pause after a failure is, in microseconds: a minute. Each further one is four times as long.
const PAUSE: i64 = 60 * 1_000_000;

/// Why something was set aside that never came to say why.
const ENDED: &str = "the process that mined it ended each time";

/// What became of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is mined; or there was nothing to mine, for the reason given.
    Done(Option<String>),
    /// What it names is not there. After some tries it is given up: a file that is not there holds nothing.
    Missing(String),
    /// It is not its fault: the palace is held by somebody else. Does not count as a try.
    Later(String),
    /// It could not be mined. After some tries it is set aside.
    Failed(String),
}

/// What draining did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// How many conversations were worked off.
    pub done: u64,
    /// How many were not.
    pub left: u64,
}

/// Works off everything that waits and is due, until nothing is.
///
/// `work` is asked once for each conversation, however many events tell of it. What fails waits for some time and
/// keeps nobody else waiting. Each try is written down before it begins, so that work which kills its process is set
/// aside too. The turn is given back only when nothing is left that this run could do, in such a way that an event
/// that comes meanwhile is seen either here or by whoever brought it.
pub fn drain(
    spool: &Spool,
    mut turn: Turn,
    clock: &dyn Fn() -> Timestamp,
    work: &mut dyn FnMut(&Event) -> Outcome,
) -> Result<Drained> {
    let mut drainer = Drainer {
        spool,
        clock,
        tried: HashSet::new(),
        drained: Drained::default(),
    };
    let wrong = |cause| spool.wrong("cannot drain", cause);
    drainer.count_what_ended_a_process().map_err(wrong)?;
    loop {
        while let Some(line) = drainer.next(&turn).map_err(wrong)? {
            drainer.work_off(&line, work).map_err(wrong)?;
        }
        // An event beside the spool may have come after the last look and before the turn was given back.
        if spool.aside().map_err(wrong)?.is_empty() {
            return Ok(drainer.drained);
        }
        match spool.turn()? {
            Some(again) => turn = again,
            None => return Ok(drainer.drained),
        }
    }
}

struct Drainer<'a> {
    spool: &'a Spool,
    clock: &'a dyn Fn() -> Timestamp,
    /// What this run has tried in vain.
    tried: HashSet<Key>,
    drained: Drained,
}

impl Drainer<'_> {
    /// Counts the try that an earlier process began and did not live to end.
    fn count_what_ended_a_process(&self) -> io::Result<()> {
        let path = self.spool.file(BEGUN);
        let begun = lines::read(&path)?.pop().and_then(|line| line.event);
        let Some(begun) = begun else { return Ok(()) };
        let held = self.spool.lock()?;
        let mut lines = self.spool.gather()?;
        for event in lines.iter_mut().filter_map(|line| line.event.as_mut()) {
            if event.key() == begun.key() {
                event.tries = event.tries.max(begun.tries);
            }
        }
        let lines: Vec<Line> = lines
            .into_iter()
            .filter_map(|line| line.event)
            .map(Line::of)
            .collect();
        lines::replace(&self.spool.file(EVENTS), &lines)?;
        drop(held);
        std::fs::remove_file(path)
    }

    /// The next line that is due; gives the turn back where there is none.
    fn next(&mut self, turn: &Turn) -> io::Result<Option<Line>> {
        let held = self.spool.lock()?;
        let lines = self.spool.gather()?;
        let due = self.due(&lines).cloned();
        if due.is_none() {
            turn.release()?;
        }
        drop(held);
        Ok(due)
    }

    /// What was tried least, so that work that ends its process keeps nobody waiting.
    fn due<'l>(&self, lines: &'l [Line]) -> Option<&'l Line> {
        let now = (self.clock)();
        let due = lines
            .iter()
            .filter_map(|line| Some((line, line.event.as_ref()?)))
            .filter(|(_, event)| event.after.is_none_or(|after| is_over(after, now)))
            .filter(|(_, event)| !self.tried.contains(&event.key()));
        due.min_by_key(|(_, event)| event.tries).map(|(line, _)| line)
    }

    /// Works off one line. That it was begun is written down first, though not made durable: what ends a process leaves
    /// that behind, and a power cut is nobody's fault.
    fn work_off(&mut self, line: &Line, work: &mut dyn FnMut(&Event) -> Outcome) -> io::Result<()> {
        let Some(event) = line.event.clone() else {
            return Ok(());
        };
        let event = &Event {
            tries: event.tries.saturating_add(1),
            after: None,
            ..event
        };
        let begun = self.spool.file(BEGUN);
        lines::write(&begun, &event.line())?;
        let outcome = match event.tries > MOST_TRIES {
            true => Outcome::Failed(event.why.clone().unwrap_or_else(|| ENDED.to_owned())),
            false => work(event),
        };
        self.settle(line, event, outcome)?;
        std::fs::remove_file(begun)
    }

    fn settle(&mut self, line: &Line, event: &Event, outcome: Outcome) -> io::Result<()> {
        let last = event.tries >= MOST_TRIES;
        match outcome {
            Outcome::Done(note) => {
                if let Some(note) = note {
                    self.note(event, &note);
                }
                self.drained.done += 1;
                self.spool.exchange(line, None)?;
                self.spool.set_failed(event, false)
            }
            Outcome::Later(why) => self.leave(line, event, why, Some(event.tries.saturating_sub(1))),
            Outcome::Missing(why) => self.leave(line, event, why, (!last).then_some(event.tries)),
            Outcome::Failed(why) if !last => self.leave(line, event, why, Some(event.tries)),
            Outcome::Failed(why) => {
                let failed = Event {
                    why: Some(why.clone()),
                    ..event.clone()
                };
                self.spool.set_failed(&failed, true)?;
                self.leave(line, event, why, None)
            }
        }
    }

    /// Leaves an event for another time, counted as `tries`, or for good.
    fn leave(&mut self, line: &Line, event: &Event, why: String, tries: Option<u32>) -> io::Result<()> {
        let end = if tries.is_none() { "; given up" } else { "" };
        self.note(event, &format!("{why}{end}"));
        self.tried.insert(event.key());
        self.drained.left += 1;
        let later = tries.map(|tries| {
            let after = (self.clock)().as_micros().saturating_add(pause(tries));
            Line::of(Event {
                tries,
                after: Timestamp::from_micros(after).ok(),
                why: Some(why),
                ..event.clone()
            })
        });
        self.spool.exchange(line, later)
    }

    fn note(&self, event: &Event, what: &str) {
        let name = event.transcript.as_ref().or(event.session.as_ref());
        let name = name.map_or("a conversation without a name", String::as_str);
        self.spool
            .note((self.clock)(), &format!("{}: {name}: {what}", event.harness));
    }
}

/// Whether a pause is over, or could never have been set: the clock was wrong then or is now.
fn is_over(after: Timestamp, now: Timestamp) -> bool {
    let left = after.as_micros().saturating_sub(now.as_micros());
    !(1..=pause(MOST_TRIES)).contains(&left)
}

/// How long to wait after so many tries, in microseconds.
fn pause(tries: u32) -> i64 {
    PAUSE.saturating_mul(4_i64.saturating_pow(tries.saturating_sub(1)))
}
