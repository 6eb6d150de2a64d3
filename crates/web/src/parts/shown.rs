//! Stored texts, names, times and numbers as a page shows them.
//!
//! A stored text is hostile: `maud` escapes what HTML would read, and this file makes visible what a reader would not
//! see: characters that control a terminal, reorder the text around them, or have no shape. Every text stands in an
//! element with `dir="auto"`, so that its direction is its own and ends with it.

use std::ops::Range;

use loci_core::Timestamp;
use loci_engine::invisible::is_invisible;
use loci_engine::view::{TrustMark, defuse_name};
use maud::{Markup, PreEscaped, Render as _, html};

/// Shows a text of several lines.
pub fn text(text: &str) -> Markup {
    marked_text(text, &[])
}

/// Shows a text with some ranges of it marked. Ranges are in order and do not overlap, as `mark_words` returns them.
pub fn marked_text(text: &str, marks: &[Range<usize>]) -> Markup {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    let mut at = 0;
    for mark in marks {
        let (Some(before), Some(marked)) = (text.get(at..mark.start), text.get(mark.clone())) else {
            continue;
        };
        push_visible(before, true, &mut html);
        html.push_str("<mark>");
        push_visible(marked, true, &mut html);
        html.push_str("</mark>");
        at = mark.end;
    }
    push_visible(text.get(at..).unwrap_or_default(), true, &mut html);
    PreEscaped(html)
}

/// Shows a name on one line: line breaks and tabs become visible, too, and none can pass for a mark of trust.
pub fn name(name: &str) -> Markup {
    let mut html = String::with_capacity(name.len());
    push_visible(&defuse_name(name), false, &mut html);
    html! { bdi { (PreEscaped(html)) } }
}

/// Shows a name for an attribute, where no markup can be: characters that are not visible are left out.
pub fn plain_name(name: &str) -> String {
    name.chars()
        .filter(|c| !c.is_control() && !is_invisible(*c))
        .collect()
}

/// Appends the HTML of a text of several lines.
pub(crate) fn push_text(text: &str, html: &mut String) {
    push_visible(text, true, html);
}

/// Appends the HTML of a text, with line breaks and tabs as they are if it is a block of lines.
fn push_visible(text: &str, is_block: bool, html: &mut String) {
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let is_layout = is_block && matches!(c, '\n' | '\t');
        // A carriage return before a line break is the other half of it.
        let is_half = is_block && c == '\r' && text.get(at + 1..).is_some_and(|rest| rest.starts_with('\n'));
        if is_layout || !(c.is_control() || is_invisible(c)) {
            continue;
        }
        push_escaped(text.get(plain..at).unwrap_or_default(), html);
        plain = at + c.len_utf8();
        if !is_half {
            let sign = html! { span.unseen title=(format!("the character U+{:04X}", c as u32)) { "U+" (format!("{:04X}", c as u32)) } };
            sign.render_to(html);
        }
    }
    push_escaped(text.get(plain..).unwrap_or_default(), html);
}

fn push_escaped(text: &str, html: &mut String) {
    text.render_to(html);
}

/// Shows a time: UTC in the page, the visitor's own time once the script has run, and UTC when pointed at.
pub fn time(time: Timestamp) -> Markup {
    let exact = time.to_string();
    let shown = exact.get(..16).unwrap_or(&exact).replace('T', " ");
    html! { time datetime=(exact) title=(format!("{exact} (UTC)")) { (shown) " UTC" } }
}

/// Shows a day of a time.
pub fn day(time: Timestamp) -> Markup {
    html! { time datetime=(time.to_string()) data-form="day" title=(format!("{time} (UTC)")) { (time.day_text()) } }
}

/// Shows a time of a day that is named beside it: the date is added where the reader's own is another.
pub(crate) fn clock(time: Timestamp) -> Markup {
    let exact = time.to_string();
    let shown = exact.get(11..16).unwrap_or(&exact);
    html! { time datetime=(exact) data-form="clock" title=(format!("{exact} (UTC)")) { (shown) " UTC" } }
}

/// Shows a day of the calendar, which is the same everywhere, as the reader writes it.
pub(crate) fn calendar_day(day: &str) -> Markup {
    html! { time datetime=(day) data-form="date" { (day) } }
}

/// Shows a number with its noun: `1 drawer`, `1,204 drawers`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", digits(number))
}

/// Shows a number with its digits in groups of three: `1,204`.
pub fn digits(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Shows how far a text can be trusted, by the way it was filed.
pub fn trust(mark: TrustMark) -> Markup {
    let meaning = match mark {
        TrustMark::User => "the owner of this palace said it",
        TrustMark::Agent => "an agent said it",
        TrustMark::Tool => "a tool printed it",
        TrustMark::Software => "an agent's harness added it",
        TrustMark::File => "it was read from a file",
        TrustMark::Unknown => "its origin is unknown",
    };
    html! { span class=(format!("trust trust-{}", mark.name())) title=(format!("trust: {meaning}")) { (mark.name()) } }
}

/// Shows a number of bytes, such as `3.4 MB`.
pub fn bytes(bytes: u64) -> String {
    let units = ["bytes", "KB", "MB", "GB", "TB"];
    let mut shown = bytes as f64;
    let mut unit = 0;
    while shown >= 999.5 && unit + 1 < units.len() {
        shown /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => count(bytes, "byte"),
        _ if shown < 9.95 => format!("{shown:.1} {}", units.get(unit).unwrap_or(&"")),
        _ => format!("{shown:.0} {}", units.get(unit).unwrap_or(&"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stored: &str, expect: &str) {
        assert_eq!(text(stored).into_string(), expect, "{stored:?}");
    }

    #[test]
    fn texts_are_escaped_and_what_cannot_be_seen_becomes_visible() {
        check("a < b & \"c\"\n\td", "a &lt; b &amp; &quot;c&quot;\n\td");
        check("one\r\ntwo", "one\ntwo");
        let sign =
            |code: &str| format!("<span class=\"unseen\" title=\"the character U+{code}\">U+{code}</span>");
        check("a\u{202e}b", &format!("a{}b", sign("202E")));
        check("\u{1b}[2J", &format!("{}[2J", sign("001B")));
        check("\0", &sign("0000"));
        assert!(name("a\nb").into_string().contains("U+000A"));
        assert_eq!(plain_name("a\u{202e}\u{1b}b\n"), "ab");
    }

    #[test]
    fn marks_stand_around_the_words_and_nothing_is_lost() {
        let shown = marked_text("<a> b <c>", &[4..5, 6..9]).into_string();
        assert_eq!(shown, "&lt;a&gt; <mark>b</mark> <mark>&lt;c&gt;</mark>");
        // A range that is not on a character is left out, and its text is still shown.
        assert_eq!(marked_text("é", std::slice::from_ref(&(1..2))).into_string(), "é");
    }

    #[test]
    fn numbers_and_their_nouns_agree() {
        assert_eq!(count(1, "drawer"), "1 drawer");
        assert_eq!(count(0, "drawer"), "0 drawers");
        assert_eq!(count(1_204, "drawer"), "1,204 drawers");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(3_400_000), "3.4 MB");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(51_200_000_000), "51 GB");
    }
}
