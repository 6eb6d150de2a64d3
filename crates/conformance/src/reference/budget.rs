//! Time budgets of the reference.

use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};

/// The time by which a call must end, if it has a budget.
pub(super) struct CallDeadline {
    began: Instant,
    budget: Option<Duration>,
}

impl CallDeadline {
    /// Starts the clock of a call; a budget of zero fails at once.
    pub(super) fn begin(budget: Option<Duration>) -> Result<Self> {
        let deadline = Self {
            began: Instant::now(),
            budget,
        };
        deadline.check()?;
        Ok(deadline)
    }

    /// Fails once the budget is used up.
    pub(super) fn check(&self) -> Result<()> {
        match self.budget {
            // At least, not more than: a budget of zero is used up before the call begins.
            Some(budget) if self.began.elapsed() >= budget => Err(Error::new(
                ErrorKind::TimedOut,
                format!("the call took longer than its budget of {budget:?}"),
            )
            .with_hint("nothing was written; give it more time")),
            _ => Ok(()),
        }
    }

    /// Returns the answer if it came in time.
    pub(super) fn keep_answer<T>(&self, answer: T) -> Result<T> {
        self.check().map(|()| answer)
    }
}
