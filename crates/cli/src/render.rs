//! Drawers as people see them.

use loci_core::Timestamp;
use loci_engine::view::{DrawerView, HitView};

use crate::output::Output;
use crate::page::Page;

/// Sets down a drawer with its whole text.
pub(crate) fn whole(drawer: &DrawerView, page: &mut Page) {
    head(drawer, page);
    page.end();
    details(drawer, page);
    if let Some(text) = &drawer.text {
        page.block("    ", text);
    }
}

/// Sets down a drawer with the beginning of its text.
pub(crate) fn brief(drawer: &DrawerView, page: &mut Page) {
    head(drawer, page);
    page.end();
    beginning(drawer, page);
}

/// Sets down a hit with the beginning of its text.
pub(crate) fn hit(hit: &HitView, page: &mut Page) {
    head(&hit.drawer, page);
    page.plain("  ").dim(&measure(hit)).end();
    beginning(&hit.drawer, page);
}

/// The measure of a hit in words. A score next to nothing, as in a palace of a few drawers, says nothing and is left out.
fn measure(hit: &HitView) -> String {
    match hit.distance {
        Some(distance) => format!("distance {distance:.4}"),
        None if hit.score < 0.001 => String::new(),
        None => format!("score {:.4}", hit.score),
    }
}

/// Warns of drawers whose stored bytes are damaged.
pub(crate) fn warn_of_damage<'a>(drawers: impl IntoIterator<Item = &'a DrawerView>, out: &mut Output) {
    for drawer in drawers {
        for damage in &drawer.damage {
            out.warn(&format!(
                "the drawer {:?} is damaged: {damage}",
                drawer.id.as_str()
            ));
        }
    }
}

fn head(drawer: &DrawerView, page: &mut Page) {
    page.bold(drawer.id.as_str());
    let place = place(drawer.wing.as_deref(), drawer.room.as_deref());
    if !place.is_empty() {
        page.plain("  ").plain(&place);
    }
    if let Some(time) = drawer.said_at.or(drawer.filed_at) {
        page.plain("  ").dim(&moment(time));
    }
}

/// `wing / room`, as far as they are set.
pub(crate) fn place(wing: Option<&str>, room: Option<&str>) -> String {
    match (wing, room) {
        (Some(wing), Some(room)) => format!("{wing} / {room}"),
        (Some(wing), None) => wing.to_owned(),
        (None, Some(room)) => format!("- / {room}"),
        (None, None) => String::new(),
    }
}

/// A time to the minute, in UTC.
pub(crate) fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let to_the_minute: String = text.chars().take(16).collect();
    format!("{} UTC", to_the_minute.replace('T', " "))
}

fn details(drawer: &DrawerView, page: &mut Page) {
    if let Some(source) = &drawer.source {
        page.plain("  ").dim("source ").plain(source);
        if let Some(span) = &drawer.span {
            page.plain(&format!(" lines {} to {}", span.line_start, span.line_end));
        }
        page.end();
    }
    for (name, value) in [("speaker ", &drawer.speaker), ("kind ", &drawer.kind)] {
        if let Some(value) = value {
            page.plain("  ").dim(name).plain(value).end();
        }
    }
    if let Some(metadata) = drawer.metadata.as_ref().filter(|metadata| !metadata.is_empty()) {
        let json = serde_json::to_string(metadata).unwrap_or_default();
        page.plain("  ").dim("metadata ").plain(&json).end();
    }
    if let Some(Some(vector)) = &drawer.embedding {
        let json = serde_json::to_string(vector).unwrap_or_default();
        page.plain("  ").dim("embedding ").plain(&json).end();
    }
    if let Some(place) = drawer.vector_from {
        page.plain("  ").dim("vector from ").plain(place).end();
    }
}

/// How much of a text is shown where it is only listed, in characters.
const SHOWN: usize = 160;

fn beginning(drawer: &DrawerView, page: &mut Page) {
    let Some(text) = &drawer.text else { return };
    let (shown, more) = shorten(text);
    page.plain("    ").plain(&shown);
    if more > 0 {
        page.dim(&format!(" … {more} more characters"));
    }
    page.end();
}

/// The beginning of a text on one line, and how many characters it leaves out.
fn shorten(text: &str) -> (String, usize) {
    let shown: String = text
        .chars()
        .take(SHOWN)
        .map(|c| if c == '\n' { ' ' } else { c })
        .collect();
    (shown, text.chars().count().saturating_sub(SHOWN))
}

/// So many drawers, in words.
pub(crate) fn drawers(number: u64) -> String {
    crate::page::counted(number, "drawer")
}

#[cfg(test)]
mod tests {
    use loci_core::{Drawer, DrawerId, Metadata};

    use super::*;

    fn drawer() -> DrawerView {
        let mut drawer = Drawer::bare(DrawerId::new("a\nb").unwrap());
        drawer.document = Some("one\ntwo \u{202e}".into());
        drawer.metadata = Some(Metadata::new().with("n", 3_i64));
        drawer.place.wing = Some("work".into());
        drawer.place.room = Some("plans".into());
        drawer.filed_at = Some("2026-05-01T09:30:12.5Z".parse().unwrap());
        drawer.into()
    }

    #[test]
    fn a_drawer_in_words_is_compact_and_escaped() {
        let mut page = Page::new(false);
        brief(&drawer(), &mut page);
        whole(&drawer(), &mut page);
        assert_eq!(
            page.as_str(),
            "a\\nb  work / plans  2026-05-01 09:30 UTC\n    one two \\u{202e}\n\
             a\\nb  work / plans  2026-05-01 09:30 UTC\n  metadata {\"n\":3}\n    one\n    two \\u{202e}\n"
        );
    }

    #[test]
    fn a_text_that_is_cut_says_so() {
        let (shown, more) = shorten(&"抽".repeat(200));
        assert_eq!((shown.chars().count(), more), (160, 40));
        assert_eq!(shorten("short"), ("short".to_owned(), 0));
    }
}
