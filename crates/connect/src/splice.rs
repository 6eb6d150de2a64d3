//! Replacing parts of a text, and its line endings.

use std::ops::Range;

/// The byte order mark some editors put at the start of a file.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text with some parts replaced, given in order.
pub(crate) fn splice<T: AsRef<str>>(text: &str, parts: &[(Range<usize>, T)]) -> String {
    let mut spliced = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (span, new) in parts {
        spliced.push_str(text.get(at..span.start).unwrap_or_default());
        spliced.push_str(new.as_ref());
        // Overlapping parts must not copy text twice.
        at = span.end.max(at);
    }
    spliced.push_str(text.get(at..).unwrap_or_default());
    spliced
}

/// The line ending a text uses.
pub(crate) fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Whether a text is empty but for white space and a byte order mark.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim_start_matches(BYTE_ORDER_MARK).trim().is_empty()
}
