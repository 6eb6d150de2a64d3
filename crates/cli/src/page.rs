//! A page of human output, on which all text is escaped as it is set down.

use crate::escape;

pub(crate) use loci_core::format_count;

/// Words for people, built piece by piece. Whatever is set down is escaped; only the page itself adds color.
#[derive(Debug)]
pub(crate) struct TextPage {
    text: String,
    color: bool,
}

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const MARKED: &str = "\u{1b}[1;33m";
const RED: &str = "\u{1b}[31m";
const YELLOW: &str = "\u{1b}[33m";
const RESET: &str = "\u{1b}[0m";

impl TextPage {
    /// An empty page, with color or without.
    pub(crate) fn new(color: bool) -> Self {
        Self {
            text: String::new(),
            color,
        }
    }

    /// Sets down plain words.
    pub(crate) fn plain(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&escape::escape_line(text));
        self
    }

    /// Sets down what matters most.
    pub(crate) fn bold(&mut self, text: &str) -> &mut Self {
        self.write_styled(BOLD, text)
    }

    /// Sets down what matters least.
    pub(crate) fn dim(&mut self, text: &str) -> &mut Self {
        self.write_styled(DIM, text)
    }

    /// Sets down what is wrong.
    pub(crate) fn red(&mut self, text: &str) -> &mut Self {
        self.write_styled(RED, text)
    }

    /// Sets down what needs attention.
    pub(crate) fn yellow(&mut self, text: &str) -> &mut Self {
        self.write_styled(YELLOW, text)
    }

    /// Sets down a part of a line of a text; tabs stay.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&escape::escape_block(text));
        self
    }

    /// Sets down words of a text that were looked for.
    pub(crate) fn marked(&mut self, text: &str) -> &mut Self {
        self.write_styled(MARKED, text)
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// Sets down several lines, each indented, and ends the last.
    pub(crate) fn block(&mut self, indent: &str, text: &str) -> &mut Self {
        for line in text.split('\n') {
            self.text.push_str(indent);
            self.text.push_str(&escape::escape_block(line));
            self.text.push('\n');
        }
        self
    }

    fn write_styled(&mut self, style: &str, text: &str) -> &mut Self {
        if !self.color {
            return self.plain(text);
        }
        self.text.push_str(style);
        self.plain(text);
        self.text.push_str(RESET);
        self
    }

    /// The page as printed.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_text_is_escaped_and_only_the_page_adds_color() {
        for color in [false, true] {
            let mut page = TextPage::new(color);
            page.bold("id\u{1b}[0m")
                .plain(" a\nb")
                .end()
                .block("  ", "one\ntwo\u{202e}");
            let reset = if color {
                ("\u{1b}[1m", "\u{1b}[0m")
            } else {
                ("", "")
            };
            assert_eq!(
                page.as_str(),
                format!(
                    "{}id\\u{{1b}}[0m{} a\\nb\n  one\n  two\\u{{202e}}\n",
                    reset.0, reset.1
                )
            );
        }
    }
}
