//! A moment in UTC, to the microsecond.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A moment in UTC, to the microsecond; printed as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Returns the moment `micros` microseconds after 1970; fails outside the years -9999 to 9999.
    pub fn from_micros(micros: i64) -> Result<Self> {
        jiff::Timestamp::from_microsecond(micros).map(Self).map_err(|_| {
            Error::invalid(format!(
                "{micros} µs is not a time between the years -9999 and 9999"
            ))
        })
    }

    /// Returns the microseconds since 1970.
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// Returns the day in UTC, like `2026-05-01`; parsed, it is the first moment of that day.
    pub fn day_text(self) -> String {
        let day = jiff::tz::Offset::UTC.to_datetime(self.0).date();
        day.to_string()
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// Parses RFC 3339; a date alone is its first moment in UTC, and a time without offset is in UTC.
    fn from_str(text: &str) -> Result<Self> {
        let parsed = text
            .parse::<jiff::Timestamp>()
            .or_else(|_| {
                // UTC and not the local zone: the same input must give the same palace on every machine.
                let civil = text.parse::<jiff::civil::DateTime>()?;
                jiff::tz::Offset::UTC.to_timestamp(civil)
            })
            .map_err(|_| {
                Error::invalid(format!("{text:?} is not a time"))
                    .with_hint("write times like 2026-05-01T09:30:00Z or 2026-05-01")
            })?;
        // Cut to microseconds here, so that a time equals itself after a round trip through storage.
        Self::from_micros(parsed.as_microsecond())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for Timestamp {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), expect, "{text}");
    }

    #[test]
    fn times_are_read_with_offsets_and_printed_in_utc() {
        check("2026-05-01T09:30:00Z", "2026-05-01T09:30:00Z");
        check("2026-05-01T09:30:00+02:00", "2026-05-01T07:30:00Z");
        check("2026-05-01T09:30:00.123456789Z", "2026-05-01T09:30:00.123456Z");
        check("2026-05-01T09:30:00", "2026-05-01T09:30:00Z");
        check("2026-05-01", "2026-05-01T00:00:00Z");
    }

    #[test]
    fn what_is_no_time_is_refused_by_name() {
        for text in ["", "yesterday", "2026-13-01", "2026-05-01T25:00:00Z", "12"] {
            let error = text.parse::<Timestamp>().unwrap_err();
            assert!(error.message().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn the_day_of_a_time_is_that_in_utc() {
        let check = |time: &str, day: &str| {
            let text = time.parse::<Timestamp>().unwrap().day_text();
            assert_eq!(text, day, "{time}");
            let first = text.parse::<Timestamp>().unwrap();
            assert_eq!(first.as_micros().rem_euclid(86_400_000_000), 0, "{time}");
        };
        check("2026-05-01T23:30:00-02:00", "2026-05-02");
        check("1969-12-31T23:59:59.999999Z", "1969-12-31");
        check("1970-01-01T00:00:00Z", "1970-01-01");
        check("-000044-03-15T12:00:00Z", "-000044-03-15");
    }

    #[test]
    fn microseconds_round_trip() {
        let time: Timestamp = "1999-12-31T23:59:59.999999Z".parse().unwrap();
        assert_eq!(Timestamp::from_micros(time.as_micros()).unwrap(), time);
        assert!(Timestamp::from_micros(i64::MAX).is_err());
    }
}
