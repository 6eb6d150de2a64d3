//! Seams of HTML and XML: before block-level tags, wherever they stand, under the headings of the page.

use super::edge::is_boundary;
use super::line::{Line, lines, shallow};
use super::pack::Packer;
use super::part;
use super::seam::{Rank, Under, heading};

/// Reports the seams of markup.
pub(super) fn scan<'a>(text: &'a str, packer: &mut Packer<'a>) {
    let html = is_html(text);
    let mut scanner = Scanner {
        text,
        packer,
        html,
        under: None,
        kept: None,
        glued: None,
        blank: true,
    };
    for line in lines(text) {
        if line.is_blank() {
            scanner.blank = true;
            continue;
        }
        scanner.line(&line);
        scanner.blank = false;
    }
}

/// How far into a text it is looked at to tell HTML from XML, in bytes.
const LOOK: usize = 4096;
/// The longest name of an element that is looked at, in bytes.
const LONGEST_NAME: usize = 40;
/// The longest heading, with the tags in it, in bytes.
const LONGEST_TITLE: usize = 600;

fn is_html(text: &str) -> bool {
    let look = part(text, 0, text.floor_char_boundary(LOOK)).to_ascii_lowercase();
    let tags = [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<p>",
        "<p ",
        "<div",
        "<h1",
        "<h2",
        "<table",
        "<ul",
    ];
    tags.iter().any(|tag| look.contains(tag))
}

struct Scanner<'p, 'a> {
    text: &'a str,
    packer: &'p mut Packer<'a>,
    html: bool,
    under: Under,
    /// What ends the element or comment that stays whole, if one is open.
    kept: Option<&'static str>,
    /// Where a heading ended, and how far behind it there is nothing but tags and white space.
    glued: Option<(usize, usize)>,
    blank: bool,
}

impl Scanner<'_, '_> {
    fn line(&mut self, line: &Line<'_>) {
        let rank = match (self.kept, self.blank) {
            (Some(_), _) => Rank::Inside,
            (None, true) => Rank::Block,
            (None, false) if line.inner().starts_with("</") => Rank::Line(0),
            (None, false) => Rank::Line(shallow(line.indent())),
        };
        let skipped = line.text.len() - line.inner().len();
        let free = self.kept.is_none();
        if !free || !self.tag(line, skipped, line.start) {
            self.seam(line.start, rank);
        }
        for (at, _) in line
            .text
            .match_indices('<')
            .skip_while(|(at, _)| free && *at <= skipped)
        {
            self.close(part(line.text, at, line.text.len()));
            if self.kept.is_none() {
                self.tag(line, at, line.at + at);
            }
        }
        if self.kept == Some("-->") && line.text.contains("-->") {
            self.kept = None;
        }
    }

    /// Leaves what stays whole where this is its end.
    fn close(&mut self, rest: &str) {
        let ends = |end: &str| {
            rest.get(..end.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(end))
        };
        if self.kept.is_some_and(ends) {
            self.kept = None;
        }
    }

    /// Takes the tag that stands `at` so far in a line, and says whether there is a seam before it, at `place`.
    fn tag(&mut self, line: &Line<'_>, at: usize, place: usize) -> bool {
        let rest = part(line.text, at, line.text.len());
        if rest.starts_with("<!--") {
            self.kept = Some("-->");
            return false;
        }
        let Some(name) = name(rest) else { return false };
        let adjacent = place > line.start && part(line.text, 0, at).ends_with('>');
        let Some(rank) = self.rank(&name, adjacent, line) else {
            return false;
        };
        match level(&name) {
            Some(level) => self.title(place, line.at + at, level, rank),
            None => self.seam(place, rank),
        }
        self.kept = match name.as_str() {
            "pre" => Some("</pre"),
            "script" => Some("</script"),
            "style" => Some("</style"),
            _ => self.kept,
        };
        true
    }

    fn rank(&self, name: &str, adjacent: bool, line: &Line<'_>) -> Option<Rank> {
        match name {
            _ if !self.html => adjacent.then_some(Rank::Line(0)),
            "h1" | "h2" => Some(Rank::Chapter),
            "h3" | "h4" | "h5" | "h6" => Some(Rank::Section),
            "title" | "p" | "div" | "section" | "article" | "main" | "header" | "footer" | "nav"
            | "aside" | "table" | "ul" | "ol" | "dl" | "pre" | "blockquote" | "figure" | "details"
            | "form" | "fieldset" | "script" | "style" | "head" | "body" | "hr" => Some(Rank::Block),
            "li" | "tr" | "dt" | "dd" | "thead" | "tbody" | "option" => {
                Some(Rank::Item(shallow(line.indent())))
            }
            _ => None,
        }
    }

    /// A heading: what follows it stands under it, and stays with it.
    fn title(&mut self, place: usize, tag: usize, level: u8, rank: Rank) {
        let rest = part(self.text, tag, self.text.floor_char_boundary(tag + LONGEST_TITLE));
        let inner = rest.find('>').map_or("", |end| part(rest, end + 1, rest.len()));
        let mut closing = inner.match_indices("</").map(|(at, _)| at);
        let ends = |at: &usize| matches!(inner.as_bytes().get(at + 2), Some(b'h' | b'H' | b't' | b'T'));
        let Some(end) = closing.find(ends) else {
            return self.seam(place, rank);
        };
        let glued = self.is_glued(place);
        self.under = heading(&self.under, level, &plain(part(inner, 0, end)));
        if glued {
            self.packer.put_under(&self.under);
        } else {
            self.seam(place, rank);
        }
        let end = tag + rest.len() - inner.len() + end;
        self.glued = Some((end, end));
    }

    fn seam(&mut self, at: usize, rank: Rank) {
        if !self.is_glued(at) && is_boundary(self.text, at) {
            self.packer.seam(at, rank, &self.under);
        }
    }

    /// Whether there is nothing but tags between a heading and this place.
    fn is_glued(&mut self, at: usize) -> bool {
        let Some((end, from)) = self.glued else {
            return false;
        };
        let bare = at.saturating_sub(end) <= LONGEST_TITLE && plain(part(self.text, from, at)).is_empty();
        let is_tag = self.text.as_bytes().get(at) == Some(&b'<');
        self.glued = bare.then_some((end, if is_tag { at.max(from) } else { from }));
        bare
    }
}

/// The name of the element that a tag opens, in small letters.
fn name(tag: &str) -> Option<String> {
    let inner = tag.strip_prefix('<')?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'_');
    let length = inner.bytes().take_while(is_name).take(LONGEST_NAME).count();
    let opens = inner.starts_with(|first: char| first.is_ascii_alphabetic());
    let ended = matches!(
        inner.as_bytes().get(length),
        None | Some(b' ' | b'\t' | b'\r' | b'>' | b'/')
    );
    (opens && ended).then(|| part(inner, 0, length).to_ascii_lowercase())
}

/// The level of a heading element.
fn level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        b"title" => Some(1),
        _ => None,
    }
}

/// Markup without its tags, every run of white space one space.
fn plain(markup: &str) -> String {
    let mut text = String::new();
    let mut tag = false;
    for character in markup.chars() {
        match character {
            '<' => tag = true,
            '>' if tag => tag = false,
            _ if tag => {}
            white if white.is_whitespace() => {
                if !text.is_empty() && !text.ends_with(' ') {
                    text.push(' ');
                }
            }
            other => text.push(other),
        }
    }
    text.truncate(text.trim_end().len());
    text
}
