//! How often something may happen: a bucket that fills at a steady rate.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often something may happen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// How often in the long run.
    pub per_second: f64,
    /// How often at once.
    pub burst: f64,
}

/// What is left of a rate.
pub(super) struct Bucket {
    rate: Rate,
    left: Mutex<(f64, Instant)>,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            left: Mutex::new((rate.burst, now)),
        }
    }

    /// Takes one, or says after how many seconds there may be one.
    pub(super) fn take(&self, now: Instant) -> Result<(), u64> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (was, then) = *left;
        let since = now.saturating_duration_since(then).as_secs_f64();
        let full = (was + since * self.rate.per_second).min(self.rate.burst);
        let enough = full >= 1.0;
        *left = (if enough { full - 1.0 } else { full }, now.max(then));
        match enough {
            true => Ok(()),
            false => Err(seconds((1.0 - full) / self.rate.per_second)),
        }
    }
}

/// Whole seconds, at least one.
fn seconds(wait: f64) -> u64 {
    let wait = Duration::try_from_secs_f64(wait).unwrap_or(Duration::from_secs(3600));
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate_decides() {
        let start = Instant::now();
        let rate = Rate {
            per_second: 0.5,
            burst: 3.0,
        };
        let bucket = Bucket::new(rate, start);
        let after = |seconds| bucket.take(start + Duration::from_secs(seconds));
        assert_eq!([after(0), after(0), after(0)], [Ok(()); 3]);
        assert_eq!(after(0), Err(2));
        assert_eq!(after(1), Err(1));
        assert_eq!(after(2), Ok(()));
        assert_eq!(after(2), Err(2));
        assert_eq!(after(1), Err(2), "a clock that is late fills nothing");
        assert_eq!([after(100), after(100), after(100)], [Ok(()); 3]);
        assert_eq!(after(100), Err(2), "no more than a burst is saved");
    }

    #[test]
    fn a_rate_of_nothing_never_passes() {
        let start = Instant::now();
        let rate = Rate {
            per_second: 0.0,
            burst: 0.0,
        };
        assert_eq!(Bucket::new(rate, start).take(start), Err(3600));
    }
}
