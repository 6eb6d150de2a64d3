//! The end of a token: a date, or a time from now.

use loci_core::{Error, Result, Timestamp};

/// Parses a date, a time, or a number of hours, days or weeks after `now`.
pub(super) fn parse_end(text: &str, now: Timestamp) -> Result<Timestamp> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let refused = || {
        Error::invalid(format!("{text:?} is not a time"))
            .with_hint("nothing was changed; write 12h, 30d, 4w, 2027-05-01 or 2027-05-01T09:30:00Z")
    };
    let seconds = parse_seconds(text).ok_or_else(refused)?;
    let micros = seconds
        .checked_mul(1_000_000)
        .and_then(|span| now.as_micros().checked_add(span));
    Timestamp::from_micros(micros.ok_or_else(refused)?).map_err(|_| refused())
}

fn parse_seconds(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return None,
    };
    let digits = text.get(..text.len() - 1)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: i64 = digits.parse().ok().filter(|_| is_number)?;
    count.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_times_or_spans_from_now() {
        let now: Timestamp = "2026-05-01T09:00:00Z".parse().unwrap();
        let check = |text: &str, expect: &str| {
            assert_eq!(parse_end(text, now).unwrap(), expect.parse().unwrap(), "{text}");
        };
        check("12h", "2026-05-01T21:00:00Z");
        check("30d", "2026-05-31T09:00:00Z");
        check("2w", "2026-05-15T09:00:00Z");
        check("2027-01-02", "2027-01-02T00:00:00Z");
        check("2027-01-02T03:04:05Z", "2027-01-02T03:04:05Z");
        for wrong in [
            "",
            "d",
            "-1d",
            "+1d",
            "1.5d",
            "30",
            "30m",
            "99999999999999999999d",
            "9999999999999w",
            "é",
        ] {
            assert!(parse_end(wrong, now).is_err(), "{wrong}");
        }
    }
}
