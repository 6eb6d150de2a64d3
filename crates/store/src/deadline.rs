//! Time budgets: the moment at which a call gives up, and the time it may wait for locks until then.

use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};

use crate::clock;

/// The moment at which a call gives up, if it has one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BudgetDeadline(Option<Instant>);

impl BudgetDeadline {
    /// Returns the deadline that `budget` sets from now; none without a budget.
    pub(crate) fn after(budget: Option<Duration>) -> Self {
        // A budget beyond the range of the clock is no limit.
        Self(budget.and_then(|budget| clock::instant().checked_add(budget)))
    }

    /// Returns the moment itself.
    pub(crate) fn instant(self) -> Option<Instant> {
        self.0
    }

    /// Fails with `TimedOut` once the time is used up.
    pub(crate) fn check(self) -> Result<()> {
        match self.0 {
            Some(instant) if clock::instant() >= instant => Err(timed_out()),
            _ => Ok(()),
        }
    }
}

/// The time one call may take, and how much of it the call may wait for other processes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    wait: Duration,
    pub(crate) deadline: BudgetDeadline,
}

impl CallLimits {
    /// Waits for at most `wait` at each lock, and for all together no longer than `budget`.
    pub(crate) fn new(wait: Duration, budget: Option<Duration>) -> Self {
        Self {
            wait,
            deadline: BudgetDeadline::after(budget),
        }
    }

    /// Returns the longest wait from now on.
    pub(crate) fn wait(self) -> Duration {
        match self.deadline.0 {
            Some(instant) => self.wait.min(instant.saturating_duration_since(clock::instant())),
            None => self.wait,
        }
    }

    /// Turns `Locked` into `TimedOut` if the budget and not the wait was the limit that was reached.
    pub(crate) fn explain_lock(self, error: Error) -> Error {
        let budget_ended = self.deadline.0.is_some_and(|instant| {
            // SQLite waits in whole milliseconds, so it may give up that much before the deadline.
            instant.saturating_duration_since(clock::instant()) <= Duration::from_millis(2)
        });
        match error.kind() {
            ErrorKind::Locked if budget_ended => timed_out().caused_by(error),
            _ => error,
        }
    }
}

/// Returns the error of a call whose time is used up.
pub(crate) fn timed_out() -> Error {
    Error::new(ErrorKind::TimedOut, "the time given for this call is used up")
        .with_hint("nothing was written; ask for less, or give it more time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_waits_no_longer_than_its_budget() {
        let wait = Duration::from_secs(30);
        assert_eq!(CallLimits::new(wait, None).wait(), wait);
        assert!(CallLimits::new(wait, Some(Duration::from_secs(1))).wait() <= Duration::from_secs(1));
        assert_eq!(CallLimits::new(wait, Some(Duration::MAX)).wait(), wait);
        assert!(BudgetDeadline::after(None).check().is_ok());
        let used_up = BudgetDeadline::after(Some(Duration::ZERO));
        assert_eq!(used_up.check().unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_lock_that_outlasts_the_budget_is_a_time_out_and_any_other_is_locked() {
        let locked = || Error::new(ErrorKind::Locked, "locked");
        let wait = Duration::from_secs(30);
        let ended = CallLimits::new(wait, Some(Duration::ZERO));
        assert_eq!(ended.explain_lock(locked()).kind(), ErrorKind::TimedOut);
        let going_on = CallLimits::new(wait, Some(wait));
        assert_eq!(going_on.explain_lock(locked()).kind(), ErrorKind::Locked);
        assert_eq!(
            CallLimits::new(wait, None).explain_lock(locked()).kind(),
            ErrorKind::Locked
        );
    }
}
