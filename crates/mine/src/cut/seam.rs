//! Seams: places where a text may be cut, how good each is, and the heading it stands under.

use std::rc::Rc;

use super::part;

/// How good a place is to cut at, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A line inside something that is to stay whole.
    Inside,
    /// A line end, the better the higher.
    Line(u8),
    /// An item of a list or an inner paragraph, the better the higher.
    Item(u8),
    /// Between blocks or paragraphs.
    Block,
    /// Before a part of its own: it begins a new piece unless the one before it is short.
    Section,
    /// Before a greater part: it begins a new piece unless the one before it is very short.
    Chapter,
    /// The end of the text.
    End,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// In bytes.
    pub(super) at: usize,
    /// In characters.
    pub(super) chars: usize,
}

/// A place to cut at.
#[derive(Debug, Clone)]
pub(super) struct Seam {
    pub(super) place: Place,
    pub(super) rank: Rank,
    pub(super) under: Under,
}

/// What a place stands under, if anything.
pub(super) type Under = Option<Rc<Heading>>;

/// A heading and the headings above it.
#[derive(Debug)]
pub(super) struct Heading {
    title: String,
    level: u8,
    above: Under,
}

impl Heading {
    /// How deep it stands; those above have smaller levels.
    pub(super) fn level(&self) -> u8 {
        self.level
    }
}

/// The longest title kept, in characters.
const LONGEST_TITLE: usize = 200;

/// The heading of this level and title that follows a place under `under`.
pub(super) fn heading(under: &Under, level: u8, title: &str) -> Under {
    let mut above = under.clone();
    while let Some(heading) = above.clone().filter(|heading| heading.level >= level) {
        above = heading.above.clone();
    }
    let title = title.trim();
    if title.is_empty() {
        return above;
    }
    let title = match title.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => part(title, 0, end),
        None => title,
    };
    Some(Rc::new(Heading {
        title: title.to_owned(),
        level,
        above,
    }))
}

/// What two places both stand under.
pub(super) fn shared(one: &Under, other: &Under) -> Under {
    let (mut one, mut other) = (one.clone(), other.clone());
    while let (Some(a), Some(b)) = (&one, &other) {
        if Rc::ptr_eq(a, b) {
            return one;
        }
        // Headings above have smaller levels, so the one of the greater level cannot be shared.
        let (up, down) = (a.above.clone(), b.above.clone());
        let (left, right) = (a.level, b.level);
        if left >= right {
            one = up;
        }
        if right >= left {
            other = down;
        }
    }
    None
}

/// The titles from the topmost down: "Guide > Install > Linux".
pub(super) fn path(under: &Under) -> Option<String> {
    let mut titles = Vec::new();
    let mut next = under.as_ref();
    while let Some(heading) = next {
        titles.push(heading.title.as_str());
        next = heading.above.as_ref();
    }
    titles.reverse();
    (!titles.is_empty()).then(|| titles.join(" > "))
}

/// A number that depends on nothing but the next `words` × 8 bytes of a text.
pub(super) fn fingerprint(text: &str, at: usize, words: usize) -> u64 {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let mut sum = 0x9e37_79b9_7f4a_7c15_u64;
    for word in rest.chunks(8).take(words) {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        sum = (sum ^ u64::from_le_bytes(bytes)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        sum ^= sum >> 32;
    }
    sum
}
