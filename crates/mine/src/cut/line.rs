//! The lines of a text, as scanners see them.

/// A line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Where it begins, in bytes.
    pub(super) start: usize,
    /// Where its text begins, in bytes: behind a byte order mark.
    pub(super) at: usize,
    /// All of it but `\n` or `\r\n`.
    pub(super) text: &'a str,
}

/// Every line of a text, in order. A byte order mark is no part of the first.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
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
        Line {
            start,
            at: start + line.len() - text.len(),
            text,
        }
    })
}

impl<'a> Line<'a> {
    /// Whether there is nothing in it but white space.
    pub(super) fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    /// How far it is indented; a tab counts four.
    pub(super) fn indent(&self) -> usize {
        let white = self.text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
        white.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
    }

    /// It, from its first character that is not white.
    pub(super) fn inner(&self) -> &'a str {
        self.text.trim_start()
    }
}

/// A number that is the higher the less a line is indented.
pub(super) fn shallow(indent: usize) -> u8 {
    250_u8.saturating_sub(u8::try_from(indent).unwrap_or(250))
}
