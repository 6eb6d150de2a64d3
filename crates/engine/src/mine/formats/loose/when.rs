//! Moments as files write them: seconds or milliseconds since 1970, or RFC 3339 with its zone.

use loci_core::Timestamp;

use super::Json;

/// Numbers from here on are milliseconds: as seconds they would lie beyond the year 5000.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// The moment a value names. A time without a zone names none, and neither does a number before 1973 or after 5138.
pub(crate) fn moment(value: Json<'_>) -> Option<Timestamp> {
    match value.text() {
        Some(text) => written(&text).or_else(|| number(&text)),
        None => number(value.raw()),
    }
}

/// A moment in RFC 3339.
pub(crate) fn written(text: &str) -> Option<Timestamp> {
    let (_, clock) = text.split_once(['T', 't', ' '])?;
    let zoned = clock.ends_with(['Z', 'z']) || clock.contains(['+', '-']);
    if zoned { text.parse().ok() } else { None }
}

/// A moment as a decimal number, exact to the microsecond.
pub(crate) fn number(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return text
            .parse::<f64>()
            .ok()
            .filter(|_| text.contains(['e', 'E']))
            .and_then(rounded);
    }
    let micros = format!("{fraction:0<6}").get(..6)?.parse::<i64>().ok()?;
    let whole = whole.parse::<i64>().ok()?;
    if whole >= MILLISECONDS_FROM {
        plausible(whole.checked_mul(1_000)?.checked_add(micros / 1_000)?)
    } else {
        plausible(whole.checked_mul(1_000_000)?.checked_add(micros)?)
    }
}

/// A number in scientific notation.
fn rounded(number: f64) -> Option<Timestamp> {
    let seconds = if number >= MILLISECONDS_FROM as f64 {
        number / 1e3
    } else {
        number
    };
    let micros = (seconds * 1e6).round();
    if micros.is_finite() && micros.abs() < 1e17 {
        plausible(micros as i64)
    } else {
        None
    }
}

/// A clock that started with the program gives small numbers; they are no moments.
fn plausible(micros: i64) -> Option<Timestamp> {
    let range = 100_000_000_000_000..100_000_000_000_000_000;
    Some(micros)
        .filter(|micros| range.contains(micros))
        .and_then(|micros| Timestamp::from_micros(micros).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expect: Option<&str>) {
        let found = moment(Json::parse(json).unwrap()).map(|time| time.to_string());
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
