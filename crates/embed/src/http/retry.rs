//! Time-outs and retries of requests.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// The limits of one request and its retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLimits {
    /// The time a connection may take.
    pub connect: Duration,
    /// The time a request may take, from its first to its last byte.
    pub request: Duration,
    /// The most attempts per request.
    pub attempts: u32,
    /// The time that all attempts of one request and their pauses may take.
    pub total: Duration,
    /// The same for a query, which a user or an agent waits for; without its vector a search goes on by words.
    pub query: Duration,
    /// The first pause; each further one is twice as long, and each is cut at random to between half and all of it.
    pub pause: Duration,
    /// The longest pause, even if the server asks for a longer one.
    pub longest_pause: Duration,
    /// The most texts in one request.
    pub batch_texts: usize,
    /// The most bytes of text in one request; a longer text is sent alone.
    pub batch_bytes: usize,
    /// The longest answer, in bytes.
    pub answer_bytes: u64,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            // Generous, because some servers load their model during the first request.
            request: Duration::from_secs(120),
            attempts: 5,
            total: Duration::from_secs(300),
            query: Duration::from_secs(5),
            pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(60),
            batch_texts: 64,
            batch_bytes: 256 * 1024,
            answer_bytes: 64 * 1024 * 1024,
        }
    }
}

impl RequestLimits {
    /// Returns the limits of a query.
    pub(super) fn for_query(&self) -> Self {
        Self {
            request: self.request.min(self.query),
            total: self.total.min(self.query),
            ..self.clone()
        }
    }
}

/// A clock that tells the time and waits; tests use one that does not wait.
pub trait RetryClock: fmt::Debug + Send + Sync {
    /// Returns the time since some fixed moment.
    fn now(&self) -> Duration;

    /// Waits for `pause`.
    fn sleep(&self, pause: Duration);
}

/// The clock of this machine.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl RetryClock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}

/// Whether and when a failed attempt may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// A retry would fail the same way.
    Never,
    /// The cause may be temporary.
    Later,
    /// The server named the pause.
    After(Duration),
}

/// The last failure of a request, and the number of attempts.
#[derive(Debug)]
pub(super) struct RetryFailure<F> {
    /// The failure of the last attempt.
    pub(super) failure: F,
    /// The number of attempts.
    pub(super) attempts: u32,
}

/// Retries until it succeeds, cannot succeed, or a limit is reached. `attempt` receives the time it may take.
pub(super) fn retry_request<T, F>(
    limits: &RequestLimits,
    clock: &dyn RetryClock,
    again: impl Fn(&F) -> RetryAdvice,
    mut attempt: impl FnMut(Duration) -> Result<T, F>,
) -> Result<T, RetryFailure<F>> {
    let end = clock.now().saturating_add(limits.total);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let left = end.saturating_sub(clock.now());
        let failure = match attempt(limits.request.min(left)) {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        let pause = match again(&failure) {
            RetryAdvice::Never => return Err(RetryFailure { failure, attempts }),
            RetryAdvice::Later => backoff_pause(limits, attempts),
            // Never sooner than our own backoff, even if a server asks for zero seconds, and never longer
            // than the user would wait.
            RetryAdvice::After(asked) => backoff_pause(limits, attempts).max(asked.min(limits.longest_pause)),
        };
        let left = end.saturating_sub(clock.now());
        // A pause that would outlast the budget is not begun: waiting without another attempt helps no
        // one.
        if attempts >= limits.attempts || pause >= left {
            return Err(RetryFailure { failure, attempts });
        }
        clock.sleep(pause);
    }
}

/// Returns the pause after the `attempt`-th attempt: between half and all of a time that doubles.
fn backoff_pause(limits: &RequestLimits, attempt: u32) -> Duration {
    let doubled = limits
        .pause
        .saturating_mul(1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
    let half = doubled.min(limits.longest_pause) / 2;
    // A fresh `RandomState` is seeded at random, which is all that jitter needs.
    let chance = RandomState::new().hash_one(attempt) % 1024;
    half + half.mul_f64(chance as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Debug, Default)]
    struct Book(Mutex<Vec<Duration>>);

    impl RetryClock for Book {
        fn now(&self) -> Duration {
            self.0.lock().unwrap().iter().sum()
        }

        fn sleep(&self, pause: Duration) {
            self.0.lock().unwrap().push(pause);
        }
    }

    fn run(limits: &RequestLimits, again: RetryAdvice) -> (Vec<Duration>, u32, Vec<Duration>) {
        let book = Book::default();
        let mut allowed = Vec::new();
        let gave_up = retry_request(
            limits,
            &book,
            |()| again,
            |time| {
                allowed.push(time);
                Err::<(), ()>(())
            },
        )
        .unwrap_err();
        (book.0.into_inner().unwrap(), gave_up.attempts, allowed)
    }

    #[test]
    fn pauses_double_within_their_jitter_and_end() {
        let (pauses, attempts, _) = run(&RequestLimits::default(), RetryAdvice::Later);
        assert_eq!(attempts, 5);
        let full = [250, 500, 1000, 2000].map(Duration::from_millis);
        assert_eq!(pauses.len(), full.len());
        for (pause, full) in pauses.iter().zip(full) {
            assert!(*pause >= full / 2 && *pause <= full, "{pause:?} for {full:?}");
        }
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        let (pauses, attempts, _) = run(&RequestLimits::default(), RetryAdvice::Never);
        assert!(pauses.is_empty());
        assert_eq!(attempts, 1);
    }

    #[test]
    fn a_server_may_ask_for_longer_but_not_for_ever() {
        let (pauses, ..) = run(
            &RequestLimits::default(),
            RetryAdvice::After(Duration::from_secs(7)),
        );
        assert_eq!(pauses, [Duration::from_secs(7); 4]);
        let limits = RequestLimits {
            longest_pause: Duration::from_secs(9),
            ..RequestLimits::default()
        };
        let (pauses, ..) = run(&limits, RetryAdvice::After(Duration::from_secs(86_400)));
        assert_eq!(pauses, [Duration::from_secs(9); 4]);
    }

    #[test]
    fn all_tries_together_end_in_time() {
        let limits = RequestLimits {
            total: Duration::from_secs(150),
            ..RequestLimits::default()
        };
        let (pauses, attempts, allowed) = run(&limits, RetryAdvice::After(Duration::from_secs(60)));
        assert_eq!(pauses, [Duration::from_secs(60); 2]);
        assert_eq!(attempts, 3);
        assert_eq!(allowed, [120, 90, 30].map(Duration::from_secs));
    }

    #[test]
    fn pauses_never_overflow() {
        let limits = RequestLimits {
            pause: Duration::MAX,
            ..RequestLimits::default()
        };
        assert!(backoff_pause(&limits, u32::MAX) <= limits.longest_pause);
    }
}
