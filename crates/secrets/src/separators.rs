//! The way from a name to the value it is given: `=`, `:`, `=>`, "is", a flag's blank; then the value itself.

use std::ops::Range;

use crate::byte_set::{BLANKS, ByteSet, LETTERS, WORD};
use crate::judge::ValuePlace;
use crate::probe::TextProbe;

/// The most bytes of a value.
const LONGEST_VALUE: usize = 512;
/// The most bytes of a value without quotes.
const LONGEST_BARE_VALUE: usize = 512;
/// The most blanks between a name and its value.
const MOST_BLANKS: usize = 40;
/// The most bytes of a type or call between a name and its value.
const LONGEST_WRAPPER: usize = 48;

/// Bytes of a value without quotes: all that are visible, except quotes and angle brackets.
const BARE: ByteSet = ByteSet::from_text("!#$%&()*+,-./0123456789:;=?@[]^_{|}~\\").or(LETTERS);
/// Bytes of a type or of a call's name.
const WRAPPER: ByteSet = WORD.or(ByteSet::from_text("&<>:'|[]?. "));

/// A value and the certainty that a literal stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenValue {
    pub(crate) range: Range<usize>,
    pub(crate) place: ValuePlace,
    /// Whether it is an item of a connection string, as in `Server=…;Password=…;`.
    pub(crate) in_connection_string: bool,
}

/// The mark between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueMark {
    /// `=`, `:=`, `=>`, `==`, with blanks or without.
    Equals { blanks: bool },
    /// `:` or `：`.
    Colon,
    /// A comma between two literals, as in `set("token", "…")`.
    Comma,
    /// The end of an XML tag.
    Tag,
    /// The blank after a flag, as in `--password …`.
    Blank,
    /// A word of prose, as in "the password is …".
    Prose,
}

/// Reads the value that the text gives to a name.
pub(crate) fn read_value(probe: &TextProbe, name: &Range<usize>) -> Option<GivenValue> {
    let (mark, at) = find_value(probe, name)?;
    let literal = read_quoted(probe, at).or_else(|| read_quoted(probe, skip_wrapper(probe, at)?));
    if let Some(range) = literal {
        return Some(GivenValue {
            range: skip_scheme(probe, range),
            place: ValuePlace::Literal,
            in_connection_string: false,
        });
    }
    match mark {
        ValueMark::Comma => None,
        _ => read_bare(probe, name, mark, at),
    }
}

/// Returns the place where the value begins that the text gives to a name, within its quotes.
pub(crate) fn read_value_start(probe: &TextProbe, name: &Range<usize>) -> Option<usize> {
    let (_, at) = find_value(probe, name)?;
    let at = skip_wrapper(probe, at).unwrap_or(at);
    let start = at + quote_at(probe, at).map_or(0, str::len);
    Some(start + scheme_at(probe, start).map_or(0, str::len))
}

fn find_value(probe: &TextProbe, name: &Range<usize>) -> Option<(ValueMark, usize)> {
    let (mark, at) = read_mark(probe, name)?;
    let at = probe.run_end(at, BLANKS, MOST_BLANKS);
    Some((mark, skip_type(probe, at, mark).unwrap_or(at)))
}

fn read_mark(probe: &TextProbe, name: &Range<usize>) -> Option<(ValueMark, usize)> {
    let quoted = quote_at(probe, name.end);
    let mut at = name.end + quoted.map_or(0, str::len);
    if matches!(probe.byte(at), Some(b']' | b')')) {
        at += 1;
    }
    let after = probe.run_end(at, BLANKS, MOST_BLANKS);
    let equals = ["===", "==", "=>", ":=", "?=", "="]
        .into_iter()
        .find(|mark| probe.starts_with(after, mark));
    if let Some(mark) = equals {
        let end = after + mark.len();
        let blanks = after > at || probe.byte(end).is_some_and(|byte| BLANKS.contains(byte));
        return Some((ValueMark::Equals { blanks }, end));
    }
    let mark = match probe.byte(after)? {
        b':' if probe.byte(after + 1) == Some(b':') => return None,
        b':' => (ValueMark::Colon, after + 1),
        b',' if quoted.is_some() => (ValueMark::Comma, after + 1),
        b'>' if matches!(probe.byte_before(name.start), Some(b'<' | b':')) => (ValueMark::Tag, after + 1),
        0xef if probe.starts_with(after, "：") => (ValueMark::Colon, after + "：".len()),
        _ if after > at && follows_flag(probe, name) => (ValueMark::Blank, after),
        _ => {
            let words = [
                "is ", "was ", "is: ", "is now ", "to ", "是", "は", "为", "為", "es ", "ist ", "est ",
            ];
            let word = words.into_iter().find(|word| probe.starts_with(after, word))?;
            (after > at || !word.is_ascii()).then_some((ValueMark::Prose, after + word.len()))?
        }
    };
    Some(mark)
}

/// Returns whether a name is a flag of a command, or follows `login` in a line of a netrc file.
fn follows_flag(probe: &TextProbe, name: &Range<usize>) -> bool {
    probe.byte_before(name.start) == Some(b'-') || {
        let before = probe.behind(name.start, 80);
        let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        line.windows(6).any(|window| window == b"login ")
    }
}

/// Returns the quote that stands here, in the text itself or escaped in a JSON string.
fn quote_at(probe: &TextProbe, at: usize) -> Option<&'static str> {
    ["\"", "'", "`", "\\\"", "\\'"]
        .into_iter()
        .find(|quote| probe.starts_with(at, quote))
}

/// Skips a type, as in `password: &str = "…"`, if a literal follows.
fn skip_type(probe: &TextProbe, at: usize, mark: ValueMark) -> Option<usize> {
    (mark == ValueMark::Colon).then_some(())?;
    let end = probe.run_end(at, WRAPPER, LONGEST_WRAPPER);
    (end > at && probe.byte(end) == Some(b'=')).then_some(())?;
    let value = probe.run_end(end + 1, BLANKS, MOST_BLANKS);
    quote_at(probe, value).map(|_| value)
}

/// Skips a call or a literal's prefix, as in `Some("…")`, `String::from("…")` and `b"…"`, if a literal follows.
fn skip_wrapper(probe: &TextProbe, at: usize) -> Option<usize> {
    let end = probe.run_end(at, WORD.or(ByteSet::from_text(":.")), LONGEST_WRAPPER);
    let call = probe.byte(end) == Some(b'(');
    let value = end + usize::from(call);
    (end > at && (call || end - at <= 2) && quote_at(probe, value).is_some()).then_some(value)
}

/// Reads a literal in quotes; its range leaves out the quotes. Returns none if it is empty, too long or unclosed.
fn read_quoted(probe: &TextProbe, at: usize) -> Option<Range<usize>> {
    let quote = quote_at(probe, at)?;
    let start = at + quote.len();
    let bytes = probe.ahead(start, LONGEST_VALUE);
    let mut escaped = false;
    for (offset, byte) in bytes.iter().enumerate() {
        let here = start + offset;
        if *byte == b'\n' {
            return None;
        }
        // An escaped quote ends a literal that began with one, unless it is itself escaped.
        if !escaped && probe.starts_with(here, quote) && !(quote.len() > 1 && probe.ends_with(here, "\\")) {
            return (here > start).then_some(start..here);
        }
        escaped = *byte == b'\\' && !escaped && quote.len() == 1;
    }
    None
}

/// Leaves out the scheme before a token, as in `"Bearer …"`.
fn skip_scheme(probe: &TextProbe, range: Range<usize>) -> Range<usize> {
    let start = range.start + scheme_at(probe, range.start).map_or(0, str::len);
    if start < range.end {
        start..range.end
    } else {
        range
    }
}

fn scheme_at(probe: &TextProbe, at: usize) -> Option<&'static str> {
    let schemes = ["Bearer ", "bearer ", "Basic ", "Token ", "token "];
    schemes.into_iter().find(|scheme| probe.starts_with(at, scheme))
}

/// Reads a value without quotes and decides how likely it is a literal.
fn read_bare(probe: &TextProbe, name: &Range<usize>, mark: ValueMark, at: usize) -> Option<GivenValue> {
    let longest = probe.whole_run_end(at, BARE);
    (longest > at && longest - at <= LONGEST_BARE_VALUE).then_some(())?;
    let before = probe.byte_before(name.start);
    let in_connection_string = previous_visible(probe, name.start) == Some(b';') && mark != ValueMark::Colon;
    let in_query = matches!(before, Some(b'?' | b'&'));
    let bytes = probe.slice(at..longest);
    let stop = bytes.iter().enumerate().position(|(offset, byte)| match byte {
        b';' => in_connection_string,
        b'&' => in_query || is_parameter(bytes.get(offset + 1..).unwrap_or_default()),
        b'#' => in_query,
        b'\\' => matches!(
            bytes.get(offset + 1),
            None | Some(b'n' | b'r' | b't' | b'"' | b'\'')
        ),
        _ => false,
    });
    let end = at + stop.unwrap_or(bytes.len());
    let whole_line = ends_line(probe, end);
    if probe.slice(at..end).contains(&b'\\') || mark == ValueMark::Tag && probe.byte(end) != Some(b'<') {
        return None;
    }
    let trimmed = trim_punctuation(probe.slice(at..end));
    let literal = match mark {
        ValueMark::Equals { blanks } => {
            let is_setting = whole_line && trimmed == end - at && begins_line(probe, name.start);
            !blanks && (is_setting || in_query || in_connection_string || is_upper_name(probe, name))
        }
        ValueMark::Colon => whole_line && begins_line(probe, name.start),
        ValueMark::Tag | ValueMark::Blank => probe.byte(at) != Some(b'-'),
        ValueMark::Prose | ValueMark::Comma => false,
    };
    // Punctuation belongs to the value if a delimiter follows, or the line of a setting ends; in a line of a program, the
    // last comma or semicolon does not.
    let delimited = stop.is_some() || whole_line && !matches!(probe.byte_before(end), Some(b',' | b';'));
    let keeps_end = literal && delimited && matches!(mark, ValueMark::Equals { .. } | ValueMark::Colon);
    Some(GivenValue {
        range: at..if keeps_end { end } else { at + trimmed },
        place: if literal {
            ValuePlace::Literal
        } else {
            ValuePlace::Loose
        },
        in_connection_string,
    })
}

/// Returns whether the next parameter of a query or form begins here: a name and `=`.
fn is_parameter(rest: &[u8]) -> bool {
    let name = rest
        .iter()
        .take(LONGEST_WRAPPER)
        .take_while(|byte| WORD.contains(**byte))
        .count();
    name > 1 && rest.get(name) == Some(&b'=')
}

/// Returns the length of a value without the punctuation of the sentence or expression around it.
fn trim_punctuation(value: &[u8]) -> usize {
    let balance = |open: u8, close: u8, value: &[u8]| {
        value.iter().filter(|byte| **byte == close).count()
            > value.iter().filter(|byte| **byte == open).count()
    };
    let mut rest = value;
    while let [before @ .., last] = rest {
        let superfluous = match last {
            b',' | b';' | b'.' | b':' | b'\\' => true,
            b')' => balance(b'(', b')', rest),
            b']' => balance(b'[', b']', rest),
            b'}' => balance(b'{', b'}', rest),
            _ => false,
        };
        if !superfluous {
            break;
        }
        rest = before;
    }
    rest.len()
}

fn previous_visible(probe: &TextProbe, at: usize) -> Option<u8> {
    probe.byte_before(probe.run_start(at, BLANKS, 2))
}

/// Returns whether only blanks, a list's hyphen or `export` precede on the line.
fn begins_line(probe: &TextProbe, name: usize) -> bool {
    let bytes = probe.behind(name, 24);
    let line = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    // The line has begun if a line break is among the bytes read, or nothing precedes them.
    let complete = line.len() < bytes.len() || bytes.len() == name;
    let start = line.trim_ascii();
    let escaped =
        line.ends_with(b"\\n") || line.ends_with(b"\\\"") || line.ends_with(b"\"") || line.ends_with(b"'");
    escaped
        || complete
            && (start.is_empty() || [&b"-"[..], b"export", b"set", b"ENV", b"ARG", b"#"].contains(&start))
}

/// Returns whether the line ends here, but for blanks, a comment or the quote of a string around it.
fn ends_line(probe: &TextProbe, end: usize) -> bool {
    let next = probe.run_end(end, BLANKS, MOST_BLANKS);
    match probe.byte(next) {
        None | Some(b'\n' | b'\r' | b'"' | b'\'') => true,
        Some(b'#') => next > end,
        Some(b'\\') => matches!(probe.byte(next + 1), Some(b'n' | b'r' | b'"')),
        _ => false,
    }
}

fn is_upper_name(probe: &TextProbe, name: &Range<usize>) -> bool {
    let name = probe.slice(name.clone());
    !name.iter().any(u8::is_ascii_lowercase)
}
