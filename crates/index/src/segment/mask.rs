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

    /// Sets the bits of the first `count` positions.
    pub(super) fn from_first(count: usize) -> Self {
        let mut mask = Self([0; WORDS]);
        for (index, word) in mask.0.iter_mut().enumerate() {
            let bits = count.saturating_sub(index * 64).min(64);
            *word = 1_u64.checked_shl(bits as u32).map_or(u64::MAX, |above| above - 1);
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

    /// Returns the bits of the 64 positions from `first` on, that one lowest.
    pub(super) fn bits_from(&self, first: usize) -> u64 {
        let word = |index: usize| self.0.get(index).copied().unwrap_or(0);
        let (index, shift) = (first / 64, (first % 64) as u32);
        // Shifting by all 64 bits is not defined; it happens where `first` begins a word.
        let above = word(index + 1).checked_shl(64 - shift).unwrap_or(0);
        word(index) >> shift | above
    }

    /// Iterates over the selected positions, ascending.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(index, &word)| set_positions(word).map(move |bit| index * 64 + bit))
    }

    /// Returns the mask without the first `count` positions.
    pub(super) fn without_first(&self, count: usize) -> Self {
        let Self(first) = Self::from_first(count);
        let mut rest = *self;
        rest.0
            .iter_mut()
            .zip(first)
            .for_each(|(word, first)| *word &= !first);
        rest
    }
}

/// Iterates over the set bits of a word, lowest first.
pub(super) fn set_positions(word: u64) -> impl Iterator<Item = usize> {
    BitPositions(word)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_positions_are_those_that_a_walk_would_choose() {
        for count in [0, 1, 63, 64, 65, 127, 128, 1000, 1023, 1024] {
            let walked = RowMask::from_chosen((0..count).map(|_| true));
            assert_eq!(RowMask::from_first(count), walked, "{count}");
        }
    }

    #[test]
    fn parts_of_a_mask_are_those_of_its_positions() {
        let chosen: Vec<usize> = (0..ROWS).filter(|position| position * position % 7 < 3).collect();
        let mask = RowMask::from_chosen((0..ROWS).map(|position| chosen.contains(&position)));
        for first in [0, 1, 63, 64, 65, 500, 960, 1000, 1023, 1024, 2000] {
            let bits: Vec<usize> = set_positions(mask.bits_from(first))
                .map(|bit| first + bit)
                .collect();
            let expected = chosen.iter().filter(|at| (first..first + 64).contains(*at));
            assert!(bits.iter().eq(expected), "{first}: {bits:?}");
            let rest = mask.without_first(first);
            assert!(
                rest.positions()
                    .eq(chosen.iter().copied().filter(|at| *at >= first)),
                "{first}"
            );
        }
    }
}
