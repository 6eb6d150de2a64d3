//! A JSON file read as one value, and the line numbers of its parts.

use loci_core::{Error, ErrorKind, Result};

use super::top::strip_byte_order_mark;
use super::{JsonFields, JsonSlice};
use crate::formats::ParserInput;

/// Parses a JSON file that is one object or one array.
pub(crate) fn parse_whole<'a>(given: &ParserInput<'a>) -> Result<JsonSlice<'a>> {
    JsonSlice::parse(json_body(given)).map_err(|error| {
        Error::new(
            ErrorKind::Format,
            format!("{} is not JSON: {error}", given.path.display()),
        )
        .with_hint("nothing was read from it")
    })
}

/// Returns the text without byte order mark and surrounding space.
pub(crate) fn json_body<'a>(given: &ParserInput<'a>) -> &'a str {
    strip_byte_order_mark(given.text).trim()
}

/// Returns the objects among the first `most` elements.
pub(crate) fn first_objects<'a>(list: &[JsonSlice<'a>], most: usize) -> Vec<JsonFields<'a>> {
    list.iter().take(most).filter_map(|item| item.fields()).collect()
}

/// Finds the line numbers of the parts of a text, which must be asked for in order.
#[derive(Debug)]
pub(crate) struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl<'a> LineCounter<'a> {
    /// Creates a counter at the beginning of a text.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Returns the line on which a part begins.
    pub(crate) fn line_of(&mut self, part: JsonSlice<'a>) -> u64 {
        let start = (part.raw().as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        // Each byte is counted once, so the whole file costs one pass. A part from another text is out of
        // range and keeps the current line.
        if let Some(passed) = self.text.as_bytes().get(self.at..start) {
            self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.at = start;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_text_stand_on_their_lines() {
        let text = "[1,\n\n {\"a\":\n2}, 3]";
        let mut counter = LineCounter::new(text);
        let items = JsonSlice::parse(text).unwrap().items().unwrap();
        let lines: Vec<u64> = items.into_iter().map(|item| counter.line_of(item)).collect();
        assert_eq!(lines, [1, 3, 4]);
    }
}
