//! Seams of configuration (JSON, YAML, TOML, INI): tables and top-level keys, then lines, the least indented first.

use super::line::{TextLine, shallowness, text_lines};
use super::pack::PiecePacker;
use super::seam::{EnclosingHeading, SeamRank, nest_heading};

/// Reports the seams of configuration.
pub(super) fn scan_config(text: &str, packer: &mut PiecePacker<'_>) {
    let base = top_level_indent(text);
    let mut under: EnclosingHeading = None;
    let (mut blank, mut comment) = (true, false);
    for line in text_lines(text) {
        let inner = line.unindented();
        if inner.is_empty() {
            blank = true;
            continue;
        }
        let top = line.indent() <= base && !inner.starts_with(['}', ']', ')']);
        // In JSON, where the keys are indented, a `[` opens an array and no table.
        let table = top && base == 0 && inner.starts_with('[');
        // A key of a TOML or INI table is at the margin as well, but stays under its table until the next one
        // begins.
        if top && (table || !is_under_table(&under)) {
            under = None;
        }
        packer.add_seam(
            line.start,
            rank_config_line(&line, top, table || (blank && base == 0), blank, comment),
            &under,
        );
        comment = inner.starts_with(['#', ';']) || inner.starts_with("//");
        if table {
            under = nest_heading(&None, TABLE, inner);
        } else if top && !comment && !is_under_table(&under) {
            under = nest_heading(&None, KEY, inner);
        }
        blank = false;
    }
}

const TABLE: u8 = 1;
const KEY: u8 = 2;

fn is_under_table(under: &EnclosingHeading) -> bool {
    under.as_ref().is_some_and(|heading| heading.level() == TABLE)
}

fn rank_config_line(line: &TextLine<'_>, top: bool, group: bool, blank: bool, comment: bool) -> SeamRank {
    match (top, line.unindented().as_bytes().first()) {
        // A comment is about the line right below it, so they stay together.
        _ if comment && !blank => SeamRank::Line(0),
        (true, _) if group => SeamRank::Section,
        (true, _) => SeamRank::Block,
        (false, Some(b'}' | b']' | b')')) => SeamRank::Line(0),
        _ if blank => SeamRank::Item(shallowness(line.indent())),
        _ => SeamRank::Line(shallowness(line.indent())),
    }
}

/// Returns the indentation of the top-level keys: none, except one step in JSON.
fn top_level_indent(text: &str) -> usize {
    let mut filled = text_lines(text).filter(|line| !line.is_blank());
    let is_json = |line: &TextLine<'_>| matches!(line.text.trim(), "{" | "[" | "[{");
    match filled.next() {
        Some(first) if is_json(&first) => filled.next().map_or(0, |second| second.indent()),
        _ => 0,
    }
}
