//! Attributes as bytes: equal values have equal bytes, and bytes compare as the values do.
//!
//! Each attribute of a drawer that has no column of its own is one entry: sixteen bytes that stand for its key, whether
//! it is a member of a list, and its value. An inverted index finds entries by equality.

use loci_core::{Drawer, DrawerPlace, MetadataScalar, MetadataValue};

/// The longest text that an entry holds whole. Of a longer one it holds the beginning and a hash, which still answers
/// equality.
pub(crate) const LONGEST_TEXT: usize = 200;

/// The first byte of a value; values of different families never meet.
const BOOL: u8 = b'b';
const NUMBER: u8 = b'n';
const TEXT: u8 = b't';

/// Returns the entries of a drawer that holds its metadata: the values that [`Drawer::attribute`] and
/// [`Drawer::list_members`] give and that no column holds.
pub(crate) fn list_entries(drawer: &Drawer) -> Vec<Vec<u8>> {
    let metadata = drawer.metadata.iter().flat_map(|metadata| metadata.iter());
    let mut entries = Vec::new();
    for (key, value) in metadata {
        match value {
            MetadataValue::One(scalar) if !has_column_value(drawer, key) => {
                entries.push(single_entry(key, scalar));
            }
            MetadataValue::One(_) => {}
            MetadataValue::Many(_) => {
                let members = drawer.list_members(key);
                entries.extend(members.iter().map(|member| member_entry(key, member)));
            }
        }
    }
    // Each once: a list may hold a value twice.
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// Returns whether a column holds the value that filters compare under `key`.
fn has_column_value(drawer: &Drawer, key: &str) -> bool {
    match key {
        "filed_at" => true,
        "said_at" => drawer.place.said_at.is_some(),
        _ => drawer.place.text_field(key).is_some(),
    }
}

/// Returns the column of a key that is a text field of the place.
pub(crate) fn text_column(key: &str) -> Option<&'static str> {
    DrawerPlace::TEXT_KEYS.into_iter().find(|column| *column == key)
}

/// Returns the entry of a single value.
pub(crate) fn single_entry(key: &str, scalar: &MetadataScalar) -> Vec<u8> {
    entry_bytes(key, 0, scalar)
}

/// Returns the entry of a member of a list.
pub(crate) fn member_entry(key: &str, scalar: &MetadataScalar) -> Vec<u8> {
    entry_bytes(key, 1, scalar)
}

/// Returns the entries between which all single values under `key` of the family of `scalar` lie: from the first, and
/// below the second.
pub(crate) fn family_bounds(key: &str, scalar: &MetadataScalar) -> (Vec<u8>, Vec<u8>) {
    let family = match scalar {
        MetadataScalar::Bool(_) => BOOL,
        MetadataScalar::Int(_) | MetadataScalar::Float(_) => NUMBER,
        MetadataScalar::Text(_) => TEXT,
    };
    let mut first = key_bytes(key, 0);
    let mut beyond = first.clone();
    first.push(family);
    beyond.push(family + 1);
    (first, beyond)
}

/// Returns whether a text is too long for entries to be ordered by it.
pub(crate) fn is_cut(scalar: &MetadataScalar) -> bool {
    matches!(scalar, MetadataScalar::Text(text) if text.len() > LONGEST_TEXT)
}

fn entry_bytes(key: &str, member: u8, scalar: &MetadataScalar) -> Vec<u8> {
    let mut bytes = key_bytes(key, member);
    match scalar {
        MetadataScalar::Bool(truth) => bytes.extend([BOOL, u8::from(*truth)]),
        MetadataScalar::Int(int) => push_number(&mut bytes, *int as f64, int_remainder(*int)),
        // Minus zero equals zero.
        MetadataScalar::Float(float) => push_number(&mut bytes, *float + 0.0, 0),
        MetadataScalar::Text(text) => push_text(&mut bytes, text.as_bytes()),
    }
    bytes
}

fn key_bytes(key: &str, member: u8) -> Vec<u8> {
    let hash = blake3::hash(key.as_bytes());
    let mut bytes: Vec<u8> = hash.as_bytes().iter().take(16).copied().collect();
    bytes.push(member);
    bytes
}

/// Returns what is left of an integer after rounding it to a float: integers beyond 2^53 share floats.
fn int_remainder(int: i64) -> i16 {
    let rounded = int as f64 as i128;
    i16::try_from(i128::from(int) - rounded).expect("a float of 53 bits is within 512 of any 64-bit integer")
}

fn push_number(bytes: &mut Vec<u8>, float: f64, remainder: i16) {
    let bits = float.to_bits();
    // The usual trick: with the sign bit flipped, or all bits of a negative number, floats compare as integers.
    let ordered = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
    bytes.push(NUMBER);
    bytes.extend(ordered.to_be_bytes());
    bytes.extend((remainder as u16 ^ 0x8000).to_be_bytes());
}

fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.push(TEXT);
    bytes.extend(text.iter().take(LONGEST_TEXT));
    if text.len() > LONGEST_TEXT {
        bytes.extend(blake3::hash(text).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{DrawerId, Metadata};
    use std::cmp::Ordering;

    #[test]
    fn bytes_compare_as_the_values_do() {
        let big = 1_i64 << 60;
        let values = [
            MetadataScalar::Int(i64::MIN),
            MetadataScalar::Float(-1e300),
            MetadataScalar::Int(-3),
            MetadataScalar::Float(-0.0),
            MetadataScalar::Int(0),
            MetadataScalar::Float(f64::MIN_POSITIVE),
            MetadataScalar::Float(2.5),
            MetadataScalar::Int(3),
            MetadataScalar::Float(3.0),
            MetadataScalar::Int(big),
            MetadataScalar::Int(big + 1),
            MetadataScalar::Float(big as f64),
            MetadataScalar::Int(i64::MAX),
            MetadataScalar::Float(9_223_372_036_854_775_808.0),
            MetadataScalar::Text(String::new()),
            MetadataScalar::Text("a\0b".into()),
            MetadataScalar::Text("x".repeat(LONGEST_TEXT)),
            MetadataScalar::Text("x".repeat(LONGEST_TEXT + 1)),
            MetadataScalar::Bool(false),
            MetadataScalar::Bool(true),
        ];
        for a in &values {
            for b in &values {
                let bytes = single_entry("k", a).cmp(&single_entry("k", b));
                match a.compare(b) {
                    Some(order) => assert_eq!(bytes, order, "{a:?} and {b:?}"),
                    None => assert_ne!(bytes, Ordering::Equal, "{a:?} and {b:?}"),
                }
            }
        }
    }

    #[test]
    fn values_lie_within_the_bounds_of_their_family() {
        for value in [
            MetadataScalar::Int(7),
            MetadataScalar::Text("ÿ".repeat(90)),
            MetadataScalar::Bool(true),
        ] {
            let (first, beyond) = family_bounds("k", &value);
            let entry = single_entry("k", &value);
            assert!(first <= entry && entry < beyond, "{value:?}");
        }
    }

    #[test]
    fn values_that_have_a_column_are_no_entries() {
        let metadata = Metadata::new()
            .with_entry("wing", "w")
            .with_entry("room", 3_i64)
            .with_entry("n", 1_i64);
        let drawer = Drawer {
            place: DrawerPlace {
                wing: Some("w".into()),
                ..DrawerPlace::default()
            },
            metadata: Some(metadata),
            ..Drawer::with_id_only(DrawerId::new("a").unwrap())
        };
        let mut expected = vec![
            single_entry("room", &MetadataScalar::Int(3)),
            single_entry("n", &MetadataScalar::Int(1)),
        ];
        expected.sort();
        assert_eq!(list_entries(&drawer), expected);
    }
}
