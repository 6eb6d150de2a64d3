//! The guard before every embedder: a vector that cannot be right is refused before anybody stores it.

use std::collections::{BTreeSet, HashMap, HashSet};

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, Result};

/// An embedder whose answers are looked at.
///
/// Refused, naming the model and the text's place in the batch: another number of vectors than texts, a wrong
/// length, a value that is not finite, a vector of zeros, and one vector for texts that differ in their words.
#[derive(Debug)]
pub struct Checked<E> {
    inner: E,
}

impl<E: Embedder> Checked<E> {
    /// Stands before `inner`.
    pub fn new(inner: E) -> Self {
        Self { inner }
    }

    fn check(&self, vector: &[f32], which: &dyn Fn() -> String) -> Result<()> {
        let identity = self.inner.identity();
        let wrong = if vector.len() != identity.dimension {
            Some(format!("has {} values, not {}", vector.len(), identity.dimension))
        } else if let Some(at) = vector.iter().position(|value| !value.is_finite()) {
            Some(format!("is not a finite number at {at}"))
        } else if vector.iter().all(|value| *value == 0.0) {
            Some("is all zero".to_owned())
        } else {
            None
        };
        match wrong {
            Some(wrong) => Err(refused(identity, &format!("the vector of {} {wrong}", which()))),
            None => Ok(()),
        }
    }
}

impl<E: Embedder> Embedder for Checked<E> {
    fn identity(&self) -> &EmbedderIdentity {
        self.inner.identity()
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vectors = self.inner.passages(texts)?;
        if vectors.len() != texts.len() {
            let what = format!("{} vectors came back for {} texts", vectors.len(), texts.len());
            return Err(refused(self.identity(), &what));
        }
        for (at, vector) in vectors.iter().enumerate() {
            self.check(vector, &|| format!("text {at} of {}", texts.len()))?;
        }
        check_distinct(self.identity(), texts, &vectors)?;
        Ok(vectors)
    }

    fn query(&self, text: &str) -> Result<Vec<f32>> {
        let vector = self.inner.query(text)?;
        self.check(&vector, &|| "the question".to_owned())?;
        Ok(vector)
    }

    fn weight(&self) -> f32 {
        self.inner.weight()
    }

    fn is_pinned(&self) -> bool {
        self.inner.is_pinned()
    }
}

/// Refuses a batch in which most texts, all of them such as any model tells apart, got one and the same vector.
///
/// Only texts of three or more different Latin words count, and only by which words they hold: what lies outside a
/// model's alphabet may well fall together, and so may the same words in another order or number.
fn check_distinct(identity: &EmbedderIdentity, texts: &[&str], vectors: &[Vec<f32>]) -> Result<()> {
    let bits = |vector: &Vec<f32>| -> Vec<u32> { vector.iter().map(|value| value.to_bits()).collect() };
    let different: HashSet<Vec<u32>> = vectors.iter().map(bits).collect();
    // Nearly always: then nobody has to look at the words.
    if different.len() == vectors.len() {
        return Ok(());
    }
    let mut texts_of: HashMap<Vec<u32>, BTreeSet<BTreeSet<String>>> = HashMap::new();
    let mut telling = BTreeSet::new();
    for (text, vector) in texts.iter().zip(vectors) {
        let words = latin_words(text);
        if words.len() >= 3 {
            texts_of.entry(bits(vector)).or_default().insert(words.clone());
            telling.insert(words);
        }
    }
    let most = texts_of.values().map(BTreeSet::len).max().unwrap_or(0);
    if most < 2 || most * 2 <= telling.len().max(texts.len()) {
        return Ok(());
    }
    let what = format!(
        "{most} different texts of {} got one and the same vector",
        texts.len()
    );
    Err(refused(identity, &what))
}

fn latin_words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

fn refused(identity: &EmbedderIdentity, what: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the embedder {identity} failed: {what}"),
    )
    .hint("nothing was stored; see `loci model verify`, or go on without vectors with `--embedder none`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers whatever it was told to.
    #[derive(Debug)]
    struct Told(EmbedderIdentity, Vec<Vec<f32>>);

    impl Embedder for Told {
        fn identity(&self) -> &EmbedderIdentity {
            &self.0
        }
        fn passages(&self, _: &[&str]) -> Result<Vec<Vec<f32>>> {
            Ok(self.1.clone())
        }
        fn query(&self, _: &str) -> Result<Vec<f32>> {
            Ok(self.1.first().cloned().unwrap_or_default())
        }
    }

    fn told(vectors: &[[f32; 2]]) -> Checked<Told> {
        let identity = EmbedderIdentity {
            model: "told".into(),
            revision: "1".into(),
            dimension: 2,
        };
        Checked::new(Told(
            identity,
            vectors.iter().map(|vector| vector.to_vec()).collect(),
        ))
    }

    const TEXTS: [&str; 3] = ["one two three", "four five six", "seven eight nine"];

    fn refusal(vectors: &[[f32; 2]], texts: &[&str]) -> String {
        told(vectors).passages(texts).unwrap_err().to_string()
    }

    #[test]
    fn sound_vectors_pass() {
        let vectors = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
        assert_eq!(told(&vectors).passages(&TEXTS).unwrap().len(), 3);
        assert!(told(&vectors).query("one").is_ok());
    }

    #[test]
    fn what_cannot_be_a_vector_is_refused_by_place() {
        let nan = refusal(&[[1.0, 0.0], [f32::NAN, 1.0], [1.0, 1.0]], &TEXTS);
        assert!(nan.contains("text 1 of 3") && nan.contains("told"), "{nan}");
        assert!(refusal(&[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], &TEXTS).contains("all zero"));
        assert!(refusal(&[[1.0, 0.0]], &TEXTS).contains("1 vectors came back for 3"));
        assert!(
            told(&[[0.0, 0.0]])
                .query("x")
                .unwrap_err()
                .to_string()
                .contains("the question")
        );
        let mut short = told(&[[1.0, 0.0]]);
        short.inner.1[0].pop();
        assert!(
            short
                .passages(&["x"])
                .unwrap_err()
                .to_string()
                .contains("1 values, not 2")
        );
    }

    #[test]
    fn one_vector_for_texts_that_differ_is_refused() {
        let same = [[0.5, 0.5]; 3];
        assert!(refusal(&same, &TEXTS).contains("3 different texts of 3"));
        assert!(refusal(&same[..2], &TEXTS[..2]).contains("2 different texts of 2"));
    }

    #[test]
    fn two_texts_alike_to_a_model_do_not_spoil_a_batch() {
        let mut vectors: Vec<[f32; 2]> = (1..=8).map(|n| [n as f32, 1.0]).collect();
        vectors[7] = vectors[6];
        let mut texts = vec!["…"; 6];
        texts.extend(&TEXTS[..2]);
        assert!(told(&vectors).passages(&texts).is_ok());
    }

    #[test]
    fn one_vector_for_texts_that_say_the_same_or_lie_outside_a_model_passes() {
        let same = [[0.5, 0.5]; 2];
        assert!(
            told(&same)
                .passages(&["One two three.", "one two, THREE"])
                .is_ok()
        );
        assert!(told(&same).passages(&["ꯃꯤꯇꯩ", "ꯂꯣꯟ"]).is_ok());
        assert!(told(&same).passages(&["", "…"]).is_ok());
        let often = ["one two three ".repeat(3), "three two one ".repeat(7)];
        assert!(told(&same).passages(&[&often[0], &often[1]]).is_ok());
    }
}
