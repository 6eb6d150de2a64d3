//! The rows of one segment that a scan visits.

use super::ROWS;

/// The number of 64-bit words in a mask.
const WORDS: usize = ROWS / 64;

/// One bit for each row of a segment, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMask([u64; WORDS]);

impl RowMask {
    /// Sets the bit of each position for which `chosen` is true.
    pub(super) fn from_chosen(chosen: impl Iterator<Item = bool>) -> Self {
        let mut mask = Self([0; WORDS]);
        for (position, _) in chosen.take(ROWS).enumerate().filter(|(_, chosen)| *chosen) {
            if let Some(word) = mask.0.get_mut(position / 64) {
                *word |= 1 << (position % 64);
            }
        }
        mask
    }

    /// Reports whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Returns the number of selected rows.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the bits, the first row lowest.
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }

    /// Iterates over the selected positions, ascending.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(index, &word)| BitPositions(word).map(move |bit| index * 64 + bit))
    }
}

/// The set bits of a word, lowest first.
struct BitPositions(u64);

impl Iterator for BitPositions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        // Subtracting one turns the lowest bit off and only lower ones on.
        self.0 &= self.0.checked_sub(1)?;
        Some(bit)
    }
}
