//! How long a server is waited for, and how often it is asked again.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// What bounds one request and its repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a connection may take.
    pub connect: Duration,
    /// How long a request may take, from its first to its last byte.
    pub request: Duration,
    /// How often one request is tried at most.
    pub attempts: u32,
    /// How long all tries of one request and the pauses between them may take.
    pub total: Duration,
    /// The first pause; each further one is twice as long, and each is cut by chance to between half and all of it.
    pub pause: Duration,
    /// The longest pause, also where the server asks for a longer one.
    pub longest_pause: Duration,
    /// How many texts go into one request at most.
    pub batch_texts: usize,
    /// How many bytes of text go into one request at most; a longer text goes alone.
    pub batch_bytes: usize,
    /// How long an answer may be, in bytes.
    pub answer_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(120),
            attempts: 5,
            total: Duration::from_secs(300),
            pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(60),
            batch_texts: 64,
            batch_bytes: 256 * 1024,
            answer_bytes: 64 * 1024 * 1024,
        }
    }
}

/// What tells the time and waits; tests bring one that does not.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time since some fixed moment.
    fn now(&self) -> Duration;

    /// Waits.
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

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}

/// Whether and when a failed try may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail the same way.
    Never,
    /// It may pass by itself.
    Later,
    /// The server said after how long.
    After(Duration),
}

/// The last failure of a request, and how much was tried.
#[derive(Debug)]
pub(super) struct GaveUp<F> {
    /// The last try's failure.
    pub(super) failure: F,
    /// How often it was tried.
    pub(super) attempts: u32,
}

/// Tries until it succeeds, cannot succeed, or a limit is reached. `attempt` is told how long it may take.
pub(super) fn persist<T, F>(
    limits: &Limits,
    clock: &dyn Clock,
    again: impl Fn(&F) -> Again,
    mut attempt: impl FnMut(Duration) -> Result<T, F>,
) -> Result<T, GaveUp<F>> {
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
            Again::Never => return Err(GaveUp { failure, attempts }),
            Again::Later => backoff(limits, attempts),
            Again::After(asked) => backoff(limits, attempts).max(asked.min(limits.longest_pause)),
        };
        let left = end.saturating_sub(clock.now());
        if attempts >= limits.attempts || pause >= left {
            return Err(GaveUp { failure, attempts });
        }
        clock.sleep(pause);
    }
}

/// The pause after the `attempt`-th try: between half and all of a time that doubles.
fn backoff(limits: &Limits, attempt: u32) -> Duration {
    let doubled = limits
        .pause
        .saturating_mul(1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
    let half = doubled.min(limits.longest_pause) / 2;
    // A fresh state is seeded by chance, which is all a jitter needs.
    let chance = RandomState::new().hash_one(attempt) % 1024;
    half + half.mul_f64(chance as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Debug, Default)]
    struct Book(Mutex<Vec<Duration>>);

    impl Clock for Book {
        fn now(&self) -> Duration {
            self.0.lock().unwrap().iter().sum()
        }

        fn sleep(&self, pause: Duration) {
            self.0.lock().unwrap().push(pause);
        }
    }

    fn run(limits: &Limits, again: Again) -> (Vec<Duration>, u32, Vec<Duration>) {
        let book = Book::default();
        let mut allowed = Vec::new();
        let gave_up = persist(
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
        let (pauses, attempts, _) = run(&Limits::default(), Again::Later);
        assert_eq!(attempts, 5);
        let full = [250, 500, 1000, 2000].map(Duration::from_millis);
        assert_eq!(pauses.len(), full.len());
        for (pause, full) in pauses.iter().zip(full) {
            assert!(*pause >= full / 2 && *pause <= full, "{pause:?} for {full:?}");
        }
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        let (pauses, attempts, _) = run(&Limits::default(), Again::Never);
        assert!(pauses.is_empty());
        assert_eq!(attempts, 1);
    }

    #[test]
    fn a_server_may_ask_for_longer_but_not_for_ever() {
        let (pauses, ..) = run(&Limits::default(), Again::After(Duration::from_secs(7)));
        assert_eq!(pauses, [Duration::from_secs(7); 4]);
        let limits = Limits {
            longest_pause: Duration::from_secs(9),
            ..Limits::default()
        };
        let (pauses, ..) = run(&limits, Again::After(Duration::from_secs(86_400)));
        assert_eq!(pauses, [Duration::from_secs(9); 4]);
    }

    #[test]
    fn all_tries_together_end_in_time() {
        let limits = Limits {
            total: Duration::from_secs(150),
            ..Limits::default()
        };
        let (pauses, attempts, allowed) = run(&limits, Again::After(Duration::from_secs(60)));
        assert_eq!(pauses, [Duration::from_secs(60); 2]);
        assert_eq!(attempts, 3);
        assert_eq!(allowed, [120, 90, 30].map(Duration::from_secs));
    }

    #[test]
    fn pauses_never_overflow() {
        let limits = Limits {
            pause: Duration::MAX,
            ..Limits::default()
        };
        assert!(backoff(&limits, u32::MAX) <= limits.longest_pause);
    }
}
