//! The embedder that is always there: a static table compiled into the binary.
//!
//! A text's vector is the mean of the vectors of its different tokens, normalised. The table was distilled from
//! all-MiniLM-L6-v2 and trained against its sentence vectors (`distill/`); how much a token counts is the length of
//! its vector.

mod table;

use std::sync::OnceLock;

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, Result};

use crate::wordpiece::{self, Piece};
pub use table::{Damage, Table, write};

/// The name users type.
pub const NAME: &str = "builtin";

/// How much its nearness counts against keywords, by `loci-bench eval` (bench/README.md).
const WEIGHT: f32 = 1.0;

/// The table this build carries.
static BYTES: &[u8] = include_bytes!("../assets/builtin.bin");

/// A known text and the first values of its vector: what the self-test expects.
const KNOWN: (&str, [f32; 4]) = (
    "A palace keeps every word.",
    [-0.286_027_67, -0.047_942_445, -0.044_401_743, 0.024_806_455],
);

/// The static embedder.
#[derive(Debug)]
pub struct Builtin {
    table: Table<'static>,
    identity: EmbedderIdentity,
}

impl Builtin {
    /// The embedder of the table this build carries. Costs nothing: the table is read in place.
    pub fn new() -> Result<Self> {
        static SOUND: OnceLock<bool> = OnceLock::new();
        let builtin = Self::over(BYTES)?;
        if *SOUND.get_or_init(|| builtin.gives_known_answer()) {
            return Ok(builtin);
        }
        Err(Error::new(
            ErrorKind::Corrupt,
            "the built-in embedder does not give its known answer: this binary is damaged",
        )
        .hint("nothing was stored; install loci again, or go on with `--embedder none`"))
    }

    /// The embedder of another table, for those who train one.
    pub fn over(bytes: &'static [u8]) -> Result<Self> {
        let table = Table::read(bytes).map_err(|damage| {
            Error::new(
                ErrorKind::Corrupt,
                format!("the embedding table cannot be used: {damage}"),
            )
        })?;
        let identity = EmbedderIdentity {
            model: NAME.into(),
            revision: table.revision().into(),
            dimension: table.dimension(),
        };
        Ok(Self { table, identity })
    }

    fn gives_known_answer(&self) -> bool {
        let (text, expected) = KNOWN;
        let vector = self.embed(text);
        vector
            .iter()
            .zip(expected)
            .all(|(value, expected)| (value - expected).abs() < 1e-4)
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let (mut tokens, mut unknown) = (Vec::with_capacity(text.len() / 3), Vec::new());
        wordpiece::encode_with(text, |piece| match piece {
            Piece::Entry(id) => tokens.push(id),
            Piece::Unknown(word) => unknown.push(hash(word)),
        });
        // Said once or ten times: a token counts once, or a long text would be about its commonest words.
        tokens.sort_unstable();
        tokens.dedup();
        unknown.sort_unstable();
        unknown.dedup();
        let mut sum = vec![0.0; self.table.dimension()];
        tokens.iter().for_each(|token| self.table.add(*token, &mut sum));
        for word in unknown {
            add_unknown(word, self.table.usual_length(), &mut sum);
        }
        normalise(&mut sum);
        sum
    }
}

impl Embedder for Builtin {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.embed(text)).collect())
    }

    fn query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(self.embed(text))
    }

    fn weight(&self) -> f32 {
        WEIGHT
    }
}

/// Adds a direction that belongs to a word outside the vocabulary, so that texts sharing it are nearer.
fn add_unknown(word: u64, length: f32, sum: &mut [f32]) {
    let step = length / (sum.len() as f32).sqrt();
    let mut state = word;
    for values in sum.chunks_mut(64) {
        let mut bits = mix(&mut state);
        for value in values {
            *value += if bits & 1 == 0 { step } else { -step };
            bits >>= 1;
        }
    }
}

/// FNV-1a of a word's bytes.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// SplitMix64: the next number of a sequence that a state determines.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Gives a vector length one; a text without a token gets a fixed direction of its own.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 1e-12 {
        vector.iter_mut().for_each(|value| *value /= length);
    } else {
        vector.fill(0.0);
        if let Some(last) = vector.last_mut() {
            *last = 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn builtin() -> Builtin {
        Builtin::new().unwrap()
    }

    #[test]
    fn the_file_in_the_tree_is_whole_and_small_enough() {
        assert!(BYTES.len() <= 8_000_000, "{} bytes", BYTES.len());
        let body = &BYTES[BYTES.len() - 29_523 * (256 + 4)..];
        assert_eq!(table::revision(body), builtin().identity.revision);
        assert_eq!(builtin().identity.dimension, 256);
    }

    #[test]
    fn what_means_the_same_is_nearer_than_what_shares_words() {
        let builtin = builtin();
        for (text, same, other) in [
            (
                "when does the boat sail",
                "The ship leaves the harbour on Friday.",
                "When does the shop close?",
            ),
            (
                "groceries",
                "We bought apples and pears at the market.",
                "The ship leaves the harbour.",
            ),
            (
                "my physician",
                "I saw the doctor about my back.",
                "I saw the plumber about my sink.",
            ),
        ] {
            let [text, same, other] = [text, same, other].map(|text| builtin.embed(text));
            assert!(cosine(&text, &same) > cosine(&text, &other));
        }
    }

    #[test]
    fn vectors_have_length_one_whatever_the_text() {
        let long = "word ".repeat(50_000);
        let texts = [
            "",
            " ",
            "\0\u{feff}",
            "…",
            "🎉🎉",
            "记忆宫殿",
            "שלום עולם",
            "a",
            &long,
            "[CLS] [PAD]",
            "\u{10ffff}",
        ];
        for text in texts {
            let vector = builtin().embed(text);
            assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-4, "{text:?}");
        }
    }

    #[test]
    fn words_outside_the_vocabulary_tell_texts_apart_and_bring_them_together() {
        let builtin = builtin();
        let [one, near, far] = ["ꯃꯤꯇꯩ ꯂꯣꯟ", "ꯃꯤꯇꯩ ꯃꯌꯦꯛ", "ᚠᚢᚦ ᛗᚨᚾ"].map(|text| builtin.embed(text));
        assert!(cosine(&one, &near) > 0.3 && cosine(&one, &far).abs() < 0.3);
        assert!(cosine(&one, &near) < 0.9);
    }

    #[test]
    fn a_token_counts_once_and_order_does_not_count() {
        let builtin = builtin();
        assert_eq!(builtin.embed("ship red red ship"), builtin.embed("red ship"));
        assert_ne!(builtin.embed("red ship"), builtin.embed("red boat"));
    }
}
