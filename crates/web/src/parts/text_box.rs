//! The box in which a text is written, and what a browser makes of a text in it.

use loci_core::{Error, Result};
use maud::{Markup, html};

use crate::request::PageFields;

/// Reads the text that was written; a blank one is refused.
pub(crate) fn read(fields: &PageFields) -> Result<String> {
    let text = as_returned(fields.exact_value("text").unwrap_or_default());
    if text.trim().is_empty() {
        return Err(Error::invalid("the text is empty").with_hint("write what shall be kept"));
    }
    Ok(text)
}

/// Shows the box with a text in it. `takes_focus` lets a visitor write at once.
pub(crate) fn render(text: &str, is_refused: bool, takes_focus: bool) -> Markup {
    html! {
        label.field {
            span { "Text" }
            textarea.text-box name="text" rows="12" dir="auto" autofocus[takes_focus] aria-invalid=[is_refused.then_some("true")]
                aria-describedby=[is_refused.then_some("refused")] {
                // Browsers drop the first line break in a box; this one is dropped, and not one of the text.
                "\n" (text)
            }
        }
    }
}

/// Returns a text as a browser gives it back from a box, with line breaks as they are stored: each is one character, and
/// the character that HTML cannot hold is replaced.
pub(crate) fn as_returned(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\0', "\u{fffd}")
}

/// Returns whether a text has characters that a browser does not give back as they are.
pub(crate) fn loses_characters(text: &str) -> bool {
    text.contains('\0') || has_lone_return(text) || has_mixed_breaks(text)
}

/// Gives a text that came back from a box the line breaks of the stored one.
pub(crate) fn with_breaks_of(stored: &str, text: &str) -> String {
    if stored.contains("\r\n") && !has_mixed_breaks(stored) {
        text.replace('\n', "\r\n")
    } else {
        text.to_owned()
    }
}

fn has_lone_return(text: &str) -> bool {
    text.replace("\r\n", "").contains('\r')
}

fn has_mixed_breaks(text: &str) -> bool {
    text.contains("\r\n") && text.replace("\r\n", "").contains('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_line_breaks_through_a_browser() {
        for stored in ["", "a", "a\nb\n", "a\r\nb\r\n", "\n\na"] {
            let sent = as_returned(stored).replace('\n', "\r\n");
            assert_eq!(with_breaks_of(stored, &as_returned(&sent)), stored, "{stored:?}");
            assert!(!loses_characters(stored), "{stored:?}");
        }
        for lossy in ["a\0b", "a\rb", "a\r\nb\nc"] {
            assert!(loses_characters(lossy), "{lossy:?}");
        }
    }

    #[test]
    fn a_line_break_at_the_beginning_is_not_the_one_that_browsers_drop() {
        let html = render("\nindented <b>", false, false).into_string();
        assert!(html.contains(">\n\nindented &lt;b&gt;</textarea>"), "{html}");
    }
}
