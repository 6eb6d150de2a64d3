//! Seams of Markdown: headings, blocks, items, lines. Fenced blocks, tables, raw HTML and front matter stay whole.

use super::line::{TextLine, shallowness, text_lines};
use super::pack::PiecePacker;
use super::seam::{EnclosingHeading, SeamRank, nest_heading};

/// Reports the seams of Markdown.
pub(super) fn scan_markdown(text: &str, packer: &mut PiecePacker<'_>) {
    let mut scanner = MarkdownScanner {
        packer,
        under: None,
        state: MarkdownState::Open { listed: false },
    };
    let mut rows = text_lines(text).peekable();
    scanner.take_front_matter(text, &mut rows);
    while let Some(line) = rows.next() {
        let next = rows.peek().copied();
        if scanner.continues_open_block(&line) {
            continue;
        }
        let underline = next.and_then(|next| scanner.underlined_heading(&line, &next));
        if let Some((level, title)) = underline.or_else(|| hash_heading(&line)) {
            scanner.take_heading(&line, level, title);
            if underline.is_some() {
                rows.next();
            }
        } else {
            scanner.take_block_line(&line, next.as_ref());
        }
    }
}

/// The block that the last line was part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownState {
    /// No open block: after a blank line or the end of a whole block.
    Open {
        listed: bool,
    },
    /// A paragraph or an item of a list.
    Text {
        listed: bool,
    },
    /// This many headings with nothing between them.
    Titles(usize),
    /// A fenced block and its fence.
    Fenced {
        mark: u8,
        count: usize,
    },
    Table,
    Html,
}

/// The number of consecutive headings that stay together; an outline has more.
const TITLES: usize = 8;

struct MarkdownScanner<'p, 'a> {
    packer: &'p mut PiecePacker<'a>,
    under: EnclosingHeading,
    state: MarkdownState,
}

impl MarkdownScanner<'_, '_> {
    fn report_seam(&mut self, line: &TextLine<'_>, rank: SeamRank) {
        self.packer.add_seam(line.start, rank, &self.under);
    }

    /// Takes a line that is blank or continues the open block; returns whether it was one.
    fn continues_open_block(&mut self, line: &TextLine<'_>) -> bool {
        let blank = line.is_blank();
        match self.state {
            MarkdownState::Fenced { mark, count } => {
                self.report_seam(line, SeamRank::Inside);
                // As CommonMark has it: the closing fence is at least as long and carries no info string. A
                // shorter one, or one with a language, is content of the block.
                if parse_fence(line).is_some_and(|(m, n, bare)| m == mark && n >= count && bare) {
                    self.state = MarkdownState::Open { listed: false };
                }
                return true;
            }
            MarkdownState::Table if !blank && line.text.contains('|') => {
                self.report_seam(line, SeamRank::Inside)
            }
            MarkdownState::Html if !blank => self.report_seam(line, SeamRank::Inside),
            MarkdownState::Titles(_) if blank => {}
            MarkdownState::Open { listed } | MarkdownState::Text { listed } if blank => {
                self.state = MarkdownState::Open { listed }
            }
            _ if blank => self.state = MarkdownState::Open { listed: false },
            MarkdownState::Table => {
                self.state = MarkdownState::Open { listed: false };
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Takes a heading. There is no seam after it, so it stays with the text that follows.
    fn take_heading(&mut self, line: &TextLine<'_>, level: u8, title: &str) {
        self.under = nest_heading(&self.under, level, title);
        let count = match self.state {
            // A heading directly below another adds no seam: both stay together with the text below them.
            MarkdownState::Titles(count) if count < TITLES => {
                self.packer.retitle_last_seam(&self.under);
                count + 1
            }
            _ => {
                self.report_seam(
                    line,
                    if level <= 2 {
                        SeamRank::Chapter
                    } else {
                        SeamRank::Section
                    },
                );
                1
            }
        };
        // A heading as long as a paragraph is not glued to the text below it, or the two could have no seam
        // in reach.
        let short = title.chars().count() <= self.packer.short_length();
        self.state = if short {
            MarkdownState::Titles(count)
        } else {
            MarkdownState::Open { listed: false }
        };
    }

    /// Takes any other line, which begins or continues a block.
    fn take_block_line(&mut self, line: &TextLine<'_>, next: Option<&TextLine<'_>>) {
        let item = is_item(line);
        let listed = item
            || matches!(
                self.state,
                MarkdownState::Open { listed: true } | MarkdownState::Text { listed: true }
            );
        let (state, opens) = match parse_fence(line) {
            Some((mark, count, _)) => (MarkdownState::Fenced { mark, count }, true),
            None if next.is_some_and(|next| is_table(line, next)) => (MarkdownState::Table, true),
            None if is_html(line) && !matches!(self.state, MarkdownState::Text { .. }) => {
                (MarkdownState::Html, true)
            }
            None => (
                MarkdownState::Text {
                    listed: listed && (item || line.indent() > 0),
                },
                false,
            ),
        };
        let rank = match self.state {
            MarkdownState::Titles(_) => None,
            MarkdownState::Open { listed: true } if line.indent() > 0 || item => {
                Some(SeamRank::Item(shallowness(line.indent())))
            }
            // Four spaces after a blank line: indented code, which belongs to the paragraph above it.
            MarkdownState::Open { .. } if line.indent() > 3 => Some(SeamRank::Item(0)),
            MarkdownState::Open { .. } => Some(SeamRank::Block),
            _ if item => Some(SeamRank::Item(shallowness(line.indent()))),
            _ => Some(SeamRank::Line(u8::from(opens))),
        };
        if let Some(rank) = rank {
            self.report_seam(line, rank);
        }
        self.state = state;
    }

    /// Returns the heading that a line and its underline form.
    fn underlined_heading<'l>(&self, line: &TextLine<'l>, next: &TextLine<'_>) -> Option<(u8, &'l str)> {
        let alone = !matches!(self.state, MarkdownState::Text { .. });
        let level = match next.text.trim_end() {
            below if below.len() > 1 && below.bytes().all(|byte| byte == b'=') => 1,
            below if below.len() > 1 && below.bytes().all(|byte| byte == b'-') => 2,
            _ => return None,
        };
        let plain = !is_item(line)
            && parse_fence(line).is_none()
            && !line.unindented().starts_with(['#', '>', '|', '-', '=']);
        (alone && plain && line.indent() < 4).then_some((level, line.text))
    }

    /// Takes the front matter, if its end comes within the length that stays whole.
    fn take_front_matter<'l>(
        &mut self,
        text: &str,
        rows: &mut std::iter::Peekable<impl Iterator<Item = TextLine<'l>>>,
    ) {
        let fence = rows.peek().map_or("", |line| line.text.trim_end());
        if !matches!(fence, "---" | "+++") {
            return;
        }
        let ends = |line: &TextLine<'_>| {
            line.text.trim_end() == fence || (fence == "---" && line.text.trim_end() == "...")
        };
        let mut behind = text_lines(text)
            .skip(1)
            .take_while(|line| line.start <= self.packer.whole_limit());
        // Without a closing fence, `---` at the top is a rule and no front matter.
        let Some(end) = behind.find(ends) else { return };
        while let Some(line) = rows.next_if(|line| line.start <= end.start) {
            self.report_seam(&line, SeamRank::Inside);
        }
    }
}

/// Returns the heading of a line that begins with hashes.
fn hash_heading<'l>(line: &TextLine<'l>) -> Option<(u8, &'l str)> {
    let inner = line.unindented();
    let title = inner.trim_start_matches('#');
    let level = u8::try_from(inner.len() - title.len()).ok()?;
    let spaced = title.is_empty() || title.starts_with([' ', '\t']);
    let title = title.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && spaced && line.indent() < 4).then_some((level, title))
}

/// Returns the mark of a fence, its count, and whether the rest of the line is empty.
fn parse_fence(line: &TextLine<'_>) -> Option<(u8, usize, bool)> {
    let inner = line.unindented().as_bytes();
    let mark = *inner.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let count = inner.iter().take_while(|byte| **byte == mark).count();
    let rest = inner.get(count..).unwrap_or_default();
    let bare = rest.iter().all(u8::is_ascii_whitespace);
    // Inline code may open with three backticks, too, but closes them on the same line.
    let inline = mark == b'`' && rest.contains(&b'`');
    (count >= 3 && !inline).then_some((mark, count, bare))
}

/// Returns whether a line is the header of a table and the next one its delimiter row.
fn is_table(line: &TextLine<'_>, next: &TextLine<'_>) -> bool {
    let rule = next.text.trim();
    let ruled = rule
        .bytes()
        .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'));
    ruled && rule.contains('|') && rule.contains('-') && line.text.contains('|')
}

fn is_html(line: &TextLine<'_>) -> bool {
    let tag = line.unindented().strip_prefix('<');
    let named =
        |tag: &str| tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
    // `<https://…>` and `<me@…>` are links and open no block.
    let address = |tag: &str| {
        tag.bytes()
            .take_while(|byte| *byte != b'>')
            .any(|byte| matches!(byte, b':' | b'@'))
    };
    line.indent() < 4
        && tag.is_some_and(|tag| named(tag) && !address(tag.split(' ').next().unwrap_or_default()))
}

/// Returns whether a line begins an item of a list.
fn is_item(line: &TextLine<'_>) -> bool {
    let inner = line.unindented();
    let number = inner.bytes().take_while(u8::is_ascii_digit).count();
    let mark = inner.as_bytes().get(number);
    let marked = match mark {
        Some(b'-' | b'*' | b'+') => number == 0,
        Some(b'.' | b')') => (1..10).contains(&number),
        _ => false,
    };
    marked && matches!(inner.as_bytes().get(number + 1), None | Some(b' ' | b'\t'))
}
