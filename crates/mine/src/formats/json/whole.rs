//! A JSON file taken as one value, and the lines on which the parts of it stand.

use loci_core::{Error, ErrorKind, Result};

use super::top::unmarked;
use super::{Fields, Json};
use crate::formats::Given;

/// What is inside a JSON file that is one object or one array, looked at for the first time.
pub(crate) fn whole<'a>(given: &Given<'a>) -> Result<Json<'a>> {
    Json::parse(body(given)).map_err(|error| {
        Error::new(
            ErrorKind::Format,
            format!("{} is not JSON: {error}", given.path.display()),
        )
        .hint("nothing of it was taken over")
    })
}

/// The text without a byte order mark and the space around it.
pub(crate) fn body<'a>(given: &Given<'a>) -> &'a str {
    unmarked(given.text).trim()
}

/// The objects of an array, up to the first `most`.
pub(crate) fn objects<'a>(list: &[Json<'a>], most: usize) -> Vec<Fields<'a>> {
    list.iter().take(most).filter_map(|item| item.fields()).collect()
}

/// Counts the lines up to the parts of a text, which must come in order.
#[derive(Debug)]
pub(crate) struct Counter<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl<'a> Counter<'a> {
    /// Counts from the beginning of a text.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line a part begins on.
    pub(crate) fn line_of(&mut self, part: Json<'a>) -> u64 {
        let start = (part.raw().as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
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
        let mut counter = Counter::new(text);
        let items = Json::parse(text).unwrap().items().unwrap();
        let lines: Vec<u64> = items.into_iter().map(|item| counter.line_of(item)).collect();
        assert_eq!(lines, [1, 3, 4]);
    }
}
