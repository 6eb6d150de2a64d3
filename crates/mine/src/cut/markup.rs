//! Seams of HTML and XML: before block-level tags, even within a line, under the headings of the page.

use super::edge::is_boundary;
use super::line::{TextLine, shallowness, text_lines};
use super::pack::PiecePacker;
use super::seam::{EnclosingHeading, SeamRank, nest_heading};
use super::slice_text;

/// Reports the seams of markup.
pub(super) fn scan_markup<'a>(text: &'a str, packer: &mut PiecePacker<'a>) {
    let html = is_html(text);
    let mut scanner = MarkupScanner {
        text,
        packer,
        html,
        under: None,
        kept: None,
        glued: None,
        blank: true,
    };
    for line in text_lines(text) {
        if line.is_blank() {
            scanner.blank = true;
            continue;
        }
        scanner.take_line(&line);
        scanner.blank = false;
    }
}

/// The number of bytes examined to tell HTML from XML.
const LOOK: usize = 4096;
/// The length limit of an element's name, in bytes.
const LONGEST_NAME: usize = 40;
/// The length limit of a heading with its tags, in bytes.
const LONGEST_TITLE: usize = 600;

fn is_html(text: &str) -> bool {
    let look = slice_text(text, 0, text.floor_char_boundary(LOOK)).to_ascii_lowercase();
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

struct MarkupScanner<'p, 'a> {
    text: &'a str,
    packer: &'p mut PiecePacker<'a>,
    html: bool,
    under: EnclosingHeading,
    /// The end mark of the open element or comment that stays whole.
    kept: Option<&'static str>,
    /// The end of the last heading, and the offset up to which only tags and white space follow it.
    glued: Option<(usize, usize)>,
    blank: bool,
}

impl MarkupScanner<'_, '_> {
    fn take_line(&mut self, line: &TextLine<'_>) {
        let rank = match (self.kept, self.blank) {
            (Some(_), _) => SeamRank::Inside,
            (None, true) => SeamRank::Block,
            (None, false) if line.unindented().starts_with("</") => SeamRank::Line(0),
            (None, false) => SeamRank::Line(shallowness(line.indent())),
        };
        let skipped = line.text.len() - line.unindented().len();
        let free = self.kept.is_none();
        // A tag after the indentation gets its seam at the start of the line, so that indentation stays with
        // its tag.
        if !free || !self.take_tag(line, skipped, line.start) {
            self.report_seam(line.start, rank);
        }
        for (at, _) in line
            .text
            .match_indices('<')
            .skip_while(|(at, _)| free && *at <= skipped)
        {
            self.close_kept_element(slice_text(line.text, at, line.text.len()));
            if self.kept.is_none() {
                self.take_tag(line, at, line.at + at);
            }
        }
        // Other end marks begin with `<` and are found by the loop above; the end of a comment does not.
        if self.kept == Some("-->") && line.text.contains("-->") {
            self.kept = None;
        }
    }

    /// Closes the element that stays whole if `rest` begins with its end mark.
    fn close_kept_element(&mut self, rest: &str) {
        let ends = |end: &str| {
            rest.get(..end.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(end))
        };
        if self.kept.is_some_and(ends) {
            self.kept = None;
        }
    }

    /// Takes the tag at offset `at` of a line, and returns whether it made a seam at `place`.
    fn take_tag(&mut self, line: &TextLine<'_>, at: usize, place: usize) -> bool {
        let rest = slice_text(line.text, at, line.text.len());
        if rest.starts_with("<!--") {
            self.kept = Some("-->");
            return false;
        }
        let Some(name) = element_name(rest) else {
            return false;
        };
        let adjacent = place > line.start && slice_text(line.text, 0, at).ends_with('>');
        let Some(rank) = self.rank_tag(&name, adjacent, line) else {
            return false;
        };
        match heading_level(&name) {
            Some(level) => self.take_heading(place, line.at + at, level, rank),
            None => self.report_seam(place, rank),
        }
        self.kept = match name.as_str() {
            "pre" => Some("</pre"),
            "script" => Some("</script"),
            "style" => Some("</style"),
            _ => self.kept,
        };
        true
    }

    fn rank_tag(&self, name: &str, adjacent: bool, line: &TextLine<'_>) -> Option<SeamRank> {
        match name {
            // XML has no known block elements; between two adjacent tags is the safest place to cut.
            _ if !self.html => adjacent.then_some(SeamRank::Line(0)),
            "h1" | "h2" => Some(SeamRank::Chapter),
            "h3" | "h4" | "h5" | "h6" => Some(SeamRank::Section),
            "title" | "p" | "div" | "section" | "article" | "main" | "header" | "footer" | "nav"
            | "aside" | "table" | "ul" | "ol" | "dl" | "pre" | "blockquote" | "figure" | "details"
            | "form" | "fieldset" | "script" | "style" | "head" | "body" | "hr" => Some(SeamRank::Block),
            "li" | "tr" | "dt" | "dd" | "thead" | "tbody" | "option" => {
                Some(SeamRank::Item(shallowness(line.indent())))
            }
            _ => None,
        }
    }

    /// Takes a heading: the text after it is under it and stays with it.
    fn take_heading(&mut self, place: usize, tag: usize, level: u8, rank: SeamRank) {
        let rest = slice_text(self.text, tag, self.text.floor_char_boundary(tag + LONGEST_TITLE));
        let inner = rest
            .find('>')
            .map_or("", |end| slice_text(rest, end + 1, rest.len()));
        let mut closing = inner.match_indices("</").map(|(at, _)| at);
        let ends = |at: &usize| matches!(inner.as_bytes().get(at + 2), Some(b'h' | b'H' | b't' | b'T'));
        let Some(end) = closing.find(ends) else {
            return self.report_seam(place, rank);
        };
        // Asked before the heading changes what is glued: a heading right after another shares its piece.
        let glued = self.is_glued(place);
        self.under = nest_heading(&self.under, level, &strip_tags(slice_text(inner, 0, end)));
        if glued {
            self.packer.retitle_last_seam(&self.under);
        } else {
            self.report_seam(place, rank);
        }
        let end = tag + rest.len() - inner.len() + end;
        self.glued = Some((end, end));
    }

    fn report_seam(&mut self, at: usize, rank: SeamRank) {
        if !self.is_glued(at) && is_boundary(self.text, at) {
            self.packer.add_seam(at, rank, &self.under);
        }
    }

    /// Returns whether there are only tags and white space between the last heading and this place.
    fn is_glued(&mut self, at: usize) -> bool {
        let Some((end, from)) = self.glued else {
            return false;
        };
        // Without the bound, a long run of tags after a heading would have no seam to cut at.
        let bare =
            at.saturating_sub(end) <= LONGEST_TITLE && strip_tags(slice_text(self.text, from, at)).is_empty();
        let is_tag = self.text.as_bytes().get(at) == Some(&b'<');
        self.glued = bare.then_some((end, if is_tag { at.max(from) } else { from }));
        bare
    }
}

/// Returns the name of the element that a tag opens, in lower case.
fn element_name(tag: &str) -> Option<String> {
    let inner = tag.strip_prefix('<')?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'_');
    let length = inner.bytes().take_while(is_name).take(LONGEST_NAME).count();
    let opens = inner.starts_with(|first: char| first.is_ascii_alphabetic());
    let ended = matches!(
        inner.as_bytes().get(length),
        None | Some(b' ' | b'\t' | b'\r' | b'>' | b'/')
    );
    (opens && ended).then(|| slice_text(inner, 0, length).to_ascii_lowercase())
}

/// Returns the level of a heading element.
fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        b"title" => Some(1),
        _ => None,
    }
}

/// Returns markup without its tags, with white space collapsed.
fn strip_tags(markup: &str) -> String {
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
