//! Reads `index_metadata.pickle` without running it: the few opcodes that Chroma writes are known, all others are
//! refused.
//!
//! A pickle is a program. This reader only ever builds dictionaries, texts and integers, and knows one class by name.
//! If the file ends too early, the complete part is kept and marked as partial.

mod machine;

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use machine::{PickleItem, PickleMachine};

/// The content of a segment's pickle: the label of each record in the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PickleLabels {
    /// The number of values in a vector, if recorded.
    pub dimension: Option<i64>,
    /// The number of elements that were ever added.
    pub added: Option<i64>,
    /// The consumed position of the queue, if recorded.
    pub max_seq_id: Option<i64>,
    /// The label of each live record.
    pub by_id: HashMap<Arc<str>, u64>,
    /// The number of entries that are not a text with a label.
    pub odd: u64,
    /// The reason why the file could not be read to its end.
    pub broken: Option<String>,
}

/// Reads a pickle of `length` bytes. Returns `Err` if nothing useful is readable.
pub fn read(input: impl BufRead, length: u64) -> Result<PickleLabels, String> {
    let mut machine = PickleMachine::new(input, length);
    // The failure is kept and not returned: the labels before it are still right.
    let broken = machine.run().err();
    let Some(fields) = machine.into_fields() else {
        return Err(broken.unwrap_or_else(|| "it has no dictionary".to_owned()));
    };
    let mut labels = PickleLabels {
        broken,
        ..PickleLabels::default()
    };
    // An empty map is fine, a missing one is not: only then
    // is it unknown which element belongs to which record.
    let mut mapped = false;
    for (key, value) in fields {
        let PickleItem::Text(key) = key else { continue };
        match (&*key, value) {
            ("dimensionality", PickleField::Item(item)) => labels.dimension = item.as_int(),
            ("total_elements_added", PickleField::Item(item)) => labels.added = item.as_int(),
            ("max_seq_id", PickleField::Item(item)) => labels.max_seq_id = item.as_int(),
            ("id_to_label", PickleField::Dict(pairs)) => {
                mapped = true;
                labels.add_labels(pairs);
            }
            _ => {}
        }
    }
    if mapped {
        return Ok(labels);
    }
    Err(labels
        .broken
        .unwrap_or_else(|| "it has no labels (id_to_label)".to_owned()))
}

impl PickleLabels {
    fn add_labels(&mut self, pairs: Vec<(PickleItem, PickleItem)>) {
        for (id, label) in pairs {
            match (id, label.as_int().and_then(|label| u64::try_from(label).ok())) {
                (PickleItem::Text(id), Some(label)) => drop(self.by_id.insert(id, label)),
                _ => self.odd += 1,
            }
        }
    }
}

/// A value of the outermost dictionary.
pub(crate) enum PickleField {
    /// A dictionary, as its pairs.
    Dict(Vec<(PickleItem, PickleItem)>),
    /// Anything else.
    Item(PickleItem),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pickle as releases from 1.0 on write it: protocol 3, a plain dictionary.
    fn dictionary(pairs: &[(&str, i32)]) -> Vec<u8> {
        let mut bytes = b"\x80\x03}(".to_vec();
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.push(b'X');
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        text(&mut bytes, "dimensionality");
        bytes.push(b'N');
        text(&mut bytes, "total_elements_added");
        bytes.extend(b"K\x07");
        text(&mut bytes, "id_to_label");
        bytes.extend(b"}(");
        for (id, label) in pairs {
            text(&mut bytes, id);
            bytes.push(b'J');
            bytes.extend(label.to_le_bytes());
        }
        bytes.extend(b"uu.");
        bytes
    }

    fn parsed(bytes: &[u8]) -> Result<PickleLabels, String> {
        read(bytes, bytes.len() as u64)
    }

    #[test]
    fn a_dictionary_gives_every_label() {
        let labels = parsed(&dictionary(&[("a", 1), ("é", 2)])).unwrap();
        assert_eq!(labels.broken, None);
        assert_eq!(labels.added, Some(7));
        assert_eq!(labels.dimension, None);
        assert_eq!(labels.by_id.get("é"), Some(&2));
        assert_eq!(labels.by_id.len(), 2);
    }

    #[test]
    fn a_class_instance_with_memoised_texts_gives_the_same() {
        // Protocol 5: PersistentData.__new__(), then its
        // attributes; the second map reuses the first one's texts.
        let bytes = b"\x80\x05\x8c\x0achromadb.x\x94\x8c\x0ePersistentData\x94\x93\x94)\x81\x94}\x94(\
            \x8c\x14total_elements_added\x94M\x01\x02\x8c\x0bid_to_label\x94}\x94(\x8c\x01a\x94K\x01\x8c\x01b\x94K\x02u\
            \x8c\x0blabel_to_id\x94}\x94(K\x01h\x08K\x02h\x09uub.";
        let labels = parsed(bytes).unwrap();
        assert_eq!(labels.broken, None);
        assert_eq!(labels.added, Some(513));
        assert_eq!(labels.by_id.get("b"), Some(&2));
    }

    #[test]
    fn a_pickle_cut_anywhere_keeps_what_was_complete() {
        let whole = dictionary(&[("a", 1), ("b", 2), ("c", 3)]);
        let mut most = 0;
        for cut in 0..whole.len() {
            if let Ok(labels) = parsed(&whole[..cut]) {
                assert!(labels.broken.is_some(), "cut at {cut}");
                assert!(labels.by_id.len() >= most, "cut at {cut}");
                most = labels.by_id.len();
            }
        }
        assert_eq!(most, 3);
    }

    #[test]
    fn programs_are_refused() {
        for program in [
            &b"\x80\x03cos\nsystem\n(X\x02\x00\x00\x00lstR."[..],
            b"\x80\x05\x8c\x02os\x94\x8c\x06system\x94\x93\x8c\x02ls\x85R.",
            b"\x80\x03cposix\nsystem\n.",
            b"",
            b"\x80\x03N.",
            b"\x80\x03X\xff\xff\xff\xffabc",
        ] {
            assert!(parsed(program).is_err(), "{program:?}");
        }
    }

    #[test]
    fn a_flood_of_small_items_is_refused_before_it_fills_memory() {
        let mut flood = b"\x80\x03(".to_vec();
        flood.extend(std::iter::repeat_n(b'N', 1 << 20));
        let error = parsed(&flood).unwrap_err();
        assert!(error.contains("too many"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
            let _ = parsed(&bytes);
        }

        #[test]
        fn no_damage_makes_it_panic(at in 0_usize..80, with in proptest::num::u8::ANY) {
            let mut bytes = dictionary(&[("a", 1), ("b", 2)]);
            let at = at % bytes.len();
            bytes[at] = with;
            let _ = parsed(&bytes);
        }
    }
}
