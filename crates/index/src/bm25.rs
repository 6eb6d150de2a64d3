//! BM25 scores, computed over the searched drawers alone.
//!
//! Scores follow from whole numbers by the same steps in the same order, so two collections that hold the same
//! drawers give the same scores to the last bit, however their words are stored.

/// The saturation of repeated words: the smaller, the sooner further occurrences stop counting.
const K1: f32 = 1.2;

/// The share of a drawer's length that counts against it.
const B: f64 = 0.75;

/// The number of searched drawers and of their words.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LexicalStatistics {
    /// The drawers.
    pub drawers: u64,
    /// Their words, each as often as it occurs.
    pub words: u64,
}

impl LexicalStatistics {
    /// Counts one more drawer.
    pub fn add_drawer(&mut self, length: u32) {
        self.drawers += 1;
        self.words += u64::from(length);
    }

    /// Returns the inverse document frequency of a word that `holding` drawers contain; always above zero.
    pub fn term_rarity(&self, holding: u64) -> f32 {
        let without = self.drawers.saturating_sub(holding) as f64;
        // One is added inside the logarithm, as Lucene does: a word that most drawers hold would score
        // negative otherwise, and a match could rank below none.
        (1.0 + (without + 0.5) / (holding as f64 + 0.5)).ln() as f32
    }

    /// Returns the length normalisation of a drawer, by which each of its words is damped.
    pub fn length_burden(&self, length: u32) -> f32 {
        let relative = match self.words {
            // Drawers without a single word have no average length to compare with.
            0 => 0.0,
            words => f64::from(length) * self.drawers as f64 / words as f64,
        };
        K1 * (1.0 - B + B * relative) as f32
    }
}

/// Returns the score that a word of this rarity adds when it occurs `count` times in a drawer with this burden;
/// zero for an infinite burden, else above zero.
#[inline]
pub fn term_gain(rarity: f32, count: u32, burden: f32) -> f32 {
    let count = count as f32;
    rarity * (count * (K1 + 1.0) / (count + burden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEN: LexicalStatistics = LexicalStatistics {
        drawers: 10,
        words: 100,
    };

    #[test]
    fn scores_are_those_of_the_formula() {
        assert!((TEN.term_rarity(1) - 1.992_43).abs() < 1e-4);
        assert!((TEN.term_rarity(10) - 0.046_52).abs() < 1e-4);
        assert!(
            (TEN.length_burden(10) - 1.2).abs() < 1e-6,
            "a drawer of mean length"
        );
        assert!((TEN.length_burden(20) - 2.1).abs() < 1e-6);
        assert!((term_gain(2.0, 1, 1.2) - 2.0).abs() < 1e-6);
        assert!((term_gain(2.0, 3, 2.1) - 2.588_235).abs() < 1e-5);
    }

    #[test]
    fn a_drawer_out_of_scope_gains_nothing() {
        assert_eq!(term_gain(3.0, 7, f32::INFINITY), 0.0);
    }

    #[test]
    fn drawers_without_a_word_give_finite_figures() {
        let mut empty = LexicalStatistics::default();
        assert!(empty.term_rarity(0).is_finite() && empty.length_burden(5).is_finite());
        empty.add_drawer(0);
        assert!(empty.length_burden(0).is_finite());
        assert_eq!((empty.drawers, empty.words), (1, 0));
    }

    proptest! {
        #[test]
        fn rarer_more_frequent_and_shorter_is_never_worse(
            drawers in 1_u64..10_000_000, share in 0.0..1.0_f64, length in 0_u32..2_000_000, count in 1_u32..100_000,
        ) {
            let statistics = LexicalStatistics { drawers, words: drawers * 90 };
            let holding = 1 + ((drawers - 1) as f64 * share) as u64;
            let (rarity, burden) = (statistics.term_rarity(holding), statistics.length_burden(length));
            let score = term_gain(rarity, count, burden);
            prop_assert!(score > 0.0 && score.is_finite());
            prop_assert!(statistics.term_rarity(holding - 1) >= rarity);
            prop_assert!(term_gain(rarity, count + 1, burden) >= score * 0.999_999, "but for rounding");
            prop_assert!(term_gain(rarity, count, statistics.length_burden(length + 1)) <= score * 1.000_001);
        }
    }
}
