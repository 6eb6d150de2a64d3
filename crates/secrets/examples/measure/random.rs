//! Random numbers and strings from a seed.

/// A small generator; the same seed gives the same numbers.
pub(crate) struct PlantRandom(u64);

impl PlantRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    pub(crate) fn from(&mut self, alphabet: &str, count: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..count).map(|_| letters[self.below(letters.len())]).collect()
    }

    pub(crate) fn hex(&mut self, count: usize) -> String {
        self.from("0123456789abcdef", count)
    }

    pub(crate) fn digits(&mut self, count: usize) -> String {
        let rest = self.from("0123456789", count - 1);
        self.from("123456789", 1) + &rest
    }

    pub(crate) fn mixed(&mut self, count: usize) -> String {
        self.from(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            count,
        )
    }

    pub(crate) fn lower(&mut self, count: usize) -> String {
        self.from("abcdefghijklmnopqrstuvwxyz0123456789", count)
    }

    pub(crate) fn upper(&mut self, count: usize) -> String {
        self.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", count)
    }

    pub(crate) fn url_safe(&mut self, count: usize) -> String {
        let ends = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let inner = self.from(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            count - 2,
        );
        self.from(ends, 1) + &inner + &self.from(ends, 1)
    }

    pub(crate) fn base64(&mut self, bytes: usize) -> String {
        let bytes: Vec<u8> = (0..bytes).map(|_| self.next() as u8).collect();
        encode_base64(&bytes)
    }
}

pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut three = [0_u8; 3];
        three[..group.len()].copy_from_slice(group);
        let bits = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        for place in 0..4 {
            let digit = LETTERS[(bits >> (18 - 6 * place) & 63) as usize] as char;
            text.push(if place <= group.len() { digit } else { '=' });
        }
    }
    text
}
