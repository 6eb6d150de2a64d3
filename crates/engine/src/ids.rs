//! Ids derived from content, so that the same input twice gives the same palace.

use loci_core::{DrawerId, DrawerPlace};

/// Derives the id of a drawer that was filed without one: from source, span and text, or without a source from
/// wing, room and text.
///
/// The same input always gives the same id. `place` must be completed from the metadata first.
pub fn derive_id(place: &DrawerPlace, document: &str) -> DrawerId {
    let mut hasher = blake3::Hasher::new();
    match &place.source {
        Some(source) => {
            // With a source the shelf does not count, so that a drawer moved to another wing is not filed again.
            hasher.update(b"source");
            hash_text(&mut hasher, Some(source));
            hash_number(&mut hasher, place.span.map(|span| span.start));
            hash_number(&mut hasher, place.span.map(|span| span.end));
        }
        None => {
            hasher.update(b"place!");
            hash_text(&mut hasher, place.wing.as_deref());
            hash_text(&mut hasher, place.room.as_deref());
        }
    }
    hash_text(&mut hasher, Some(document));
    let hex: String = hasher.finalize().to_hex().chars().take(32).collect();
    DrawerId::new(hex).expect("32 hex characters are an id")
}

/// Hashes the length before the text, so that different lists of texts never hash alike; a missing text differs
/// from an empty one.
fn hash_text(hasher: &mut blake3::Hasher, text: Option<&str>) {
    hash_number(hasher, text.map(|text| text.len() as u64));
    hasher.update(text.unwrap_or_default().as_bytes());
}

fn hash_number(hasher: &mut blake3::Hasher, number: Option<u64>) {
    hasher.update(&number.unwrap_or(u64::MAX).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::SourceSpan;
    use std::collections::BTreeSet;

    fn place(
        wing: Option<&str>,
        room: Option<&str>,
        source: Option<&str>,
        start: Option<u64>,
    ) -> DrawerPlace {
        DrawerPlace {
            wing: wing.map(Into::into),
            room: room.map(Into::into),
            source: source.map(Into::into),
            span: start.map(|start| SourceSpan {
                start,
                end: start + 9,
                line_start: 1,
                line_end: 1,
            }),
            ..DrawerPlace::default()
        }
    }

    #[test]
    fn the_same_input_twice_is_the_same_id() {
        let place = place(Some("w"), None, None, None);
        assert_eq!(derive_id(&place, "text"), derive_id(&place, "text"));
        let id = derive_id(&DrawerPlace::default(), "");
        assert_eq!(id.as_str().len(), 32);
        assert!(
            id.as_str()
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        );
    }

    #[test]
    fn what_differs_has_another_id() {
        let ids: BTreeSet<_> = [
            derive_id(&place(None, None, None, None), "ab"),
            derive_id(&place(Some(""), None, None, None), "ab"),
            derive_id(&place(Some("a"), Some("b"), None, None), "ab"),
            derive_id(&place(Some("ab"), None, None, None), "ab"),
            derive_id(&place(Some("ab"), Some(""), None, None), "ab"),
            derive_id(&place(None, None, Some("s"), None), "ab"),
            derive_id(&place(None, None, Some("s"), Some(0)), "ab"),
            derive_id(&place(None, None, Some("s"), Some(1)), "ab"),
            derive_id(&place(None, None, Some("sa"), None), "b"),
        ]
        .into();
        assert_eq!(ids.len(), 9);
    }

    #[test]
    fn with_a_source_the_shelf_does_not_matter() {
        let here = place(Some("a"), Some("b"), Some("file.md"), Some(3));
        let there = place(Some("c"), None, Some("file.md"), Some(3));
        assert_eq!(derive_id(&here, "x"), derive_id(&there, "x"));
    }

    #[test]
    fn ids_stay_the_same_over_releases() {
        assert_eq!(
            derive_id(&place(Some("work"), Some("plans"), None, None), "Ship it.").as_str(),
            "533da3687d741789776f6929b2c70fce"
        );
        assert_eq!(
            derive_id(&place(None, None, Some("notes.md"), Some(7)), "Ship it.").as_str(),
            "d52ef1cb86ee4576c3465aec9b09ab07"
        );
    }
}
