//! The place of a drawer, from the metadata that MemPalace writes.

use loci_core::{DrawerPlace, Metadata, MetadataValue, Timestamp};

/// Parses a time as MemPalace and SQLite write it; without an offset it is UTC.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Returns the place of a drawer from Loci's own keys, or else from those that MemPalace writes.
pub fn place_from_metadata(metadata: &Metadata) -> DrawerPlace {
    let mut place = DrawerPlace::default().complete_from(metadata).unwrap_or_default();
    let named = |keys: &[&str]| {
        let mut found = keys
            .iter()
            .filter_map(|key| metadata.get(key).and_then(MetadataValue::as_text));
        found.find(|text| !text.is_empty()).map(str::to_owned)
    };
    place.source = place.source.or_else(|| named(&["source_file"]));
    place.speaker = place.speaker.or_else(|| named(&["role"]));
    let said = || named(&["authored_at", "timestamp", "content_date", "date"]);
    place.said_at = place.said_at.or_else(|| said().as_deref().and_then(parse_time));
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_understood_from_mempalaces_keys() {
        let metadata = Metadata::new()
            .with_entry("wing", "kansas")
            .with_entry("room", "farm")
            .with_entry("source_file", "/oz/ch1.txt")
            .with_entry("authored_at", "2025-01-04T10:00:00");
        let place = place_from_metadata(&metadata);
        assert_eq!(place.wing.as_deref(), Some("kansas"));
        assert_eq!(place.source.as_deref(), Some("/oz/ch1.txt"));
        assert_eq!(place.said_at, parse_time("2025-01-04T10:00:00Z"));
    }

    #[test]
    fn the_houses_own_keys_come_first() {
        let metadata = Metadata::new()
            .with_entry("source", "a")
            .with_entry("source_file", "b")
            .with_entry("said_at", "2020-01-01");
        let place = place_from_metadata(&metadata.with_entry("timestamp", "2021-01-01"));
        assert_eq!(place.source.as_deref(), Some("a"));
        assert_eq!(place.said_at, parse_time("2020-01-01"));
    }

    #[test]
    fn times_are_read_as_sqlite_and_python_write_them() {
        assert!(parse_time("2026-11-16 09:36:43").is_some());
        assert!(parse_time("2026-11-16T09:36:43.123456").is_some());
        assert!(parse_time("yesterday").is_none());
    }
}
