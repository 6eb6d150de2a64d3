//! The rules on texts: what they find, what they leave alone, and how much they read.

mod edges;
mod found;
mod left_alone;
mod work;

use std::sync::LazyLock;

use crate::{SecretScanner, SecretSpan};

/// One scanner for all tests.
pub(crate) static SCANNER: LazyLock<SecretScanner> = LazyLock::new(SecretScanner::new);

/// Replaces each field of a form by noise of its alphabet and length, so that no token stands in this file: `{h32}` is
/// hexadecimal, `{d}` digits, `{m}` letters and digits, `{u}` upper case, `{l}` lower case, `{w}` base64 for URLs.
pub(crate) fn fill(form: &str) -> String {
    let mut text = String::new();
    let mut rest = form;
    while let Some((before, field)) = rest.split_once('{') {
        text.push_str(before);
        let Some((field, after)) = field.split_once('}') else {
            break;
        };
        let count = field.get(1..).and_then(|count| count.parse().ok());
        match (alphabet(field), count) {
            (Some(alphabet), Some(count)) => text.push_str(&noise(alphabet, count, text.len() as u64)),
            _ => text.push_str(&format!("{{{field}}}")),
        }
        rest = after;
    }
    text + rest
}

fn alphabet(field: &str) -> Option<&'static str> {
    Some(match field.get(..1)? {
        "h" => "0123456789abcdef",
        "d" => "0123456789",
        "m" => "Zx9QaB7cWdE5fVgH3jKpLmN2rSt8uXyR4kTzCvYhJnPqMwDs6bFG",
        "u" => "QX7ZKJ4WVP9RT2MHGF6DBC8NLS3Y5A",
        "l" => "zq7xj4kwv9pf2mhg6dbc8nts3yr5ta",
        "w" => "Zx9QaB7cWd_E5fVgH3jKpLmN2rSt-8uXyR4kTzCvYhJnPqMwDs6bFG",
        _ => return None,
    })
}

/// Returns characters of an alphabet that look random and are the same each time. The last is never a hyphen.
fn noise(alphabet: &str, count: usize, salt: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        letters[(state >> 33) as usize % letters.len()]
    };
    (0..count)
        .map(|place| match next() {
            '-' | '_' if place == 0 || place + 1 == count => letters[0],
            letter => letter,
        })
        .collect()
}

/// Returns each secret of a text with the name of its kind.
pub(crate) fn found(text: &str) -> Vec<(&'static str, &str)> {
    let spans = SCANNER.scan(text);
    spans
        .into_iter()
        .map(|span| (span.kind.name(), &text[span.start..span.end]))
        .collect()
}

/// Replaces each span of a text by a label.
pub(crate) fn seal(text: &str, spans: &[SecretSpan]) -> String {
    let mut sealed = String::new();
    let mut at = 0;
    for span in spans {
        sealed.push_str(&text[at..span.start]);
        sealed.push_str(&format!("⟦sealed {} 9f3a17c2e84b06d5⟧", span.kind.name()));
        at = span.end;
    }
    sealed + &text[at..]
}
