//! What embedding costs: the built-in table and the full model, on texts made of the vocabulary's own words.

use std::path::Path;

use loci_core::{Embedder, Result};
use loci_embed::builtin::BuiltinEmbedder;
use loci_embed::minilm::MinilmEmbedder;
use loci_embed::wordpiece;
use serde_json::{Value, json};

use crate::corpus::BenchRandom;
use crate::measure::{RepeatedCost, cost, memory_mb, repeat};

/// A question of eleven tokens, marks included.
const QUESTION: &str = "when does the ship leave the harbour again";

/// Measures the built-in embedder and, from its folder, the full model on `drawers` texts.
pub(crate) fn run(minilm: Option<&Path>, drawers: usize) -> Result<Value> {
    let mut random = BenchRandom::new(7);
    let texts: Vec<String> = (0..drawers.max(2_000)).map(|_| text(&mut random, 800)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut figures = json!({ "builtin": builtin(&texts)? });
    if let Some(folder) = minilm
        && let Some(figures) = figures.as_object_mut()
    {
        figures.insert(
            "minilm".to_owned(),
            full_model(folder, texts.get(..drawers).unwrap_or(&texts))?,
        );
    }
    Ok(figures)
}

fn builtin(texts: &[&str]) -> Result<Value> {
    let (embedder, opened) = cost(BuiltinEmbedder::new);
    let embedder = embedder?;
    let (vectors, batch) = cost(|| embedder.embed_passages(texts));
    vectors?;
    let question = repeat(1_000, |_| drop(embedder.embed_query(QUESTION)));
    Ok(json!({
        "open_cpu_ms": opened.cpu * 1e3,
        "texts": texts.len(),
        "characters": texts.iter().map(|text| text.len()).sum::<usize>() / texts.len().max(1),
        "texts_per_cpu_second": texts.len() as f64 / batch.cpu,
        "question": told(&question),
        "peak_mb": memory_mb().1,
    }))
}

fn full_model(folder: &Path, texts: &[&str]) -> Result<Value> {
    let embedder = MinilmEmbedder::new(folder);
    let (first, opened) = cost(|| embedder.embed_query(QUESTION));
    first?;
    let question = repeat(50, |_| drop(embedder.embed_query(QUESTION)));
    let single = repeat(30, |round| {
        drop(embedder.embed_passages(texts.get(round..=round).unwrap_or_default()))
    });
    let (vectors, batch) = cost(|| embedder.embed_passages(texts));
    vectors?;
    let mut tokens = Vec::new();
    texts.iter().for_each(|text| wordpiece::encode(text, &mut tokens));
    Ok(json!({
        "first_question_cpu_ms": opened.cpu * 1e3,
        "question": told(&question),
        "drawer_alone": told(&single),
        "drawers": texts.len(),
        "tokens_per_drawer": tokens.len() / texts.len().max(1),
        "drawer_in_batch_cpu_ms": batch.cpu * 1e3 / texts.len().max(1) as f64,
        "drawers_per_second": texts.len() as f64 / batch.wall,
        "peak_mb": memory_mb().1,
    }))
}

fn told(repeated: &RepeatedCost) -> Value {
    let [median, _, least] = repeated.wall_ms;
    json!({ "cpu_ms": repeated.cpu_ms, "wall_ms_median": median, "wall_ms_min": least })
}

/// About `length` characters of whole words, common ones more often, as sentences.
fn text(random: &mut BenchRandom, length: usize) -> String {
    // Whole words begin at this entry of the vocabulary, roughly by how common they are.
    let words = 1_996..20_000_u16;
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        let spread = f64::from(words.end - words.start);
        let rank = (spread.powf(random.unit()) - 1.0) as u16;
        let word = wordpiece::entry_text(words.start + rank).unwrap_or("word");
        if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            text.push_str(word);
            text.push_str(if random.below(12) == 0 { ". " } else { " " });
        }
    }
    text
}
