//! The passage of a text that a hit shows: a few lines of the terminal's width, with the matched words marked.

use std::ops::Range;

use console::measure_text_width;
use loci_engine::search::choose_excerpt;

use crate::escape;
use crate::page::TextPage;

/// A part of a line whose characters are all marked, or all plain.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PassageRun {
    text: String,
    marked: bool,
}

/// A word with the display width it has once escaped.
#[derive(Debug, Default)]
struct PassageWord {
    runs: Vec<PassageRun>,
    width: usize,
}

impl PassageWord {
    fn push(&mut self, c: char, marked: bool) {
        // Escaping can turn one character into several, so the width is that of the escaped text.
        let mut buffer = [0; 4];
        let shown = escape::escape_line(c.encode_utf8(&mut buffer)).into_owned();
        self.width += measure_text_width(&shown);
        match self.runs.last_mut().filter(|run| run.marked == marked) {
            Some(run) => run.text.push_str(&shown),
            None => self.runs.push(PassageRun { text: shown, marked }),
        }
    }
}

/// The lines of a passage, each no wider than asked for.
#[derive(Debug)]
pub(super) struct PassageLines {
    lines: Vec<Vec<PassageRun>>,
}

impl PassageLines {
    /// Cuts the part of `text` that holds the most marks, and lays it out on at most `lines` lines of `width` columns.
    /// Runs of white space, line breaks included, become one space.
    pub(super) fn lay_out(text: &str, marks: &[Range<usize>], width: usize, lines: usize) -> Self {
        let range = choose_excerpt(text, marks, width.saturating_mul(lines));
        let starts_late = range.start > 0;
        let ends_early = range.end < text.len();
        let mut layout = PassageLayout::new(width, lines);
        if starts_late {
            layout.push_word(plain_word("…"));
        }
        let words = split_words(text, range, marks, width);
        let all_fit = words.into_iter().all(|word| layout.push_word(word));
        if !all_fit || ends_early {
            layout.push_ellipsis();
        }
        Self { lines: layout.lines }
    }

    /// Writes the lines, each behind `indent`.
    pub(super) fn write(&self, indent: &str, page: &mut TextPage) {
        for line in &self.lines {
            page.plain(indent);
            for run in line {
                if run.marked {
                    page.marked(&run.text);
                } else {
                    page.plain(&run.text);
                }
            }
            page.end();
        }
    }
}

fn plain_word(text: &str) -> PassageWord {
    let mut word = PassageWord::default();
    text.chars().for_each(|c| word.push(c, false));
    word
}

/// Splits a range of a text into words no wider than a line.
fn split_words(text: &str, range: Range<usize>, marks: &[Range<usize>], width: usize) -> Vec<PassageWord> {
    let mut words = Vec::new();
    let mut word = PassageWord::default();
    let mut marks = marks.iter().peekable();
    let part = text.get(range.clone()).unwrap_or_default();
    for (at, c) in part.char_indices() {
        let at = range.start + at;
        while marks.next_if(|mark| mark.end <= at).is_some() {}
        if c.is_whitespace() || word.width >= width {
            if word.width > 0 {
                words.push(std::mem::take(&mut word));
            }
            if c.is_whitespace() {
                continue;
            }
        }
        let marked = marks.peek().is_some_and(|mark| mark.contains(&at));
        word.push(c, marked);
    }
    if word.width > 0 {
        words.push(word);
    }
    words
}

/// Lines being filled, word by word.
struct PassageLayout {
    lines: Vec<Vec<PassageRun>>,
    used: usize,
    width: usize,
    most_lines: usize,
}

/// The columns kept free on the last line for " …".
const ELLIPSIS_WIDTH: usize = 2;

impl PassageLayout {
    fn new(width: usize, most_lines: usize) -> Self {
        Self {
            lines: Vec::new(),
            used: 0,
            width,
            most_lines,
        }
    }

    /// Appends a word; false if there is no room left.
    fn push_word(&mut self, word: PassageWord) -> bool {
        let is_last = self.lines.len() >= self.most_lines;
        let room = if is_last {
            self.width.saturating_sub(ELLIPSIS_WIDTH)
        } else {
            self.width
        };
        let fits = self.used + 1 + word.width <= room;
        if !self.lines.is_empty() && fits {
            self.push_run(PassageRun {
                text: " ".to_owned(),
                marked: false,
            });
            self.used += 1;
        } else if is_last {
            return false;
        } else {
            self.lines.push(Vec::new());
            self.used = 0;
        }
        self.used += word.width;
        word.runs.into_iter().for_each(|run| self.push_run(run));
        true
    }

    fn push_ellipsis(&mut self) {
        self.push_run(PassageRun {
            text: " …".to_owned(),
            marked: false,
        });
    }

    fn push_run(&mut self, run: PassageRun) {
        let Some(line) = self.lines.last_mut() else { return };
        match line.last_mut().filter(|last| last.marked == run.marked) {
            Some(last) => last.text.push_str(&run.text),
            None => line.push(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize, lines: usize) -> Vec<String> {
        let passage = PassageLines::lay_out(text, &[], width, lines);
        let join = |line: &Vec<PassageRun>| line.iter().map(|run| run.text.as_str()).collect();
        passage.lines.iter().map(join).collect()
    }

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        assert_eq!(lines("ship it\n\n  on friday", 40, 2), ["ship it on friday"]);
        assert!(lines("", 40, 2).is_empty());
    }

    #[test]
    fn no_line_is_wider_than_asked_for_in_any_script() {
        let long = "x".repeat(500);
        let chinese = "记忆宫殿把每个字都原样保存。".repeat(20);
        let controls = "\u{1b}[2J\u{202e}".repeat(60);
        let words = "one two three four five ".repeat(30);
        for text in [long, chinese, controls, words] {
            for width in [20, 60, 80] {
                let shown = lines(&text, width, 2);
                assert!(shown.len() <= 2, "{shown:?}");
                // A single escaped character may stand over the edge; nothing else does.
                assert!(
                    shown.iter().all(|line| measure_text_width(line) <= width + 8),
                    "{shown:?}"
                );
                assert!(shown.last().is_some_and(|line| line.ends_with('…')), "{shown:?}");
            }
        }
    }

    #[test]
    fn marked_words_stay_marked() {
        let text = "we ship on friday";
        let marks = [(3, 7), (11, 17)].map(|(start, end)| start..end);
        let passage = PassageLines::lay_out(text, &marks, 40, 2);
        let marked: Vec<&str> = passage.lines[0]
            .iter()
            .filter(|run| run.marked)
            .map(|run| run.text.as_str())
            .collect();
        assert_eq!(marked, ["ship", "friday"]);
    }
}
