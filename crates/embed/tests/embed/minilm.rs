//! The real model beside the original library: 50 texts, alone and together, and what must not be taken for it.

use std::fs;
use std::path::Path;

use loci_core::{Embedder, ErrorKind};
use loci_embed::CheckedEmbedder;
use loci_embed::minilm::MinilmEmbedder;
use loci_testkit::minilm_folder;
use serde::Deserialize;

/// The least cosine between our vector and the library's.
const NEAR: f64 = 0.999_99;

/// The most memory the process may use with the weights open, in kilobytes.
const RESIDENT_MAX: u64 = 400 * 1024;

#[derive(Debug, Deserialize)]
struct Case {
    name: String,
    windows: usize,
    text: String,
}

/// The texts and the vectors that `scripts/fixtures/minilm.py` had the original library make.
fn cases() -> Vec<(Case, Vec<f32>)> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../fixtures/minilm.json")).unwrap();
    let floats = include_bytes!("../fixtures/minilm.f32").as_chunks::<4>().0;
    let floats: Vec<f32> = floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    assert_eq!((cases.len(), floats.len()), (50, 50 * 384));
    let vectors = floats.chunks_exact(384).map(<[f32]>::to_vec);
    cases.into_iter().zip(vectors).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let dot =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn fifty_texts_come_out_as_the_original_library_has_them() {
    let cases = cases();
    assert!(cases.iter().filter(|(case, _)| case.windows > 1).count() >= 5);
    let texts: Vec<&str> = cases.iter().map(|(case, _)| case.text.as_str()).collect();
    let minilm = CheckedEmbedder::new(MinilmEmbedder::new(minilm_folder()));
    let vectors = minilm.embed_passages(&texts).unwrap();
    let mut worst: f64 = 1.0;
    for ((case, expected), vector) in cases.iter().zip(&vectors) {
        let near = cosine(vector, expected);
        assert!(near >= NEAR, "{}: {near}", case.name);
        worst = worst.min(near);
    }
    println!("the least cosine is {worst:.8}");
}

#[test]
fn a_question_and_a_batch_give_a_text_the_same_vector() {
    let cases = cases();
    let texts: Vec<&str> = cases.iter().rev().map(|(case, _)| case.text.as_str()).collect();
    let minilm = MinilmEmbedder::new(minilm_folder());
    let together = minilm.embed_passages(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&together).step_by(4) {
        assert!(minilm.embed_query(text).unwrap() == *vector, "{text:?}");
    }
    let length: f64 = together[0].iter().map(|value| f64::from(*value).powi(2)).sum();
    assert!((length - 1.0).abs() < 1e-5, "{length}");
}

#[test]
fn nothing_is_read_before_something_is_embedded() {
    let nowhere = tempfile::tempdir().unwrap();
    let minilm = MinilmEmbedder::new(nowhere.path().join("minilm"));
    assert_eq!(minilm.identity().model, "minilm");
    assert_eq!(minilm.identity().dimension, 384);
    assert!(minilm.identity().revision.contains("53aa5117"));
    let error = minilm.embed_query("where is it?").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.message().contains(&nowhere.path().display().to_string()),
        "{error}"
    );
    fs::create_dir(nowhere.path().join("minilm")).unwrap();
    fs::copy(
        minilm_folder().join("model.safetensors"),
        nowhere.path().join("minilm/model.safetensors"),
    )
    .unwrap();
    assert_eq!(
        minilm.embed_query("where is it?").unwrap().len(),
        384,
        "what is put there later is found"
    );
}

/// Writes the real weights with some of their bytes replaced.
fn altered(into: &Path, change: impl Fn(&mut [u8])) -> MinilmEmbedder {
    let mut bytes = fs::read(minilm_folder().join("model.safetensors")).unwrap();
    change(&mut bytes);
    fs::write(into.join("model.safetensors"), bytes).unwrap();
    MinilmEmbedder::new(into)
}

#[test]
fn weights_that_compute_something_else_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = altered(folder.path(), |bytes| {
        let end = bytes.len();
        bytes[end - 8_000_000..end - 4_000_000].fill(0);
    });
    let noise = tempfile::tempdir().unwrap();
    let noise = (
        altered(noise.path(), |bytes| bytes[60_000_000..].fill(0xff)),
        noise,
    );
    for (minilm, folder) in [(zeros, folder), noise] {
        let error = minilm.self_test().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(
            error.message().contains(&folder.path().display().to_string()),
            "{error}"
        );
        assert!(
            minilm.embed_query("a question").is_err(),
            "and nothing is embedded with them"
        );
    }
    MinilmEmbedder::new(self::minilm_folder()).self_test().unwrap();
}

#[test]
fn a_token_the_model_does_not_have_is_refused() {
    let error = MinilmEmbedder::new(minilm_folder())
        .embed_ids(&[&[2000], &[2000, 30_522]])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("30522"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn many_long_texts_fit_the_promised_memory() {
    let minilm = MinilmEmbedder::new(minilm_folder());
    let ids: Vec<Vec<u16>> = (0..24)
        .map(|n| (0..200u16).map(|at| 2000 + (n * 7 + at * 13) % 20_000).collect())
        .collect();
    let texts: Vec<&[u16]> = ids.iter().map(Vec::as_slice).collect();
    assert_eq!(minilm.embed_ids(&texts).unwrap().len(), 24);
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    println!("at most {peak} kB were resident");
    assert!(peak < RESIDENT_MAX, "{peak} kB");
}
