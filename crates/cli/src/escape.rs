//! Stored text is hostile until escaped: control, bidi and invisible characters become visible.

use std::borrow::Cow;

use loci_engine::invisible::is_invisible;

/// `text` for one line of human output: nothing in it can move the cursor, break the line or reorder words.
pub(crate) fn escape_line(text: &str) -> Cow<'_, str> {
    escape_hostile(text, is_hostile)
}

/// `text` for several lines of human output: like [`line`], but line breaks and tabs stay.
pub(crate) fn escape_block(text: &str) -> Cow<'_, str> {
    escape_hostile(text, |c| is_hostile(c) && !matches!(c, '\n' | '\t'))
}

fn escape_hostile(text: &str, hostile: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hostile) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !hostile(c) => escaped.push(c),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            _ => escaped.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(escaped)
}

/// A word as it can be pasted into a shell.
pub(crate) fn quote_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Characters that must not reach a terminal: those that control it, and invisible ones.
fn is_hostile(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, on_a_line: &str, in_a_block: &str) {
        assert_eq!(escape_line(text), on_a_line, "{text:?}");
        assert_eq!(escape_block(text), in_a_block, "{text:?}");
    }

    #[test]
    fn what_controls_a_terminal_becomes_visible() {
        check("\u{1b}[2J", "\\u{1b}[2J", "\\u{1b}[2J");
        check("a\nb\tc\rd", "a\\nb\\tc\\rd", "a\nb\tc\\rd");
        check(
            "\u{9b}31m\u{7f}\0",
            "\\u{9b}31m\\u{7f}\\u{0}",
            "\\u{9b}31m\\u{7f}\\u{0}",
        );
    }

    #[test]
    fn what_reorders_or_hides_text_becomes_visible() {
        check(
            "a\u{202e}b\u{2066}",
            "a\\u{202e}b\\u{2066}",
            "a\\u{202e}b\\u{2066}",
        );
        check(
            "\u{200f}\u{feff}\u{2028}\u{e0041}",
            "\\u{200f}\\u{feff}\\u{2028}\\u{e0041}",
            "\\u{200f}\\u{feff}\\u{2028}\\u{e0041}",
        );
    }

    #[test]
    fn plain_text_of_every_script_stays() {
        for text in ["", "It's \"fine\"", "抽屉", "مرحبا", "שלום", "👩‍👩‍👧 🗄️", "naïve é"]
        {
            check(text, text, text);
        }
    }

    #[test]
    fn a_quoted_word_can_be_pasted_into_a_shell() {
        assert_eq!(quote_for_shell("plain-1"), "plain-1");
        assert_eq!(quote_for_shell("it's"), r"'it'\''s'");
        assert_eq!(quote_for_shell(""), "''");
    }
}
