//! Random numbers that a seed determines, so that a failure can be repeated from it.

/// A small generator (SplitMix64): any seed will do, and neighbouring seeds have nothing in common.
#[derive(Debug, Clone)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// The sequence of this seed; never to be changed, for fixtures hold vectors made from it.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of `0..n`; 0 where there is none.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// Heads or tails.
    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// One of a list that is not empty.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A value of `-0.5..0.5`.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    }

    /// So many values of `-0.5..0.5`.
    pub fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension).map(|_| self.unit()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::SeededRandom;

    #[test]
    fn a_seed_determines_the_sequence_and_neighbours_differ() {
        let sequence = |seed| {
            let mut random = SeededRandom::new(seed);
            [(); 8].map(|()| random.bits())
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
            assert!((-0.5..0.5).contains(&random.unit()));
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.below(0), 0);
    }
}
