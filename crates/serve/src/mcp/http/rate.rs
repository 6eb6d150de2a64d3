//! Rate limits: a token bucket that fills at a steady rate.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A rate limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestRate {
    /// Events per second in the long run.
    pub per_second: f64,
    /// Events at once.
    pub burst: f64,
}

/// The bucket of a rate limit.
pub(crate) struct RateBucket {
    rate: RequestRate,
    left: Mutex<(f64, Instant)>,
}

impl RateBucket {
    /// Makes a full bucket.
    pub(crate) fn new(rate: RequestRate, now: Instant) -> Self {
        Self {
            rate,
            left: Mutex::new((rate.burst, now)),
        }
    }

    /// Takes one event, or returns the seconds after which one may be available.
    pub(crate) fn take(&self, now: Instant) -> Result<(), u64> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (was, then) = *left;
        let since = now.saturating_duration_since(then).as_secs_f64();
        // A clock that goes backwards must not fill the bucket: the difference saturates at zero, and the
        // later time stays.
        let full = (was + since * self.rate.per_second).min(self.rate.burst);
        let enough = full >= 1.0;
        *left = (if enough { full - 1.0 } else { full }, now.max(then));
        if enough {
            Ok(())
        } else {
            Err(round_up_seconds((1.0 - full) / self.rate.per_second))
        }
    }
}

/// Rounds up to whole seconds, at least one, as `Retry-After` wants them.
fn round_up_seconds(wait: f64) -> u64 {
    // A rate of zero gives an infinite wait, which is not a valid duration.
    let wait = Duration::try_from_secs_f64(wait).unwrap_or(Duration::from_secs(3600));
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate_decides() {
        let start = Instant::now();
        let rate = RequestRate {
            per_second: 0.5,
            burst: 3.0,
        };
        let bucket = RateBucket::new(rate, start);
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
        let rate = RequestRate {
            per_second: 0.0,
            burst: 0.0,
        };
        assert_eq!(RateBucket::new(rate, start).take(start), Err(3600));
    }
}
