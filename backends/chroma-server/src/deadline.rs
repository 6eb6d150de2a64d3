//! Deadlines of calls.

use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};

/// The time at which a call must have ended; none if it may take as long as it needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChromaDeadline(Option<Instant>);

impl ChromaDeadline {
    /// Begins a call with this budget; one without any time left is `TimedOut` at once.
    pub(crate) fn begin(budget: Option<Duration>) -> Result<Self> {
        // A budget beyond the range of the clock is none.
        let deadline = Self(budget.and_then(|budget| Instant::now().checked_add(budget)));
        deadline.check()?;
        Ok(deadline)
    }

    /// Returns the time that is left.
    pub(crate) fn time_left(self) -> Option<Duration> {
        self.0
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Fails if the deadline has passed.
    pub(crate) fn check(self) -> Result<()> {
        match self.time_left() {
            Some(left) if left.is_zero() => Err(Error::new(
                ErrorKind::TimedOut,
                "the time budget of this call is used up",
            )
            .with_hint("nothing was written; give the call more time")),
            _ => Ok(()),
        }
    }
}
