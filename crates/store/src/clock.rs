//! The only place where the store reads the clock, or waits for time to pass.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use loci_core::Timestamp;

/// Returns the current time to the microsecond; 1970 if the machine's clock is set to an earlier time.
pub(crate) fn now() -> Timestamp {
    let micros = i64::try_from(time_of_day().as_micros()).unwrap_or(0);
    Timestamp::from_micros(micros).unwrap_or_else(|_| epoch())
}

/// Returns the time since 1970.
fn time_of_day() -> Duration {
    #[cfg(feature = "crash-points")]
    if let Some(machine) = crate::testing::simulated_machine() {
        return machine.time_of_day();
    }
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns the present instant of the clock that only moves forward.
pub(crate) fn instant() -> Instant {
    #[cfg(feature = "crash-points")]
    if let Some(machine) = crate::testing::simulated_machine() {
        return machine.instant();
    }
    Instant::now()
}

/// Waits.
pub(crate) fn sleep(pause: Duration) {
    #[cfg(feature = "crash-points")]
    if let Some(machine) = crate::testing::simulated_machine() {
        return machine.sleep(pause);
    }
    std::thread::sleep(pause);
}

fn epoch() -> Timestamp {
    Timestamp::from_micros(0).expect("1970 is within the years -9999 to 9999")
}
