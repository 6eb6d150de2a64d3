//! Draining: mines the waiting conversations, and removes a line only when its work is done.

use std::collections::HashSet;
use std::io;

use loci_core::{Result, Timestamp};

use super::event::ConversationKey;
use super::lines::{self, SpoolLine};
use super::{BEGUN, DrainTurn, EVENTS, EventSpool, SpoolEvent};

/// The number of times a conversation is tried before it is set aside.
pub const MOST_TRIES: u32 = 5;

/// The pause after the first failure, in microseconds: a minute. Each further pause is four times as long.
const PAUSE: i64 = 60 * 1_000_000;

/// The reason recorded for an event whose process died before it could record one.
const ENDED: &str = "the process that mined it died each time";

/// The outcome of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventOutcome {
    /// It is mined, or there was nothing to mine for the given reason.
    Done(Option<String>),
    /// The transcript does not exist. After some tries the event is dropped.
    Missing(String),
    /// Another process holds the palace. Does not count as a try.
    Later(String),
    /// It could not be mined. After some tries the event is set aside.
    Failed(String),
}

/// The outcome of draining.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// The number of conversations that are done.
    pub done: u64,
    /// The number of conversations left for later or given up.
    pub left: u64,
}

/// Mines every waiting conversation that is due, until none is left.
///
/// `work` is called once for each conversation, however many events name it. A failed conversation waits
/// without delaying others. Each try is recorded before it begins, so that work which kills its process is set
/// aside, too. The turn is given back only when nothing is left for this run, and in such a way that an event
/// which arrives in the meantime is seen either here or by the hook that appended it.
pub fn drain_spool(
    spool: &EventSpool,
    mut turn: DrainTurn,
    clock: &dyn Fn() -> Timestamp,
    work: &mut dyn FnMut(&SpoolEvent) -> EventOutcome,
) -> Result<DrainReport> {
    let mut drainer = SpoolDrainer {
        spool,
        clock,
        tried: HashSet::new(),
        drained: DrainReport::default(),
    };
    let wrong = |cause| spool.wrap_error("cannot drain", cause);
    drainer.count_interrupted_try().map_err(wrong)?;
    loop {
        while let Some(line) = drainer.next_due_line(&turn).map_err(wrong)? {
            drainer.work_off(&line, work).map_err(wrong)?;
        }
        // A hook that did not get the lock may have written its event beside the spool after the last look and
        // before the turn was released. It saw the turn taken, so no other drainer was started for it.
        if spool.list_aside_files().map_err(wrong)?.is_empty() {
            return Ok(drainer.drained);
        }
        match spool.take_turn()? {
            Some(again) => turn = again,
            None => return Ok(drainer.drained),
        }
    }
}

struct SpoolDrainer<'a> {
    spool: &'a EventSpool,
    clock: &'a dyn Fn() -> Timestamp,
    /// The conversations this run tried without success.
    tried: HashSet<ConversationKey>,
    drained: DrainReport,
}

impl SpoolDrainer<'_> {
    /// Counts the try that an earlier process began and did not survive.
    fn count_interrupted_try(&self) -> io::Result<()> {
        let path = self.spool.file_path(BEGUN);
        let begun = lines::read_lines(&path)?.pop().and_then(|line| line.event);
        let Some(begun) = begun else { return Ok(()) };
        let held = self.spool.lock_events()?;
        let mut lines = self.spool.gather_events()?;
        for event in lines.iter_mut().filter_map(|line| line.event.as_mut()) {
            // `begun.json` holds the count including the interrupted try.
            if event.conversation_key() == begun.conversation_key() {
                event.tries = event.tries.max(begun.tries);
            }
        }
        let lines: Vec<SpoolLine> = lines
            .into_iter()
            .filter_map(|line| line.event)
            .map(SpoolLine::from_event)
            .collect();
        lines::replace_lines(&self.spool.file_path(EVENTS), &lines)?;
        drop(held);
        std::fs::remove_file(path)
    }

    /// Returns the next line that is due; releases the turn if there is none.
    fn next_due_line(&mut self, turn: &DrainTurn) -> io::Result<Option<SpoolLine>> {
        let held = self.spool.lock_events()?;
        let lines = self.spool.gather_events()?;
        let due = self.find_due_line(&lines).cloned();
        if due.is_none() {
            // Released while the lines are still locked: a hook appends under the same lock and asks for the turn
            // afterwards, so it either gets the turn or its line was seen here.
            turn.release_lock()?;
        }
        drop(held);
        Ok(due)
    }

    /// Chooses the due line with the fewest tries, so that work which kills its process does not delay others.
    fn find_due_line<'l>(&self, lines: &'l [SpoolLine]) -> Option<&'l SpoolLine> {
        let now = (self.clock)();
        let due = lines
            .iter()
            .filter_map(|line| Some((line, line.event.as_ref()?)))
            .filter(|(_, event)| event.after.is_none_or(|after| is_over(after, now)))
            .filter(|(_, event)| !self.tried.contains(&event.conversation_key()));
        due.min_by_key(|(_, event)| event.tries).map(|(line, _)| line)
    }

    /// Works on one line. The beginning is recorded first but not synced: the record survives the death of the
    /// process, and a power cut is not a fault of the work.
    fn work_off(
        &mut self,
        line: &SpoolLine,
        work: &mut dyn FnMut(&SpoolEvent) -> EventOutcome,
    ) -> io::Result<()> {
        let Some(event) = line.event.clone() else {
            return Ok(());
        };
        let event = &SpoolEvent {
            tries: event.tries.saturating_add(1),
            after: None,
            ..event
        };
        let begun = self.spool.file_path(BEGUN);
        lines::write_line(&begun, &event.to_line())?;
        // Only a conversation whose last try killed its process still waits with all its tries used up.
        let outcome = if event.tries > MOST_TRIES {
            EventOutcome::Failed(event.why.clone().unwrap_or_else(|| ENDED.to_owned()))
        } else {
            work(event)
        };
        self.settle_event(line, event, outcome)?;
        std::fs::remove_file(begun)
    }

    fn settle_event(
        &mut self,
        line: &SpoolLine,
        event: &SpoolEvent,
        outcome: EventOutcome,
    ) -> io::Result<()> {
        let last = event.tries >= MOST_TRIES;
        match outcome {
            EventOutcome::Done(note) => {
                if let Some(note) = note {
                    self.log_event(event, &note);
                }
                self.drained.done += 1;
                self.spool.replace_line(line, None)?;
                self.spool.set_failed(event, false)
            }
            // The try was counted before the work began, and is taken back here.
            EventOutcome::Later(why) => {
                self.postpone_event(line, event, why, Some(event.tries.saturating_sub(1)))
            }
            // A transcript may appear only after its first event, so a missing one gets its tries, too.
            EventOutcome::Missing(why) => {
                self.postpone_event(line, event, why, (!last).then_some(event.tries))
            }
            EventOutcome::Failed(why) if !last => self.postpone_event(line, event, why, Some(event.tries)),
            EventOutcome::Failed(why) => {
                let failed = SpoolEvent {
                    why: Some(why.clone()),
                    ..event.clone()
                };
                // Recorded as failed before its line is removed: a crash in between leaves it in both, never in
                // neither.
                self.spool.set_failed(&failed, true)?;
                self.postpone_event(line, event, why, None)
            }
        }
    }

    /// Postpones an event with this count of tries, or drops it.
    fn postpone_event(
        &mut self,
        line: &SpoolLine,
        event: &SpoolEvent,
        why: String,
        tries: Option<u32>,
    ) -> io::Result<()> {
        let end = if tries.is_none() { "; given up" } else { "" };
        self.log_event(event, &format!("{why}{end}"));
        self.tried.insert(event.conversation_key());
        self.drained.left += 1;
        let later = tries.map(|tries| {
            let after = (self.clock)().as_micros().saturating_add(pause_after(tries));
            SpoolLine::from_event(SpoolEvent {
                tries,
                after: Timestamp::from_micros(after).ok(),
                why: Some(why),
                ..event.clone()
            })
        });
        self.spool.replace_line(line, later)
    }

    fn log_event(&self, event: &SpoolEvent, what: &str) {
        let name = event.transcript.as_ref().or(event.session.as_ref());
        let name = name.map_or("an unnamed conversation", String::as_str);
        self.spool
            .log_message((self.clock)(), &format!("{}: {name}: {what}", event.harness));
    }
}

/// Returns whether a pause is over. A pause longer than any that can be set comes from a wrong clock and counts
/// as over.
fn is_over(after: Timestamp, now: Timestamp) -> bool {
    let left = after.as_micros().saturating_sub(now.as_micros());
    !(1..=pause_after(MOST_TRIES)).contains(&left)
}

/// Returns the pause after this many tries, in microseconds.
fn pause_after(tries: u32) -> i64 {
    PAUSE.saturating_mul(4_i64.saturating_pow(tries.saturating_sub(1)))
}
