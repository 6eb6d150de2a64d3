//! Time budgets of reads: a scan checks the clock before each record.

use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};

/// The time by which a read must finish, if it has a budget.
#[derive(Debug, Clone, Copy)]
pub struct ScanDeadline {
    began: Instant,
    budget: Option<Duration>,
}

impl ScanDeadline {
    /// Starts the budget of a read; an empty budget fails at once.
    pub fn begin(budget: Option<Duration>) -> Result<Self> {
        let deadline = Self {
            began: Instant::now(),
            budget,
        };
        deadline.check()?;
        Ok(deadline)
    }

    /// Fails once the budget is used up.
    pub fn check(&self) -> Result<()> {
        match self.budget {
            Some(budget) if self.began.elapsed() >= budget => Err(Error::new(
                ErrorKind::TimedOut,
                format!("reading the palace took longer than {budget:?}"),
            )
            .with_hint("give it more time, or ask for less")),
            _ => Ok(()),
        }
    }
}
