//! Timestamps as files write them: seconds, milliseconds or microseconds since 1970, or RFC 3339 with a zone.

use std::ops::Range;

use loci_core::Timestamp;

use super::JsonSlice;

/// The accepted range in microseconds: from 1973 to 5138. It spans a factor of a thousand, the step between two
/// units, so no number is in range in two of them.
const MOMENTS: Range<i128> = 100_000_000_000_000..100_000_000_000_000_000;

/// Returns the point in time that a value names. A time without a zone names none, and neither does a number outside
/// [`MOMENTS`]: a clock that started with the program gives small numbers.
pub(crate) fn parse_timestamp(value: JsonSlice<'_>) -> Option<Timestamp> {
    match value.text() {
        Some(text) => parse_rfc3339(&text).or_else(|| parse_epoch_number(&text)),
        None => parse_epoch_number(value.raw()),
    }
}

/// Parses a timestamp in RFC 3339.
fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    let (_, clock) = text.split_once(['T', 't', ' '])?;
    let zoned = clock.ends_with(['Z', 'z']) || clock.contains(['+', '-']);
    if zoned { text.parse().ok() } else { None }
}

/// Parses a timestamp written as a decimal number, exact to the microsecond.
pub(crate) fn parse_epoch_number(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    // Decimal arithmetic: a float cannot hold every number of microseconds in range exactly.
    let millionths = if !whole.is_empty() && digits(whole) && digits(fraction) {
        let fraction = format!("{fraction:0<6}");
        format!("{whole}{}", fraction.get(..6)?).parse::<i128>().ok()?
    } else {
        let scientific = text.parse::<f64>().ok().filter(|_| text.contains(['e', 'E']))?;
        (scientific * 1e6).round() as i128
    };
    // `millionths` reads the number as seconds. If it was milliseconds or microseconds, it is too large by that factor.
    [1, 1_000, 1_000_000]
        .map(|unit| millionths / unit)
        .into_iter()
        .find(|micros| MOMENTS.contains(micros))
        .and_then(|micros| Timestamp::from_micros(micros as i64).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expect: Option<&str>) {
        let found = parse_timestamp(JsonSlice::parse(json).unwrap()).map(|time| time.to_string());
        assert_eq!(found.as_deref(), expect, "{json}");
    }

    #[test]
    fn moments_are_read_in_every_notation_and_never_made_up() {
        check("1695326273.969279", Some("2023-09-21T19:57:53.969279Z"));
        check("1695326273", Some("2023-09-21T19:57:53Z"));
        check("1.695326273e9", Some("2023-09-21T19:57:53Z"));
        check("\"1516524675.000024\"", Some("2018-01-21T08:51:15.000024Z"));
        check("1705363201000", Some("2024-01-16T00:00:01Z"));
        check("1705363201000.25", Some("2024-01-16T00:00:01.00025Z"));
        check("1705363201000250", Some("2024-01-16T00:00:01.00025Z"));
        check("\"2026-03-01T10:00:10.5+02:00\"", Some("2026-03-01T08:00:10.5Z"));
        check("\"2026-03-01T10:00:10\"", None);
        check("\"2026-03-01\"", None);
        check("12345.5", None);
        check("99999999999999999999999999", None);
        check("1e300", None);
        check("-5", None);
        check("\"yesterday\"", None);
        check("true", None);
    }
}
