//! The only place where the store reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use loci_core::Timestamp;

/// Returns the current time to the microsecond; 1970 if the machine's clock is set to an earlier time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(0);
    Timestamp::from_micros(micros).unwrap_or_else(|_| epoch())
}

fn epoch() -> Timestamp {
    Timestamp::from_micros(0).expect("1970 is within the years -9999 to 9999")
}
