//! A small deterministic generator, the same on every machine, so that two runs measure the same corpus.

/// A sequence of numbers that follows from its seed (xorshift).
#[derive(Debug, Clone)]
pub(crate) struct CorpusRandom(u64);

impl CorpusRandom {
    /// Starts the sequence number `stream` of `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mixed = (seed ^ 0x6c6f_6369).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream;
        // Zero is the one state that xorshift never leaves.
        Self(mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    pub(crate) fn next_bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number from 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from 0 up to `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        (self.unit() * n as f64) as u64
    }

    /// Returns a roughly normal number: the sum of four uniform ones, centred.
    pub(crate) fn normal(&mut self) -> f32 {
        (0..4).map(|_| self.unit() as f32 - 0.5).sum::<f32>() * 1.73
    }
}
