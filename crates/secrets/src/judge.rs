//! Decides whether a value is a secret or only stands where one would.

mod letters;
mod placeholders;

pub(crate) use placeholders::{LABEL_BEGIN, contains_label, is_placeholder, label_length};

use crate::byte_set::{ByteSet, DIGITS, LETTERS, WORD};

/// The fewest bytes of a password.
const SHORTEST_PASSWORD: usize = 6;
/// The fewest bytes of a value that only its randomness makes a secret.
const SHORTEST_SECRET: usize = 16;
/// Bytes that join words and make nothing random.
const JOINERS: ByteSet = ByteSet::from_text("_-./:");
/// Bytes that a value made of names, numbers and accesses to them consists of.
const CODE: ByteSet = WORD.or(ByteSet::from_text(".:>-?!&*"));

/// The place of a value: a password in a literal needs less evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValuePlace {
    /// A literal: in quotes, or the whole value of a line of settings.
    Literal,
    /// Words of a program or of prose.
    Loose,
}

/// Returns whether a token has as many different characters as a random one, and no sign of being an example.
pub(crate) fn is_varied(token: &[u8]) -> bool {
    let seen = token.iter().fold(0_u128, |seen, byte| seen | 1 << (byte & 127));
    let least = match token.len() {
        0..10 => 3,
        10..16 => 5,
        _ => 8,
    };
    seen.count_ones() >= least && !placeholders::is_example_token(token)
}

/// Returns whether a value given to a password-like name is a password.
pub(crate) fn is_password(value: &[u8], place: ValuePlace) -> bool {
    if value.len() < SHORTEST_PASSWORD || is_placeholder(value) || is_code(value) {
        return false;
    }
    let digits = count(value, DIGITS);
    let letters = count(value, LETTERS);
    let symbols = count_symbols(value, digits);
    let mixed = (letters > 0) && (digits > 0 || symbols > 0) || digits > 0 && symbols > 0;
    // Words of other scripts, as in a translation of the label "password", are not random.
    let random = is_random(value) && (letters + digits) * 2 >= value.len();
    match place {
        ValuePlace::Literal => {
            let strong = symbols > 0 || digits > 1 && letters.min(value.len() - letters) > 1;
            mixed && strong && !is_numbered_name(value) || random && value.len() >= 8 && value.is_ascii()
        }
        ValuePlace::Loose => {
            let strong = symbols > 0 || random && !is_numbered_name(value);
            value.len() >= 8 && mixed && digits > 0 && strong
        }
    }
}

/// Counts the symbols of a value; without a digit, the mark that ends a sentence is none: "Required!".
fn count_symbols(value: &[u8], digits: usize) -> usize {
    let mark = |byte: &u8| b"!?*".contains(byte);
    let last = value.iter().rev().take_while(|byte| mark(byte)).count();
    let symbols = count(value, LETTERS.or(DIGITS).or(JOINERS).others());
    if digits == 0 {
        symbols.saturating_sub(last)
    } else {
        symbols
    }
}

/// Returns whether a value given to a name such as `token` or `apiKey` is a secret.
pub(crate) fn is_secret(value: &[u8], place: ValuePlace) -> bool {
    if value.len() < SHORTEST_SECRET || !value.is_ascii() || is_placeholder(value) || is_code(value) {
        return false;
    }
    let symbols = count(value, WORD.or(JOINERS).or(ByteSet::from_text("+=~")).others());
    let digits = count(value, DIGITS);
    let mixed = count(value, LETTERS) > 0 && digits > usize::from(place == ValuePlace::Loose);
    let letters_only = value.len() >= 24 && digits == 0 && place == ValuePlace::Literal;
    (mixed || letters_only) && symbols * 4 <= value.len() && is_random(value)
}

/// Returns whether a short value given to a name such as `secret` is a password: letters, digits and symbols.
pub(crate) fn is_short_secret(value: &[u8]) -> bool {
    let symbols = count(value, LETTERS.or(DIGITS).or(JOINERS).others());
    (8..=64).contains(&value.len())
        && symbols > 0
        && count(value, DIGITS) > 0
        && count(value, LETTERS) > 1
        && !is_placeholder(value)
        && !is_code(value)
}

/// Returns whether the characters of a value follow one another as in random text rather than as in words.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let score: i32 = value
        .windows(2)
        .map(|pair| match pair {
            [first, second] => score_pair(*first, *second),
            _ => 0,
        })
        .sum();
    let distinct = value
        .iter()
        .fold(0_u128, |seen, byte| seen | 1 << (byte & 127))
        .count_ones() as usize;
    // Found by measuring names in programs against random strings: names score about -1 per character.
    score * 5 >= -(value.len() as i32) && distinct * 3 >= value.len().min(24)
}

/// Returns how common a pair of bytes is in texts, from 0 for pairs that words do not contain.
pub(crate) fn commonness(pair: &[u8]) -> u32 {
    match pair {
        [first, second] if first.is_ascii_lowercase() && second.is_ascii_lowercase() => {
            if letters::are_common(*first, *second) {
                8
            } else {
                3
            }
        }
        [first, second] if first.is_ascii_alphanumeric() && second.is_ascii_alphanumeric() => 1,
        [first, second] => u32::from(first.is_ascii_whitespace() || second.is_ascii_whitespace()) * 4,
        _ => 0,
    }
}

fn score_pair(first: u8, second: u8) -> i32 {
    let (letter, next_letter) = (first.is_ascii_alphabetic(), second.is_ascii_alphabetic());
    if letter && next_letter {
        if first.is_ascii_lowercase() && second.is_ascii_uppercase() {
            return 1;
        }
        return if letters::are_common(first, second) { -2 } else { 2 };
    }
    let neutral = |byte: u8| JOINERS.contains(byte) || !byte.is_ascii();
    let joined = neutral(first) || neutral(second);
    let number = first.is_ascii_digit() && second.is_ascii_digit();
    if joined || number { 0 } else { 2 }
}

/// Returns whether a value is words and a number, such as `utf8_general` or `section-12`: at most one group of digits
/// after joined words that are not random.
fn is_numbered_name(value: &[u8]) -> bool {
    if !value.iter().all(|byte| WORD.or(JOINERS).contains(*byte)) {
        return false;
    }
    let mut parts = value.split(|byte| JOINERS.contains(*byte) || *byte == b'_');
    let has_joints = value.iter().any(|byte| JOINERS.contains(*byte));
    has_joints
        && parts.all(|part| {
            let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let number = part.iter().skip(letters).all(u8::is_ascii_digit);
            let words = part
                .get(..letters)
                .is_none_or(|words| !is_random(words) || words.len() < 4);
            number && words
        })
}

/// Returns whether a value is an expression of a program: a call, an access, a type, an operator.
fn is_code(value: &[u8]) -> bool {
    let called = value
        .iter()
        .position(|byte| matches!(byte, b'(' | b'['))
        .and_then(|at| value.get(..at));
    let is_name = |name: &[u8]| {
        name.iter().all(|byte| CODE.contains(*byte))
            && name.first().is_some_and(|byte| !byte.is_ascii_digit())
            && !is_random(name)
    };
    if called.is_some_and(|name| name.len() > 3 && is_name(name)) {
        return true;
    }
    // Escapes of bytes, and an address of mail.
    if has_byte_escape(value) || is_mail_address(value) {
        return true;
    }
    // `self.password`, `config::SECRET`, `user->token`, `a.b2.c`: joined names, none of them random.
    let joined = value.contains(&b'.') || contains(value, b"::") || contains(value, b"->");
    joined
        && value.iter().all(|byte| CODE.contains(*byte))
        && value
            .split(|byte| !WORD.contains(*byte))
            .all(|part| part.len() < 4 || !is_random(part))
}

/// Returns whether a value contains `\x`, `\u` or `\0`, but not after another backslash.
fn has_byte_escape(value: &[u8]) -> bool {
    let mut escaped = false;
    value.iter().any(|byte| {
        let escape = escaped && matches!(byte, b'x' | b'u' | b'0');
        escaped = *byte == b'\\' && !escaped;
        escape
    })
}

fn is_mail_address(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'@');
    let is_word = |part: &[u8]| {
        part.len() > 1
            && part
                .iter()
                .all(|byte| byte.is_ascii_alphabetic() || b"._-".contains(byte))
            && !is_random(part)
    };
    parts.by_ref().take(2).filter(|part| is_word(part)).count() == 2 && parts.next().is_none()
}

pub(crate) fn contains(value: &[u8], wanted: &[u8]) -> bool {
    value.windows(wanted.len()).any(|window| window == wanted)
}

fn count(value: &[u8], set: ByteSet) -> usize {
    value.iter().filter(|byte| set.contains(**byte)).count()
}
