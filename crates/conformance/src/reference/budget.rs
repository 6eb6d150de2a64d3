//! Time budgets of the reference.

use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};

/// The time by which a call must end, if it has a budget.
pub(super) struct Deadline {
    began: Instant,
    budget: Option<Duration>,
}

impl Deadline {
    /// Begins a call; one whose budget is used up before it begins fails at once.
    pub(super) fn begin(budget: Option<Duration>) -> Result<Self> {
        let deadline = Self {
            began: Instant::now(),
            budget,
        };
        deadline.check()?;
        Ok(deadline)
    }

    /// Refuses to go on once the budget is used up.
    pub(super) fn check(&self) -> Result<()> {
        match self.budget {
            Some(budget) if self.began.elapsed() >= budget => Err(Error::new(
                ErrorKind::TimedOut,
                format!("the call took longer than its budget of {budget:?}"),
            )
            .hint("nothing was written; give it more time")),
            _ => Ok(()),
        }
    }

    /// The answer, if it came in time.
    pub(super) fn keep<T>(&self, answer: T) -> Result<T> {
        self.check().map(|()| answer)
    }
}
