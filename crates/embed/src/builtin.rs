//! The embedder that is always there: a static table compiled into the binary.
//!
//! A text's vector is the normalised mean of the vectors of its distinct tokens. The table was distilled from
//! all-MiniLM-L6-v2 and trained against its sentence vectors (`distill/`); the length of a token's vector is its
//! weight.

mod table;

use std::sync::OnceLock;

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, Result};

use crate::wordpiece::{self, VocabularyPiece};
pub use table::{EmbeddingTable, TableDamage, write_table};

/// The name that users type.
pub const NAME: &str = "builtin";

/// The weight of its nearness against keywords, measured by `loci-bench eval` (bench/README.md).
const WEIGHT: f32 = 1.0;

/// The table compiled into this build.
static BYTES: &[u8] = include_bytes!("../assets/builtin.bin");

/// A known text and the first values of its vector, for the self-test.
const KNOWN: (&str, [f32; 4]) = (
    "A palace keeps every word.",
    [-0.286_027_67, -0.047_942_445, -0.044_401_743, 0.024_806_455],
);

/// The static embedder.
#[derive(Debug)]
pub struct BuiltinEmbedder {
    table: EmbeddingTable<'static>,
    identity: EmbedderIdentity,
}

impl BuiltinEmbedder {
    /// Creates the embedder of the compiled-in table. Costs next to nothing: the table is read in place.
    pub fn new() -> Result<Self> {
        static SOUND: OnceLock<bool> = OnceLock::new();
        let builtin = Self::from_table(BYTES)?;
        // Once per process: the bytes are part of the binary and cannot change while it runs.
        if *SOUND.get_or_init(|| builtin.gives_known_answer()) {
            return Ok(builtin);
        }
        Err(Error::new(
            ErrorKind::Corrupt,
            "the built-in embedder does not give its known answer: this binary is damaged",
        )
        .with_hint("nothing was stored; install loci again, or continue with `--embedder none`"))
    }

    /// Creates the embedder of another table, for training.
    pub fn from_table(bytes: &'static [u8]) -> Result<Self> {
        let table = EmbeddingTable::read(bytes).map_err(|damage| {
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
        let vector = self.embed_text(text);
        vector
            .iter()
            .zip(expected)
            .all(|(value, expected)| (value - expected).abs() < 1e-4)
    }

    fn embed_text(&self, text: &str) -> Vec<f32> {
        let (mut tokens, mut unknown) = (Vec::with_capacity(text.len() / 3), Vec::new());
        wordpiece::encode_with(text, |piece| match piece {
            VocabularyPiece::Entry(id) => tokens.push(id),
            // A direction for each unknown word: as one shared token, all texts in scripts outside the
            // vocabulary would get the same vector (decision 010).
            VocabularyPiece::Unknown(word) => unknown.push(hash_word(word)),
        });
        // A token counts once however often it occurs; otherwise a long text would be about its commonest words.
        tokens.sort_unstable();
        tokens.dedup();
        unknown.sort_unstable();
        unknown.dedup();
        let mut sum = vec![0.0; self.table.dimension()];
        tokens
            .iter()
            .for_each(|token| self.table.add_token(*token, &mut sum));
        for word in unknown {
            add_unknown(word, self.table.usual_length(), &mut sum);
        }
        normalise_vector(&mut sum);
        sum
    }
}

impl Embedder for BuiltinEmbedder {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.embed_text(text)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(self.embed_text(text))
    }

    fn nearness_weight(&self) -> f32 {
        WEIGHT
    }

    fn known_share(&self, query: &str) -> f32 {
        let (mut known, mut all) = (0, 0);
        for word in query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let (mut pieces, mut unknown) = (0, false);
            wordpiece::encode_with(word, |piece| {
                pieces += 1;
                unknown |= matches!(piece, VocabularyPiece::Unknown(_));
            });
            // By length: the short words of other languages are often English words too.
            let length = word.chars().count();
            all += length;
            // A word in pieces was not learned as a word; its pieces mean something else.
            if pieces == 1 && !unknown {
                known += length;
            }
        }
        if all == 0 { 1.0 } else { known as f32 / all as f32 }
    }
}

/// Adds a direction derived from a word outside the vocabulary, so that texts sharing it are nearer.
fn add_unknown(word: u64, length: f32, sum: &mut [f32]) {
    // Plus or minus one step in every dimension gives a vector of the usual length, and random signs make
    // two words nearly perpendicular.
    let step = length / (sum.len() as f32).sqrt();
    let mut state = word;
    for values in sum.chunks_mut(64) {
        let mut bits = mix_state(&mut state);
        for value in values {
            *value += if bits & 1 == 0 { step } else { -step };
            bits >>= 1;
        }
    }
}

/// Returns the FNV-1a hash of a word's bytes.
fn hash_word(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the next number of a SplitMix64 sequence.
fn mix_state(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Scales a vector to length one; a text without tokens gets a fixed direction.
fn normalise_vector(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 1e-12 {
        vector.iter_mut().for_each(|value| *value /= length);
    } else {
        // An empty text still needs a valid vector: a zero one would be refused by every backend.
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

    fn builtin() -> BuiltinEmbedder {
        BuiltinEmbedder::new().unwrap()
    }

    #[test]
    fn it_knows_english_questions_and_little_of_others() {
        let builtin = BuiltinEmbedder::new().unwrap();
        for question in [
            "When did we decide to ship on Fridays?",
            "What was the name of my sister's dog?",
        ] {
            assert!(builtin.known_share(question) > 0.9, "{question}");
        }
        for question in [
            "¿Cuándo decidimos enviar los pedidos de la tienda?",
            "Wann haben wir beschlossen, die Bestellungen zu verschicken?",
            "Когда мы решили отправлять заказы по пятницам?",
            "いつ金曜日に出荷すると決めましたか",
            "zxqv blorptang",
        ] {
            assert!(
                builtin.known_share(question) < 0.6,
                "{question} {}",
                builtin.known_share(question)
            );
        }
        assert_eq!(builtin.known_share(" ?! "), 1.0);
    }

    #[test]
    fn the_file_in_the_tree_is_whole_and_small_enough() {
        assert!(BYTES.len() <= 8_000_000, "{} bytes", BYTES.len());
        let body = &BYTES[BYTES.len() - 29_523 * (256 + 4)..];
        assert_eq!(table::compute_revision(body), builtin().identity.revision);
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
            let [text, same, other] = [text, same, other].map(|text| builtin.embed_text(text));
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
            let vector = builtin().embed_text(text);
            assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-4, "{text:?}");
        }
    }

    #[test]
    fn words_outside_the_vocabulary_tell_texts_apart_and_bring_them_together() {
        let builtin = builtin();
        let [one, near, far] = ["ꯃꯤꯇꯩ ꯂꯣꯟ", "ꯃꯤꯇꯩ ꯃꯌꯦꯛ", "ᚠᚢᚦ ᛗᚨᚾ"].map(|text| builtin.embed_text(text));
        assert!(cosine(&one, &near) > 0.3 && cosine(&one, &far).abs() < 0.3);
        assert!(cosine(&one, &near) < 0.9);
    }

    #[test]
    fn a_token_counts_once_and_order_does_not_count() {
        let builtin = builtin();
        assert_eq!(
            builtin.embed_text("ship red red ship"),
            builtin.embed_text("red ship")
        );
        assert_ne!(builtin.embed_text("red ship"), builtin.embed_text("red boat"));
    }
}
