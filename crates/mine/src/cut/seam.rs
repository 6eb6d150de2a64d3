//! Seams: places where a text may be cut, with their rank and the heading they are under.

use std::rc::Rc;

use super::slice_text;

/// The quality of a seam, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SeamRank {
    /// A line inside a block that should stay whole.
    Inside,
    /// A line; higher is better.
    Line(u8),
    /// An item of a list or an inner paragraph; higher is better.
    Item(u8),
    /// Between blocks or paragraphs.
    Block,
    /// Before a section: begins a new piece unless the one before it is short.
    Section,
    /// Before a chapter: begins a new piece unless the one before it is very short.
    Chapter,
    /// The end of the text.
    End,
}

/// An offset in a text, in both units.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextPlace {
    /// In bytes.
    pub(super) at: usize,
    /// In characters.
    pub(super) chars: usize,
}

/// A place to cut at.
#[derive(Debug, Clone)]
pub(super) struct CutSeam {
    pub(super) place: TextPlace,
    pub(super) rank: SeamRank,
    pub(super) under: EnclosingHeading,
}

/// The heading that a place is under, if any.
pub(super) type EnclosingHeading = Option<Rc<SectionHeading>>;

/// A heading and the headings above it.
#[derive(Debug)]
pub(super) struct SectionHeading {
    title: String,
    level: u8,
    above: EnclosingHeading,
}

impl SectionHeading {
    /// Returns its depth; headings above have smaller levels.
    pub(super) fn level(&self) -> u8 {
        self.level
    }
}

/// The longest title kept, in characters.
const LONGEST_TITLE: usize = 200;

/// Returns the heading of this level and title, nested below `under`.
pub(super) fn nest_heading(under: &EnclosingHeading, level: u8, title: &str) -> EnclosingHeading {
    let mut above = under.clone();
    while let Some(heading) = above.clone().filter(|heading| heading.level >= level) {
        above = heading.above.clone();
    }
    let title = title.trim();
    if title.is_empty() {
        return above;
    }
    let title = match title.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => slice_text(title, 0, end),
        None => title,
    };
    Some(Rc::new(SectionHeading {
        title: title.to_owned(),
        level,
        above,
    }))
}

/// Returns the deepest heading that two places are both under.
pub(super) fn common_heading(one: &EnclosingHeading, other: &EnclosingHeading) -> EnclosingHeading {
    let (mut one, mut other) = (one.clone(), other.clone());
    while let (Some(a), Some(b)) = (&one, &other) {
        if Rc::ptr_eq(a, b) {
            return one;
        }
        // Levels shrink on the way up, so the heading of the greater level cannot be an ancestor of the other.
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

/// Returns the titles from the topmost down: "Guide > Install > Linux".
pub(super) fn heading_path(under: &EnclosingHeading) -> Option<String> {
    let mut titles = Vec::new();
    let mut next = under.as_ref();
    while let Some(heading) = next {
        titles.push(heading.title.as_str());
        next = heading.above.as_ref();
    }
    titles.reverse();
    (!titles.is_empty()).then(|| titles.join(" > "))
}

/// Returns a hash of the next `words` × 8 bytes of a text and nothing else.
pub(super) fn hash_text_from(text: &str, at: usize, words: usize) -> u64 {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    // Written out and not `DefaultHasher`, whose values may change between releases of Rust: every cut, and
    // with it every stored id, would move.
    let mut sum = 0x9e37_79b9_7f4a_7c15_u64;
    for word in rest.chunks(8).take(words) {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        sum = (sum ^ u64::from_le_bytes(bytes)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        sum ^= sum >> 32;
    }
    sum
}
