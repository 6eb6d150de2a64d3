//! The lines of a JSONL file, each with its number.

use super::top::unmarked;
use super::{Fields, Json};
use crate::mine::conversation::Note;

/// One line: its number, counted from 1, and the object it is, or what is wrong with it.
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    pub(crate) content: Result<Fields<'a>, Note>,
}

/// Every line that is not empty.
pub(crate) fn each(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = unmarked(text).lines().zip(1..);
    numbered
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| Line {
            number,
            content: object(line, number),
        })
}

/// The objects among the first `count` lines; `None` if there is none, or more lines are broken than whole.
pub(crate) fn beginning(text: &str, count: usize) -> Option<Vec<Fields<'_>>> {
    if !unmarked(text).trim_start().starts_with('{') {
        return None;
    }
    let (found, broken): (Vec<_>, Vec<_>) = each(text).take(count).partition(|line| line.content.is_ok());
    let enough = !found.is_empty() && found.len() >= broken.len();
    enough.then(|| found.into_iter().filter_map(|line| line.content.ok()).collect())
}

fn object(line: &str, number: u64) -> Result<Fields<'_>, Note> {
    match Json::parse(line) {
        Ok(value) => value
            .fields()
            .ok_or_else(|| Note::at_line(number, "the line is no JSON object; it was left out")),
        Err(error) => {
            let column = error.column();
            Err(Note::at_line(
                number,
                format!("the line is broken JSON at column {column}; it was left out"),
            ))
        }
    }
}
