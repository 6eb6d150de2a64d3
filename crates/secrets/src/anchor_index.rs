//! Finds every anchor in one pass over a text.
//!
//! Each anchor is looked for by three of its bytes, the three that are rarest in words. A table tells for the
//! three bytes at each place whether any anchor has them; only then the anchors that do are compared. Unlike an automaton
//! over all anchors, no step waits for the one before, and building it takes microseconds.

use std::ops::Range;

use crate::judge;

const FILTER_BITS: u32 = 15;
const FILTER_SIZE: usize = 1 << FILTER_BITS;
/// The places whose three bytes lie within eight.
const PLACES: u32 = 6;
const KEY_MASK: u32 = 0xff_ffff;
const BUCKET_BITS: u32 = 11;
const BUCKETS: usize = 1 << BUCKET_BITS;

/// The anchors by three of their bytes.
#[derive(Debug, Clone)]
pub(crate) struct AnchorIndex {
    /// Whether any anchor is looked for by three bytes with this hash.
    filter: Box<[bool; FILTER_SIZE]>,
    /// The first anchor of each bucket, as its place in `entries` plus one.
    buckets: Box<[u16; BUCKETS]>,
    entries: Vec<AnchorEntry>,
}

#[derive(Debug, Clone)]
struct AnchorEntry {
    anchor: &'static [u8],
    /// The three bytes it is looked for by, and their place in it.
    key: u32,
    offset: usize,
    /// The next entry of the bucket, as its place plus one.
    next: u16,
}

impl AnchorIndex {
    /// Indexes anchors of at least three bytes; the others are never found.
    pub(crate) fn new(anchors: &[&'static str]) -> Self {
        let mut index = Self {
            filter: Box::new([false; FILTER_SIZE]),
            buckets: Box::new([0; BUCKETS]),
            entries: Vec::with_capacity(anchors.len()),
        };
        for anchor in anchors {
            index.push(anchor.as_bytes());
        }
        index
    }

    fn push(&mut self, anchor: &'static [u8]) {
        let (offset, key) = rarest_key(anchor);
        if let Some(filter) = self.filter.get_mut(filter_place(key)) {
            *filter = true;
        }
        let number = self.entries.len() as u16 + 1;
        let next = self
            .buckets
            .get_mut(bucket(key))
            .map_or(0, |first| std::mem::replace(first, number));
        self.entries.push(AnchorEntry {
            anchor,
            key,
            offset,
            next,
        });
    }

    /// Calls `found` with the number and range of every anchor in the text, overlapping ones too.
    pub(crate) fn find_all(&self, text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        // Eight bytes contain the keys of six places. Most have none that any anchor has: one branch for all six.
        let mut at = 0;
        while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk) {
            let word = u64::from_le_bytes(*eight);
            let key = |place: u32| (word >> (8 * place)) as u32 & KEY_MASK;
            if (0..PLACES).fold(false, |any, place| any | self.may_contain(key(place))) {
                for place in 0..PLACES {
                    self.compare(text, at + place as usize, key(place), &mut found);
                }
            }
            at += PLACES as usize;
        }
        let rest = text.get(at..).unwrap_or_default();
        for (offset, three) in rest.windows(3).enumerate() {
            self.compare(text, at + offset, key_of(three), &mut found);
        }
    }

    fn may_contain(&self, key: u32) -> bool {
        self.filter.get(filter_place(key)).copied().unwrap_or(false)
    }

    /// Compares the anchors with this key against the text around it.
    #[inline(never)]
    fn compare(&self, text: &[u8], at: usize, key: u32, found: &mut impl FnMut(usize, Range<usize>)) {
        if !self.may_contain(key) {
            return;
        }
        let mut number = self.buckets.get(bucket(key)).copied().unwrap_or(0);
        while let Some(place) = usize::from(number).checked_sub(1) {
            let Some(entry) = self.entries.get(place) else {
                return;
            };
            let range = at
                .checked_sub(entry.offset)
                .map(|start| start..start + entry.anchor.len());
            let matching =
                range.filter(|range| entry.key == key && text.get(range.clone()) == Some(entry.anchor));
            if let Some(range) = matching {
                found(place, range);
            }
            number = entry.next;
        }
    }
}

/// Returns the three bytes of an anchor that occur least in words, and their place in it.
fn rarest_key(anchor: &[u8]) -> (usize, u32) {
    let commonness = |three: &[u8]| -> u32 { three.windows(2).map(judge::commonness).sum() };
    let rarest = anchor
        .windows(3)
        .enumerate()
        .min_by_key(|(_, three)| commonness(three));
    match rarest {
        Some((offset, three)) => (offset, key_of(three)),
        None => (0, 0),
    }
}

fn key_of(three: &[u8]) -> u32 {
    match three {
        [first, second, third] => u32::from_le_bytes([*first, *second, *third, 0]),
        _ => 0,
    }
}

const fn filter_place(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> (32 - FILTER_BITS)) as usize
}

const fn bucket(key: u32) -> usize {
    (key.wrapping_mul(0x85eb_ca6b) >> (32 - BUCKET_BITS)) as usize
}
