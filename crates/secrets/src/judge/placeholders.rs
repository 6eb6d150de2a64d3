//! Values that stand where a secret would: placeholders, variables, masks, examples.

use super::contains;

/// Words that make any token an example, in lower case.
const EXAMPLE_WORDS: [&[u8]; 13] = [
    b"p@ssw",
    b"example",
    b"xxxxx",
    b"your",
    b"placeholder",
    b"redacted",
    b"dummy",
    b"sample",
    b"insert",
    b"abcdefg",
    b"1234567",
    b"replace",
    b"....",
];

/// Words that make a value given to a name a placeholder, in lower case.
const PLACEHOLDER_WORDS: [&[u8]; 22] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"p4ssw0rd",
    b"passw0rd",
    b"secret",
    b"token",
    b"apikey",
    b"api_key",
    b"api-key",
    b"change",
    b"fake",
    b"enter",
    b"goes-here",
    b"goes_here",
    b"default",
    b"hunter2",
    b"foobar",
    b"undefined",
    b"username",
    b"asdf",
    b"qwerty",
];

/// Beginnings of values that name the place of a secret.
const REFERENCES: [&[u8]; 16] = [
    b"&#",
    b"&lt;",
    b"%(",
    b"!ref",
    b"!sub",
    b"!secret",
    b"!vault",
    b"env:",
    b"env.",
    b"os.",
    b"process.",
    b"vault:",
    b"arn:",
    b"file:",
    b"data:",
    b"secretref:",
];

/// Returns whether a token of a provider is visibly an example.
pub(super) fn is_example_token(token: &[u8]) -> bool {
    // In mixed case, a short word occurs in long tokens by chance.
    let is_word = |word: &&[u8]| contains(token, word) || contains(token, &word.to_ascii_uppercase());
    EXAMPLE_WORDS.iter().any(is_word) || has_long_repeat(token)
}

/// Returns whether a value is a placeholder, a variable, a mask, a path, a number or one repeated character.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    is_example_token(&lower)
        || has_placeholder_word(&lower)
        || is_filled_in(&lower)
        || is_path(value)
        || value
            .iter()
            .all(|byte| byte.is_ascii_digit() || b".,:-+_/ ".contains(byte))
        || contains_label(value)
        || contains(value, "…".as_bytes())
        || contains(value, "•".as_bytes())
}

/// Returns whether a value contains a word of placeholders; "Secret!2024x" does too, but its digits and symbols make it
/// a password.
fn has_placeholder_word(lower: &[u8]) -> bool {
    let symbols = lower
        .iter()
        .any(|byte| byte.is_ascii_punctuation() && !b"_-./:".contains(byte));
    let digits = lower.iter().any(u8::is_ascii_digit);
    !(symbols && digits) && PLACEHOLDER_WORDS.iter().any(|word| contains(lower, word))
}

/// The beginning of a label that replaces a secret.
pub(crate) const LABEL_BEGIN: &str = "⟦sealed ";

/// Returns whether a value contains a label that replaces a secret, or the end of one.
pub(crate) fn contains_label(value: &[u8]) -> bool {
    let begin = LABEL_BEGIN.as_bytes();
    let mut places = value.windows(begin.len()).enumerate();
    let has_label = places
        .any(|(at, window)| window == begin && label_length(value.get(at..).unwrap_or_default()).is_some());
    has_label || contains(value, "⟧".as_bytes())
}

/// Returns the length of the label that a text begins with: a kind, and a tag of hexadecimal digits.
pub(crate) fn label_length(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(LABEL_BEGIN.as_bytes())?;
    let is_kind = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let kind = rest.iter().take_while(|byte| is_kind(byte)).count();
    let rest = rest.get(kind..)?.strip_prefix(b" ").filter(|_| kind > 0)?;
    let tag = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    rest.get(tag..)?
        .strip_prefix("⟧".as_bytes())
        .filter(|_| tag > 0)?;
    Some(LABEL_BEGIN.len() + kind + 1 + tag + "⟧".len())
}

/// Returns whether a program, shell or template fills the value in: `$VAR`, `${VAR}`, `{{ name }}`, `%s`, `<name>`.
fn is_filled_in(lower: &[u8]) -> bool {
    let enclosed = match lower {
        [b'<', .., last] => *last == b'>',
        [b'[', .., last] => *last == b']',
        [b'(', .., last] => *last == b')',
        [b'{', .., last] => *last == b'}',
        [b'%', .., last] => *last == b'%',
        _ => false,
    };
    let variable = match lower {
        [b'$', rest @ ..] => rest
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_:.".contains(byte)),
        [b'@' | b':' | b'&' | b'*' | b'?' | b'%' | b'#' | b'!', rest @ ..] => rest
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || b"_.".contains(byte)),
        _ => false,
    };
    enclosed || variable || has_braced_name(lower) || REFERENCES.iter().any(|start| lower.starts_with(start))
}

/// Returns whether a value contains a name in braces, as in `{name}`, `${NAME:-x}` and `{{ name }}`, or in `$(…)`.
fn has_braced_name(lower: &[u8]) -> bool {
    let closed_name = |opening: usize, close: u8| {
        let rest = lower.get(opening + 1..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == close);
        end.and_then(|end| rest.get(..end)).is_some_and(|name| {
            name.iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_ .:-?!{|".contains(byte))
        })
    };
    lower.iter().enumerate().any(|(at, byte)| match byte {
        b'{' => closed_name(at, b'}'),
        b'(' => at > 0 && lower.get(at - 1) == Some(&b'$') && closed_name(at, b')'),
        _ => false,
    })
}

/// Returns whether a value is a path or an address.
fn is_path(value: &[u8]) -> bool {
    let drive = matches!(value, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let rooted = value.starts_with(b"./") || value.starts_with(b"../") || value.starts_with(b"~/");
    let absolute = value.starts_with(b"/") && {
        let parts = value.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        parts.clone().count() > 1
            && parts
                .clone()
                .all(|part| part.len() < 4 || !super::is_random(part))
    };
    drive || rooted || absolute || contains(value, b"://")
}

/// Returns whether one character repeats six times: a mask or a filler. In base64, zeros are a row of `A`.
fn has_long_repeat(value: &[u8]) -> bool {
    value.windows(6).any(|window| match window {
        [first, rest @ ..] => *first != b'A' && rest.iter().all(|byte| byte == first),
        [] => false,
    })
}
