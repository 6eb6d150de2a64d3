//! Seams of code: items at the margin, then blank lines inside them, then lines, the least indented first.

use super::line::{Line, lines, shallow};
use super::pack::Packer;
use super::seam::{Rank, Under, heading};

/// Reports the seams of code.
pub(super) fn scan(text: &str, packer: &mut Packer<'_>) {
    let mut item: Under = None;
    let mut before = Before {
        blank: true,
        kind: Kind::Other,
    };
    for line in lines(text) {
        if line.is_blank() {
            before.blank = true;
            continue;
        }
        let kind = kind(&line);
        let margin = line.indent() == 0;
        let starts = margin && !matches!(kind, Kind::Closing | Kind::Opening);
        if starts {
            item = None;
        }
        packer.seam(line.start, rank(&line, kind, before), &item);
        if starts && kind == Kind::Other {
            item = heading(&None, 1, line.text.trim_end().trim_end_matches('{'));
        }
        let ended = margin && kind == Kind::Closing;
        before = Before { blank: ended, kind };
    }
}

/// What stands above a line.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// A blank line, or the end of an item.
    blank: bool,
    /// The last line that is not blank.
    kind: Kind,
}

/// What a line is to the lines around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A comment: it belongs to the line right below it.
    Comment,
    /// An attribute, a decorator, a line of documentation: it belongs to what follows, blank lines or not.
    Attached,
    /// The end of something, or its next branch: it belongs to what is above it.
    Closing,
    /// A brace of its own, which opens what is above it.
    Opening,
    Other,
}

fn kind(line: &Line<'_>) -> Kind {
    const ATTACHED: [&str; 4] = ["#[", "@", "///", "[["];
    const COMMENTS: [&str; 9] = ["//", "# ", "#!", "/*", "* ", "*/", "--", ";;", "%%"];
    let inner = line.inner();
    let begins = |with: &&str| inner.starts_with(*with);
    match inner.as_bytes().first() {
        Some(b'}' | b')' | b']') => Kind::Closing,
        Some(b'{') => Kind::Opening,
        _ if ATTACHED.iter().any(begins) => Kind::Attached,
        _ if inner == "#" || inner == "*" || COMMENTS.iter().any(begins) => Kind::Comment,
        _ if is_branch(inner) => Kind::Closing,
        _ => Kind::Other,
    }
}

/// Whether a line is the end or the next branch of something that began above, in languages of words.
fn is_branch(inner: &str) -> bool {
    const WORDS: [&str; 13] = [
        "end", "else", "elif", "elsif", "except", "finally", "rescue", "ensure", "catch", "fi", "done",
        "esac", "where",
    ];
    let length = inner.bytes().take_while(u8::is_ascii_alphanumeric).count();
    inner.get(..length).is_some_and(|word| WORDS.contains(&word))
}

fn rank(line: &Line<'_>, kind: Kind, before: Before) -> Rank {
    let indent = line.indent();
    match (kind, before.kind) {
        (Kind::Closing | Kind::Opening, _) | (_, Kind::Attached) => Rank::Line(0),
        (_, Kind::Comment) if !before.blank => Rank::Line(0),
        _ if before.blank && indent == 0 => Rank::Section,
        _ if before.blank => Rank::Item(shallow(indent)),
        _ => Rank::Line(shallow(indent)),
    }
}
