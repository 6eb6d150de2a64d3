//! Seams of configuration (JSON, YAML, TOML, INI): tables and top-level keys, then the least indented lines.

use super::line::{Line, lines, shallow};
use super::pack::Packer;
use super::seam::{Rank, Under, heading};

/// Reports the seams of configuration.
pub(super) fn scan(text: &str, packer: &mut Packer<'_>) {
    let base = base(text);
    let mut under: Under = None;
    let (mut blank, mut comment) = (true, false);
    for line in lines(text) {
        let inner = line.inner();
        if inner.is_empty() {
            blank = true;
            continue;
        }
        let top = line.indent() <= base && !inner.starts_with(['}', ']', ')']);
        let table = top && base == 0 && inner.starts_with('[');
        if top && (table || !under_table(&under)) {
            under = None;
        }
        packer.seam(
            line.start,
            rank(&line, top, table || (blank && base == 0), blank, comment),
            &under,
        );
        comment = inner.starts_with(['#', ';']) || inner.starts_with("//");
        if table {
            under = heading(&None, TABLE, inner);
        } else if top && !comment && !under_table(&under) {
            under = heading(&None, KEY, inner);
        }
        blank = false;
    }
}

const TABLE: u8 = 1;
const KEY: u8 = 2;

fn under_table(under: &Under) -> bool {
    under.as_ref().is_some_and(|heading| heading.level() == TABLE)
}

fn rank(line: &Line<'_>, top: bool, group: bool, blank: bool, comment: bool) -> Rank {
    match (top, line.inner().as_bytes().first()) {
        // What stands right below a comment is what it is about.
        _ if comment && !blank => Rank::Line(0),
        (true, _) if group => Rank::Section,
        (true, _) => Rank::Block,
        (false, Some(b'}' | b']' | b')')) => Rank::Line(0),
        _ if blank => Rank::Item(shallow(line.indent())),
        _ => Rank::Line(shallow(line.indent())),
    }
}

/// How far the keys of the top level are indented: not at all, but in JSON one step.
fn base(text: &str) -> usize {
    let mut filled = lines(text).filter(|line| !line.is_blank());
    let is_json = |line: &Line<'_>| matches!(line.text.trim(), "{" | "[" | "[{");
    match filled.next() {
        Some(first) if is_json(&first) => filled.next().map_or(0, |second| second.indent()),
        _ => 0,
    }
}
