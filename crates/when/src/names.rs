//! The names of months, weekdays, seasons, numbers and units.

/// Month names in English, abbreviated, then in German, French and Spanish.
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

/// Units that follow numbers which look like years; plurals are recognised by their ending.
const COUNTED: [&str; 14] = [
    "ms", "kb", "mb", "gb", "kib", "mib", "px", "km", "kg", "usd", "eur", "percent", "people", "rpm",
];

/// Words that end like plurals but are not.
const NO_PLURALS: [&str; 7] = ["this", "does", "thus", "versus", "always", "perhaps", "besides"];

/// Words that may follow the month names May and March, but never the verbs.
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

/// Returns the number of a month, 0 for January.
pub(super) fn parse_month(word: &str) -> Option<i64> {
    position_of(&MONTHS, |names| names.contains(&word))
}

/// Returns the number of a weekday, 0 for Monday.
pub(super) fn parse_weekday(word: &str) -> Option<i64> {
    position_of(&WEEKDAYS, |name| *name == word)
}

/// Returns the month a season begins with, 0 for January.
pub(super) fn parse_season(word: &str) -> Option<i64> {
    match word {
        "spring" => Some(2),
        "summer" => Some(5),
        "autumn" | "fall" => Some(8),
        "winter" => Some(11),
        _ => None,
    }
}

/// Returns the month a quarter begins with, 0 for January.
pub(super) fn parse_quarter(word: &str) -> Option<i64> {
    position_of(&["q1", "q2", "q3", "q4"], |name| *name == word).map(|quarter| quarter * 3)
}

/// Parses a number of at most four digits.
pub(super) fn parse_digits(word: &str) -> Option<i64> {
    // Longer numbers are neither years nor counts of weeks, and could overflow the arithmetic on days.
    let plain = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.parse().ok())?
}

/// Parses a number above zero, in digits or as a word.
pub(super) fn parse_number(word: &str) -> Option<i64> {
    match word {
        "a" | "an" => Some(1),
        _ => parse_digits(word)
            .or_else(|| position_of(&NUMBERS, |name| *name == word).map(|place| place + 1))
            .filter(|number| *number > 0),
    }
}

/// Parses a day of a month, and returns whether it is written as an ordinal: "7th".
pub(super) fn parse_day(word: &str) -> Option<(i64, bool)> {
    let bare = ["st", "nd", "rd", "th"]
        .into_iter()
        .find_map(|ending| word.strip_suffix(ending));
    let day = parse_digits(bare.unwrap_or(word)).filter(|day| (1..=31).contains(day))?;
    Some((day, bare.is_some()))
}

/// Returns whether a word begins with a digit.
pub(super) fn is_numeric(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns whether a number before this word counts it.
pub(super) fn is_counted(word: &str) -> bool {
    let plural =
        word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !NO_PLURALS.contains(&word);
    plural || COUNTED.contains(&word)
}

/// Returns whether "may" before this word is the month.
pub(super) fn follows_a_month(word: &str) -> bool {
    AFTER_A_MONTH.contains(&word)
}

/// The unit in "3 weeks ago".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// Parses a unit, in the singular or the plural.
pub(super) fn parse_unit(word: &str) -> Option<TimeUnit> {
    Some(match word.strip_suffix('s').unwrap_or(word) {
        "minute" => TimeUnit::Minute,
        "hour" => TimeUnit::Hour,
        "day" => TimeUnit::Day,
        "week" => TimeUnit::Week,
        "month" => TimeUnit::Month,
        "quarter" => TimeUnit::Quarter,
        "year" => TimeUnit::Year,
        _ => return None,
    })
}

fn position_of<T>(names: &[T], is: impl Fn(&T) -> bool) -> Option<i64> {
    i64::try_from(names.iter().position(is)?).ok()
}
