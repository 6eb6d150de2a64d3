//! How well a drawer matches words: BM25, where the drawers that are searched are the only ones that count.
//!
//! All of it follows from whole numbers by the same steps in the same order, so two collections that
//! hold the same drawers give the same scores to the last bit, however their words are stored.

/// How quickly further occurrences of a word stop counting.
const K1: f32 = 1.2;

/// How much of a drawer's length counts.
const B: f64 = 0.75;

/// How many drawers are searched, and how many words they have together.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// The drawers.
    pub drawers: u64,
    /// Their words, each as often as it occurs.
    pub words: u64,
}

impl Statistics {
    /// Counts one more drawer.
    pub fn add(&mut self, length: u32) {
        self.drawers += 1;
        self.words += u64::from(length);
    }

    /// What a word is worth that `holding` of the drawers hold; more than nothing, however many that are.
    pub fn rarity(&self, holding: u64) -> f32 {
        let without = self.drawers.saturating_sub(holding) as f64;
        (1.0 + (without + 0.5) / (holding as f64 + 0.5)).ln() as f32
    }

    /// What the length of a drawer takes from each of its words.
    pub fn burden(&self, length: u32) -> f32 {
        let relative = match self.words {
            0 => 0.0,
            words => f64::from(length) * self.drawers as f64 / words as f64,
        };
        K1 * (1.0 - B + B * relative) as f32
    }
}

/// What a word of this rarity that occurs `count` times adds to the score of a drawer with this burden; nothing for
/// an infinite burden, and else more than nothing.
#[inline]
pub fn gain(rarity: f32, count: u32, burden: f32) -> f32 {
    let count = count as f32;
    rarity * (count * (K1 + 1.0) / (count + burden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEN: Statistics = Statistics {
        drawers: 10,
        words: 100,
    };

    #[test]
    fn scores_are_those_of_the_formula() {
        assert!((TEN.rarity(1) - 1.992_43).abs() < 1e-4);
        assert!((TEN.rarity(10) - 0.046_52).abs() < 1e-4);
        assert!((TEN.burden(10) - 1.2).abs() < 1e-6, "a drawer of mean length");
        assert!((TEN.burden(20) - 2.1).abs() < 1e-6);
        assert!((gain(2.0, 1, 1.2) - 2.0).abs() < 1e-6);
        assert!((gain(2.0, 3, 2.1) - 2.588_235).abs() < 1e-5);
    }

    #[test]
    fn a_drawer_out_of_scope_gains_nothing() {
        assert_eq!(gain(3.0, 7, f32::INFINITY), 0.0);
    }

    #[test]
    fn drawers_without_a_word_give_finite_figures() {
        let mut empty = Statistics::default();
        assert!(empty.rarity(0).is_finite() && empty.burden(5).is_finite());
        empty.add(0);
        assert!(empty.burden(0).is_finite());
        assert_eq!((empty.drawers, empty.words), (1, 0));
    }

    proptest! {
        #[test]
        fn rarer_more_frequent_and_shorter_is_never_worse(
            drawers in 1_u64..10_000_000, share in 0.0..1.0_f64, length in 0_u32..2_000_000, count in 1_u32..100_000,
        ) {
            let statistics = Statistics { drawers, words: drawers * 90 };
            let holding = 1 + ((drawers - 1) as f64 * share) as u64;
            let (rarity, burden) = (statistics.rarity(holding), statistics.burden(length));
            let score = gain(rarity, count, burden);
            prop_assert!(score > 0.0 && score.is_finite());
            prop_assert!(statistics.rarity(holding - 1) >= rarity);
            prop_assert!(gain(rarity, count + 1, burden) >= score * 0.999_999, "but for rounding");
            prop_assert!(gain(rarity, count, statistics.burden(length + 1)) <= score * 1.000_001);
        }
    }
}
