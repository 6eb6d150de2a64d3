//! Seams of Markdown: headings, blocks, items, lines. What is fenced, a table, raw HTML or front matter stays whole.

use super::line::{Line, lines, shallow};
use super::pack::Packer;
use super::seam::{Rank, Under, heading};

/// Reports the seams of Markdown.
pub(super) fn scan(text: &str, packer: &mut Packer<'_>) {
    let mut scanner = Scanner {
        packer,
        under: None,
        state: State::Open { listed: false },
    };
    let mut rows = lines(text).peekable();
    scanner.front_matter(text, &mut rows);
    while let Some(line) = rows.next() {
        let next = rows.peek().copied();
        if scanner.goes_on(&line) {
            continue;
        }
        let underline = next.and_then(|next| scanner.underlined(&line, &next));
        if let Some((level, title)) = underline.or_else(|| title(&line)) {
            scanner.title(&line, level, title);
            if underline.is_some() {
                rows.next();
            }
        } else {
            scanner.block(&line, next.as_ref());
        }
    }
}

/// What the last line was part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing that goes on: a blank line, or the end of something whole.
    Open {
        listed: bool,
    },
    /// A paragraph or an item of a list.
    Text {
        listed: bool,
    },
    /// So many headings with nothing between them.
    Titles(usize),
    /// Something fenced, and by what.
    Fenced {
        mark: u8,
        count: usize,
    },
    Table,
    Html,
}

/// So many headings in a row belong together; an outline has more.
const TITLES: usize = 8;

struct Scanner<'p, 'a> {
    packer: &'p mut Packer<'a>,
    under: Under,
    state: State,
}

impl Scanner<'_, '_> {
    fn seam(&mut self, line: &Line<'_>, rank: Rank) {
        self.packer.seam(line.start, rank, &self.under);
    }

    /// Takes a line that belongs to what is open, or is blank.
    fn goes_on(&mut self, line: &Line<'_>) -> bool {
        let blank = line.is_blank();
        match self.state {
            State::Fenced { mark, count } => {
                self.seam(line, Rank::Inside);
                if fence(line).is_some_and(|(m, n, bare)| m == mark && n >= count && bare) {
                    self.state = State::Open { listed: false };
                }
                return true;
            }
            State::Table if !blank && line.text.contains('|') => self.seam(line, Rank::Inside),
            State::Html if !blank => self.seam(line, Rank::Inside),
            State::Titles(_) if blank => {}
            State::Open { listed } | State::Text { listed } if blank => self.state = State::Open { listed },
            _ if blank => self.state = State::Open { listed: false },
            State::Table => {
                self.state = State::Open { listed: false };
                return false;
            }
            _ => return false,
        }
        true
    }

    /// A heading. It stays with what follows, so there is no seam behind it.
    fn title(&mut self, line: &Line<'_>, level: u8, title: &str) {
        self.under = heading(&self.under, level, title);
        let count = match self.state {
            State::Titles(count) if count < TITLES => {
                self.packer.put_under(&self.under);
                count + 1
            }
            _ => {
                self.seam(line, if level <= 2 { Rank::Chapter } else { Rank::Section });
                1
            }
        };
        let short = title.chars().count() <= self.packer.few();
        self.state = if short {
            State::Titles(count)
        } else {
            State::Open { listed: false }
        };
    }

    /// Any other line that begins or continues a block.
    fn block(&mut self, line: &Line<'_>, next: Option<&Line<'_>>) {
        let item = is_item(line);
        let listed = item
            || matches!(
                self.state,
                State::Open { listed: true } | State::Text { listed: true }
            );
        let (state, opens) = match fence(line) {
            Some((mark, count, _)) => (State::Fenced { mark, count }, true),
            None if next.is_some_and(|next| is_table(line, next)) => (State::Table, true),
            None if is_html(line) && !matches!(self.state, State::Text { .. }) => (State::Html, true),
            None => (
                State::Text {
                    listed: listed && (item || line.indent() > 0),
                },
                false,
            ),
        };
        let rank = match self.state {
            State::Titles(_) => None,
            State::Open { listed: true } if line.indent() > 0 || item => {
                Some(Rank::Item(shallow(line.indent())))
            }
            State::Open { .. } if line.indent() > 3 => Some(Rank::Item(0)),
            State::Open { .. } => Some(Rank::Block),
            _ if item => Some(Rank::Item(shallow(line.indent()))),
            _ => Some(Rank::Line(u8::from(opens))),
        };
        if let Some(rank) = rank {
            self.seam(line, rank);
        }
        self.state = state;
    }

    /// The heading that a line and the line below it are.
    fn underlined<'l>(&self, line: &Line<'l>, next: &Line<'_>) -> Option<(u8, &'l str)> {
        let alone = !matches!(self.state, State::Text { .. });
        let level = match next.text.trim_end() {
            below if below.len() > 1 && below.bytes().all(|byte| byte == b'=') => 1,
            below if below.len() > 1 && below.bytes().all(|byte| byte == b'-') => 2,
            _ => return None,
        };
        let plain =
            !is_item(line) && fence(line).is_none() && !line.inner().starts_with(['#', '>', '|', '-', '=']);
        (alone && plain && line.indent() < 4).then_some((level, line.text))
    }

    /// Takes the fenced lines a text begins with, if they end before they are too many.
    fn front_matter<'l>(
        &mut self,
        text: &str,
        rows: &mut std::iter::Peekable<impl Iterator<Item = Line<'l>>>,
    ) {
        let fence = rows.peek().map_or("", |line| line.text.trim_end());
        if !matches!(fence, "---" | "+++") {
            return;
        }
        let ends = |line: &Line<'_>| {
            line.text.trim_end() == fence || (fence == "---" && line.text.trim_end() == "...")
        };
        let mut behind = lines(text)
            .skip(1)
            .take_while(|line| line.start <= self.packer.whole());
        let Some(end) = behind.find(ends) else { return };
        while let Some(line) = rows.next_if(|line| line.start <= end.start) {
            self.seam(&line, Rank::Inside);
        }
    }
}

/// The heading a line that begins with hashes is.
fn title<'l>(line: &Line<'l>) -> Option<(u8, &'l str)> {
    let inner = line.inner();
    let title = inner.trim_start_matches('#');
    let level = u8::try_from(inner.len() - title.len()).ok()?;
    let spaced = title.is_empty() || title.starts_with([' ', '\t']);
    let title = title.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && spaced && line.indent() < 4).then_some((level, title))
}

/// The mark of a fence, how often it stands there, and whether nothing else does.
fn fence(line: &Line<'_>) -> Option<(u8, usize, bool)> {
    let inner = line.inner().as_bytes();
    let mark = *inner.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let count = inner.iter().take_while(|byte| **byte == mark).count();
    let rest = inner.get(count..).unwrap_or_default();
    let bare = rest.iter().all(u8::is_ascii_whitespace);
    // Code that stands in a line may begin with as many marks, but closes them there.
    let inline = mark == b'`' && rest.contains(&b'`');
    (count >= 3 && !inline).then_some((mark, count, bare))
}

/// Whether a line is the head of a table and the next one is the rule below it.
fn is_table(line: &Line<'_>, next: &Line<'_>) -> bool {
    let rule = next.text.trim();
    let ruled = rule
        .bytes()
        .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'));
    ruled && rule.contains('|') && rule.contains('-') && line.text.contains('|')
}

fn is_html(line: &Line<'_>) -> bool {
    let tag = line.inner().strip_prefix('<');
    let named =
        |tag: &str| tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
    // An address in angle brackets is no tag.
    let address = |tag: &str| {
        tag.bytes()
            .take_while(|byte| *byte != b'>')
            .any(|byte| matches!(byte, b':' | b'@'))
    };
    line.indent() < 4
        && tag.is_some_and(|tag| named(tag) && !address(tag.split(' ').next().unwrap_or_default()))
}

/// Whether a line begins an item of a list.
fn is_item(line: &Line<'_>) -> bool {
    let inner = line.inner();
    let number = inner.bytes().take_while(u8::is_ascii_digit).count();
    let mark = inner.as_bytes().get(number);
    let marked = match mark {
        Some(b'-' | b'*' | b'+') => number == 0,
        Some(b'.' | b')') => (1..10).contains(&number),
        _ => false,
    };
    marked && matches!(inner.as_bytes().get(number + 1), None | Some(b' ' | b'\t'))
}
