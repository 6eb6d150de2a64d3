//! The lines of a text, as scanners see them.

/// A line.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextLine<'a> {
    /// The byte offset of its start.
    pub(super) start: usize,
    /// The byte offset of its text, after a byte order mark.
    pub(super) at: usize,
    /// The line without `\n` or `\r\n`.
    pub(super) text: &'a str,
}

/// Returns the lines of a text in order. A byte order mark is not part of the first line's text.
pub(super) fn text_lines(text: &str) -> impl Iterator<Item = TextLine<'_>> {
    let mut next = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let text = if start == 0 {
            line.trim_start_matches('\u{feff}')
        } else {
            line
        };
        TextLine {
            start,
            at: start + line.len() - text.len(),
            text,
        }
    })
}

impl<'a> TextLine<'a> {
    /// Returns whether it holds only white space.
    pub(super) fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    /// Returns its indentation; a tab counts as four.
    pub(super) fn indent(&self) -> usize {
        let white = self.text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
        white.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
    }

    /// Returns the line without its indentation.
    pub(super) fn unindented(&self) -> &'a str {
        self.text.trim_start()
    }
}

/// Returns a number that grows as the indentation shrinks.
pub(super) fn shallowness(indent: usize) -> u8 {
    // Indentation beyond 250 columns is not told apart; it only occurs in generated text.
    250_u8.saturating_sub(u8::try_from(indent).unwrap_or(250))
}
