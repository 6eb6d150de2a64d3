//! Random numbers determined by a seed, so that a failure can be reproduced.

/// A small generator (SplitMix64): any seed is fine, and neighbouring seeds give unrelated sequences.
#[derive(Debug, Clone)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// Starts the sequence of a seed. It must never change, because fixtures hold vectors made from it.
    pub fn new(seed: u64) -> Self {
        // Scrambles the seed, because seeds are often small and consecutive.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Returns the next 64 random bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0..n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        // The bias of the remainder is negligible for the small n of tests.
        (self.next_bits() % n.max(1) as u64) as usize
    }

    /// Returns `true` half of the time.
    pub fn toss_coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Returns an element of a list that is not empty.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns a value in `-0.5..0.5`.
    pub fn next_unit(&mut self) -> f32 {
        // 24 bits, as many as a float holds exactly, so that every value is equally likely.
        (self.next_bits() >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    }

    /// Returns `dimension` values in `-0.5..0.5`.
    pub fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension).map(|_| self.next_unit()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::SeededRandom;

    #[test]
    fn a_seed_determines_the_sequence_and_neighbours_differ() {
        let sequence = |seed| {
            let mut random = SeededRandom::new(seed);
            [(); 8].map(|()| random.next_bits())
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7)[..], sequence(8)[..]);
        assert_eq!(sequence(7)[..2], [0xd134_a2a8_a5bd_5588, 0xe5c8_696c_f01c_af09]);
    }

    #[test]
    fn numbers_stay_in_their_bounds_and_reach_every_one() {
        let mut random = SeededRandom::new(3);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[random.below(5)] = true;
            assert!((-0.5..0.5).contains(&random.next_unit()));
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.below(0), 0);
    }
}
