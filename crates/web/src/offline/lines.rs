//! Drawers as lines of JSON that no text in them can end, in blocks of a bounded size.

use std::fmt::Write as _;

use loci_core::{DrawerId, Metadata, Provenance, SourceSpan, Timestamp};
use loci_engine::invisible::is_invisible;
use loci_engine::view::{DrawerView, TrustMark};
use serde::Serialize;

/// The size at which a block is written. A reader parses one block at a time, without its page coming to a halt.
const BLOCK_BYTES: usize = 256 << 10;

/// A drawer as the page holds it: the fields of [`DrawerView`], without those that have no value.
#[derive(Debug, Serialize)]
pub(super) struct OfflineDrawer<'a> {
    id: &'a DrawerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SourceSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    said_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filed_at: Option<Timestamp>,
    trust: TrustMark,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    damage: &'a [String],
}

impl<'a> From<&'a DrawerView> for OfflineDrawer<'a> {
    fn from(drawer: &'a DrawerView) -> Self {
        Self {
            id: &drawer.id,
            text: drawer.text.as_deref(),
            wing: drawer.wing.as_deref(),
            room: drawer.room.as_deref(),
            source: drawer.source.as_deref(),
            span: drawer.span,
            speaker: drawer.speaker.as_deref(),
            kind: drawer.kind.as_deref(),
            said_at: drawer.said_at,
            filed_at: drawer.filed_at,
            trust: drawer.trust,
            provenance: drawer.provenance.as_ref(),
            metadata: drawer.metadata.as_ref().filter(|metadata| !metadata.is_empty()),
            damage: &drawer.damage,
        }
    }
}

/// Gathers lines until they fill a block.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    block: String,
}

impl BlockWriter {
    /// Adds a drawer, and returns the block if that is full.
    pub(super) fn add(&mut self, drawer: &OfflineDrawer<'_>) -> Option<String> {
        self.block.push_str(if self.block.is_empty() {
            "<script type=\"application/json\" class=\"drawers\">[\n"
        } else {
            ",\n"
        });
        push_json(drawer, &mut self.block);
        if self.block.len() < BLOCK_BYTES {
            return None;
        }
        self.finish()
    }

    /// Returns the block that is not full, if there is one.
    pub(super) fn finish(&mut self) -> Option<String> {
        if self.block.is_empty() {
            return None;
        }
        self.block.push_str("\n]</script>\n");
        Some(std::mem::take(&mut self.block))
    }
}

/// Appends a value as JSON on one line, in which nothing can be taken for HTML, and nothing controls or is unseen.
pub(super) fn push_json(value: &impl Serialize, page: &mut String) {
    let json = serde_json::to_string(value).expect("drawers and names can be written as JSON");
    let mut plain = 0;
    // All of these characters are in strings, so that an escape means the same as the character.
    for (at, c) in json.char_indices() {
        if !(matches!(c, '<' | '>' | '&') || is_unseen(c)) {
            continue;
        }
        page.push_str(json.get(plain..at).unwrap_or_default());
        plain = at + c.len_utf8();
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(page, "\\u{unit:04x}");
        }
    }
    page.push_str(json.get(plain..).unwrap_or_default());
}

/// Returns whether a page shows a character by its code; line breaks and tabs are shown as they are in blocks of lines.
fn is_unseen(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Returns the ranges of all characters that a page shows by their code.
pub(super) fn list_unseen_ranges() -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for code in ('\0'..=char::MAX).filter(|c| is_unseen(*c)).map(u32::from) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => ranges.push((code, code)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_string_ends_the_block_and_all_of_it_comes_back() {
        let hostile =
            "</script><!--<script>]]>&amp;\u{2028}\u{202e}\0\u{7f}\u{85}\u{1b}[2J\u{e0041}\"'\\u003c é 抽";
        let mut page = String::new();
        push_json(&hostile, &mut page);
        assert!(
            page.chars()
                .all(|c| !matches!(c, '<' | '>' | '&') && !is_unseen(c)),
            "{page}"
        );
        assert_eq!(serde_json::from_str::<String>(&page).unwrap(), hostile);
    }

    #[test]
    fn the_ranges_are_exactly_the_characters_that_are_shown_by_their_code() {
        let ranges = list_unseen_ranges();
        for c in '\0'..=char::MAX {
            let code = u32::from(c);
            let is_listed = ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&code));
            assert_eq!(is_listed, is_unseen(c), "{c:?}");
        }
        assert!(ranges.is_sorted() && ranges.len() < 40, "{ranges:?}");
    }

    #[test]
    fn a_block_ends_when_it_is_full_and_the_rest_is_not_forgotten() {
        let mut drawer = DrawerView::from(loci_core::Drawer::with_id_only(DrawerId::new("a").unwrap()));
        drawer.text = Some("x".repeat(BLOCK_BYTES / 2));
        let (mut blocks, line) = (BlockWriter::default(), OfflineDrawer::from(&drawer));
        assert!(blocks.add(&line).is_none());
        let block = blocks.add(&line).unwrap();
        assert!(block.starts_with("<script ") && block.ends_with("\n]</script>\n"));
        assert!(blocks.finish().is_none());
        assert!(blocks.add(&line).is_none());
        assert!(blocks.finish().is_some() && blocks.finish().is_none());
    }
}
