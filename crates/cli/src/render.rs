//! Drawers as people read them.

use loci_core::Timestamp;
use loci_engine::view::{DrawerView, defuse_name};

use crate::output::TerminalOutput;
use crate::page::{TextPage, format_count};

/// Writes a drawer with the beginning of its text.
pub(crate) fn write_brief(drawer: &DrawerView, page: &mut TextPage) {
    write_head(drawer, page);
    page.end();
    write_beginning(drawer, page);
}

/// Warns of drawers whose stored bytes are damaged.
pub(crate) fn warn_of_damage<'a>(
    drawers: impl IntoIterator<Item = &'a DrawerView>,
    out: &mut TerminalOutput,
) {
    for drawer in drawers {
        for damage in &drawer.damage {
            out.warn(&format!(
                "the drawer {:?} is damaged: {damage}",
                drawer.id.as_str()
            ));
        }
    }
}

fn write_head(drawer: &DrawerView, page: &mut TextPage) {
    page.bold(drawer.id.as_str());
    let place = format_place(drawer.wing.as_deref(), drawer.room.as_deref());
    if !place.is_empty() {
        page.plain("  ").plain(&place);
    }
    if let Some(time) = drawer.said_at.or(drawer.filed_at) {
        page.plain("  ").dim(&format_minute(time));
    }
    page.plain("  ").dim(drawer.describe_trust());
}

/// `wing / room`, as far as they are set.
pub(crate) fn format_place(wing: Option<&str>, room: Option<&str>) -> String {
    let (wing, room) = (wing.map(defuse_name), room.map(defuse_name));
    match (wing, room) {
        (Some(wing), Some(room)) => format!("{wing} / {room}"),
        (Some(wing), None) => wing.into_owned(),
        (None, Some(room)) => format!("- / {room}"),
        (None, None) => String::new(),
    }
}

/// A time to the minute, in UTC.
pub(crate) fn format_minute(time: Timestamp) -> String {
    let text = time.to_string();
    let to_the_minute: String = text.chars().take(16).collect();
    format!("{} UTC", to_the_minute.replace('T', " "))
}

/// The characters of a text shown in a list.
const SHOWN: usize = 160;

fn write_beginning(drawer: &DrawerView, page: &mut TextPage) {
    let Some(text) = &drawer.text else { return };
    let (shown, more) = shorten_text(text);
    page.plain("    ").plain(&shown);
    if more > 0 {
        page.dim(&format!(" … {}", format_count(more as u64, "more character")));
    }
    page.end();
}

/// The beginning of a text on one line, and how many characters it leaves out.
fn shorten_text(text: &str) -> (String, usize) {
    let shown: String = text
        .chars()
        .take(SHOWN)
        .map(|c| if c == '\n' { ' ' } else { c })
        .collect();
    (shown, text.chars().count().saturating_sub(SHOWN))
}

/// A number of drawers, in words.
pub(crate) fn count_drawers(number: u64) -> String {
    format_count(number, "drawer")
}

/// Prints files and parts under a heading, if there are any.
pub(crate) fn print_parts<'p>(what: &str, parts: impl Iterator<Item = &'p str>, page: &mut TextPage) {
    for (n, part) in parts.enumerate() {
        if n == 0 {
            page.dim(what).plain(":").end();
        }
        page.plain("  ").plain(part).end();
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{Drawer, DrawerId};

    use super::*;

    fn drawer() -> DrawerView {
        let mut drawer = Drawer::with_id_only(DrawerId::new("a\nb").unwrap());
        drawer.document = Some("one\ntwo \u{202e}".into());
        drawer.place.wing = Some("work".into());
        drawer.place.room = Some("plans".into());
        drawer.filed_at = Some("2026-05-01T09:30:12.5Z".parse().unwrap());
        drawer.into()
    }

    #[test]
    fn a_drawer_in_words_is_compact_and_escaped() {
        let mut page = TextPage::new(false);
        write_brief(&drawer(), &mut page);
        assert_eq!(
            page.as_str(),
            "a\\nb  work / plans  2026-05-01 09:30 UTC  trust unknown\n    one two \\u{202e}\n"
        );
    }

    #[test]
    fn a_text_that_is_cut_says_so() {
        let (shown, more) = shorten_text(&"抽".repeat(200));
        assert_eq!((shown.chars().count(), more), (160, 40));
        assert_eq!(shorten_text("short"), ("short".to_owned(), 0));
    }
}
