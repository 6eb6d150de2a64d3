//! Seams of code: items at the margin, then blank lines inside items, then lines, the least indented first.

use super::line::{TextLine, shallowness, text_lines};
use super::pack::PiecePacker;
use super::seam::{EnclosingHeading, SeamRank, nest_heading};

/// Reports the seams of code.
pub(super) fn scan_code(text: &str, packer: &mut PiecePacker<'_>) {
    let mut item: EnclosingHeading = None;
    let mut before = LineContext {
        blank: true,
        kind: CodeLineKind::Other,
    };
    for line in text_lines(text) {
        if line.is_blank() {
            before.blank = true;
            continue;
        }
        let kind = classify_line(&line);
        let margin = line.indent() == 0;
        let starts = margin && !matches!(kind, CodeLineKind::Closing | CodeLineKind::Opening);
        if starts {
            item = None;
        }
        packer.add_seam(line.start, rank_code_line(&line, kind, before), &item);
        if starts && kind == CodeLineKind::Other {
            item = nest_heading(&None, 1, line.text.trim_end().trim_end_matches('{'));
        }
        // After a closing brace at the margin a new item may begin without a blank line between them.
        let ended = margin && kind == CodeLineKind::Closing;
        before = LineContext { blank: ended, kind };
    }
}

/// The context above a line.
#[derive(Debug, Clone, Copy)]
struct LineContext {
    /// Whether a blank line or the end of an item is above.
    blank: bool,
    /// The kind of the last line that is not blank.
    kind: CodeLineKind,
}

/// The relation of a line to the lines around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeLineKind {
    /// A comment, which belongs to the line right below it.
    Comment,
    /// An attribute, a decorator or a line of documentation, which belongs to the item below, blank lines or not.
    Attached,
    /// The end or next branch of a block, which belongs to the lines above it.
    Closing,
    /// A brace on a line of its own, which opens the body of the line above it.
    Opening,
    Other,
}

fn classify_line(line: &TextLine<'_>) -> CodeLineKind {
    const ATTACHED: [&str; 4] = ["#[", "@", "///", "[["];
    const COMMENTS: [&str; 9] = ["//", "# ", "#!", "/*", "* ", "*/", "--", ";;", "%%"];
    let inner = line.unindented();
    let begins = |with: &&str| inner.starts_with(*with);
    match inner.as_bytes().first() {
        Some(b'}' | b')' | b']') => CodeLineKind::Closing,
        Some(b'{') => CodeLineKind::Opening,
        _ if ATTACHED.iter().any(begins) => CodeLineKind::Attached,
        _ if inner == "#" || inner == "*" || COMMENTS.iter().any(begins) => CodeLineKind::Comment,
        _ if is_branch(inner) => CodeLineKind::Closing,
        _ => CodeLineKind::Other,
    }
}

/// Returns whether a line is the end or next branch of a block in languages that use words for these.
fn is_branch(inner: &str) -> bool {
    const WORDS: [&str; 13] = [
        "end", "else", "elif", "elsif", "except", "finally", "rescue", "ensure", "catch", "fi", "done",
        "esac", "where",
    ];
    let length = inner.bytes().take_while(u8::is_ascii_alphanumeric).count();
    inner.get(..length).is_some_and(|word| WORDS.contains(&word))
}

fn rank_code_line(line: &TextLine<'_>, kind: CodeLineKind, before: LineContext) -> SeamRank {
    let indent = line.indent();
    match (kind, before.kind) {
        (CodeLineKind::Closing | CodeLineKind::Opening, _) | (_, CodeLineKind::Attached) => SeamRank::Line(0),
        (_, CodeLineKind::Comment) if !before.blank => SeamRank::Line(0),
        _ if before.blank && indent == 0 => SeamRank::Section,
        _ if before.blank => SeamRank::Item(shallowness(indent)),
        _ => SeamRank::Line(shallowness(indent)),
    }
}
