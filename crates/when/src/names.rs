//! What months, weekdays, seasons, numbers and units are called.

/// In English, shortened, then German, French and Spanish.
const MONTHS: [&[&str]; 12] = [
    &["january", "jan", "januar", "jänner", "janvier", "enero"],
    &["february", "feb", "februar", "février", "fevrier", "febrero"],
    &["march", "mar", "märz", "mars", "marzo"],
    &["april", "apr", "avril", "abril"],
    &["may", "mai", "mayo"],
    &["june", "jun", "juni", "juin", "junio"],
    &["july", "jul", "juli", "juillet", "julio"],
    &["august", "aug", "août", "aout", "agosto"],
    &["september", "sep", "sept", "septembre", "septiembre"],
    &["october", "oct", "oktober", "octobre", "octubre"],
    &["november", "nov", "novembre", "noviembre"],
    &["december", "dec", "dezember", "décembre", "decembre", "diciembre"],
];

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// What is counted by numbers that look like years; plurals need no mention.
const COUNTED: [&str; 14] = [
    "ms", "kb", "mb", "gb", "kib", "mib", "px", "km", "kg", "usd", "eur", "percent", "people", "rpm",
];

/// Words that end like plurals and are none.
const NO_PLURALS: [&str; 7] = ["this", "does", "thus", "versus", "always", "perhaps", "besides"];

/// Words that follow the month of May or a march, but never the verb.
const AFTER_A_MONTH: [&str; 37] = [
    "a",
    "about",
    "and",
    "as",
    "at",
    "because",
    "but",
    "by",
    "did",
    "do",
    "does",
    "for",
    "from",
    "he",
    "i",
    "if",
    "in",
    "is",
    "of",
    "on",
    "or",
    "our",
    "regarding",
    "she",
    "so",
    "that",
    "the",
    "they",
    "to",
    "was",
    "we",
    "were",
    "when",
    "where",
    "while",
    "with",
    "you",
];

/// 0 for January.
pub(super) fn month(word: &str) -> Option<i64> {
    place(&MONTHS, |names| names.contains(&word))
}

/// 0 for Monday.
pub(super) fn weekday(word: &str) -> Option<i64> {
    place(&WEEKDAYS, |name| *name == word)
}

/// The month a season begins with, 0 for January.
pub(super) fn season(word: &str) -> Option<i64> {
    match word {
        "spring" => Some(2),
        "summer" => Some(5),
        "autumn" | "fall" => Some(8),
        "winter" => Some(11),
        _ => None,
    }
}

/// The month a quarter begins with, 0 for January.
pub(super) fn quarter(word: &str) -> Option<i64> {
    place(&["q1", "q2", "q3", "q4"], |name| *name == word).map(|quarter| quarter * 3)
}

/// A number of at most four digits.
pub(super) fn digits(word: &str) -> Option<i64> {
    let plain = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.parse().ok())?
}

/// A number above zero, in digits or a word.
pub(super) fn number(word: &str) -> Option<i64> {
    match word {
        "a" | "an" => Some(1),
        _ => digits(word)
            .or_else(|| place(&NUMBERS, |name| *name == word).map(|place| place + 1))
            .filter(|number| *number > 0),
    }
}

/// A day of a month, and whether it is written as one: "7th".
pub(super) fn day(word: &str) -> Option<(i64, bool)> {
    let bare = ["st", "nd", "rd", "th"]
        .into_iter()
        .find_map(|ending| word.strip_suffix(ending));
    let day = digits(bare.unwrap_or(word)).filter(|day| (1..=31).contains(day))?;
    Some((day, bare.is_some()))
}

/// Whether it is written in digits, however many.
pub(super) fn is_numeric(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a number before this word counts it.
pub(super) fn is_counted(word: &str) -> bool {
    let plural =
        word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !NO_PLURALS.contains(&word);
    plural || COUNTED.contains(&word)
}

/// Whether "may" before this word is the month.
pub(super) fn follows_a_month(word: &str) -> bool {
    AFTER_A_MONTH.contains(&word)
}

/// What is counted in "3 weeks ago".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// A unit, in the singular or the plural.
pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word.strip_suffix('s').unwrap_or(word) {
        "minute" => Unit::Minute,
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "quarter" => Unit::Quarter,
        "year" => Unit::Year,
        _ => return None,
    })
}

fn place<T>(names: &[T], is: impl Fn(&T) -> bool) -> Option<i64> {
    i64::try_from(names.iter().position(is)?).ok()
}
