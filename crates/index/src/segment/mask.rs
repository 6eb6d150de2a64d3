//! Which rows of one segment a scan looks at.

use super::ROWS;

/// How many words of 64 bits a mask takes.
const WORDS: usize = ROWS / 64;

/// One bit for each row of a segment, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask([u64; WORDS]);

impl Mask {
    /// Sets the bit of each position for which `chosen` is true.
    pub(super) fn of(chosen: impl Iterator<Item = bool>) -> Self {
        let mut mask = Self([0; WORDS]);
        for (position, _) in chosen.take(ROWS).enumerate().filter(|(_, chosen)| *chosen) {
            if let Some(word) = mask.0.get_mut(position / 64) {
                *word |= 1 << (position % 64);
            }
        }
        mask
    }

    /// Tells whether no row is looked at.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// How many rows are looked at.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The bits, the first row lowest.
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }

    /// The positions that are looked at, ascending.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(index, &word)| Bits(word).map(move |bit| index * 64 + bit))
    }
}

/// The set bits of a word, lowest first.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        // Subtracting one turns the lowest bit off and only lower ones on.
        self.0 &= self.0.checked_sub(1)?;
        Some(bit)
    }
}
