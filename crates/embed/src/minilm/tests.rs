//! The model's arithmetic and its gathering of texts, on small random models; the real weights have their own tests.

mod naive;

use std::path::Path;

use loci_core::{Error, ErrorKind};

use super::batch::embed_texts;
use super::kernel::{self, SimdLevel};
use super::weights::{MINILM, ModelShape, ModelWeights};
use naive::{Plain, TINY, file};

/// One layer as wide as the real ones.
const ONE_LAYER: ModelShape = ModelShape {
    layers: 1,
    vocabulary: 130,
    ..MINILM
};

fn open(plain: &Plain, level: SimdLevel) -> ModelWeights {
    let folder = tempfile::tempdir().unwrap();
    ModelWeights::open(&plain.write(folder.path()), plain.shape, level).unwrap()
}

/// A text of `many` tokens, different for each `seed`.
fn text(seed: usize, many: usize) -> Vec<u16> {
    (0..many)
        .map(|at| ((seed * 31 + at * 17 + at * at * 3) % 130) as u16)
        .collect()
}

fn slices(texts: &[Vec<u16>]) -> Vec<&[u16]> {
    texts.iter().map(Vec::as_slice).collect()
}

fn apart(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
}

#[test]
fn texts_of_all_lengths_come_out_as_the_plain_model_has_them_at_every_level() {
    let plain = Plain::random(TINY);
    let texts: Vec<_> = [0, 1, 2, 5, 12, 13, 29, 30, 31, 47, 48, 100, 254]
        .map(|many| text(many, many))
        .into();
    let expected: Vec<_> = texts.iter().map(|ids| plain.embed(ids)).collect();
    for level in SimdLevel::detected_levels() {
        let vectors = embed_texts(&open(&plain, level), &slices(&texts), 2);
        for ((ids, vector), expected) in texts.iter().zip(&vectors).zip(&expected) {
            let apart = apart(vector, expected);
            assert!(apart < 1e-5, "{level:?}, {} tokens: {apart}", ids.len());
        }
    }
}

#[test]
fn every_level_agrees_with_the_portable_one_at_the_real_width() {
    let plain = Plain::random(ONE_LAYER);
    let texts: Vec<_> = [0, 11, 40, 254].map(|many| text(many, many)).into();
    let portable = embed_texts(&open(&plain, SimdLevel::detected_levels()[0]), &slices(&texts), 1);
    for level in SimdLevel::detected_levels() {
        for (vector, portable) in embed_texts(&open(&plain, level), &slices(&texts), 1)
            .iter()
            .zip(&portable)
        {
            let portable: Vec<f64> = portable.iter().map(|x| f64::from(*x)).collect();
            let apart = apart(vector, &portable);
            assert!(apart < 1e-5, "{level:?}: {apart}");
        }
    }
}

#[test]
fn a_text_has_one_vector_whatever_stands_beside_it_and_wherever_it_runs() {
    let weights = open(&Plain::random(TINY), SimdLevel::widest_level());
    let texts: Vec<_> = (0..150).map(|seed| text(seed, seed * 37 % 300)).collect();
    let alone: Vec<_> = texts
        .iter()
        .map(|ids| embed_texts(&weights, &[ids], 1).remove(0))
        .collect();
    for threads in [1, 2, 5] {
        assert!(
            embed_texts(&weights, &slices(&texts), threads) == alone,
            "with {threads} threads"
        );
    }
    assert!(embed_texts(&weights, &[], 2).is_empty());
}

#[test]
fn a_long_text_is_the_mean_of_its_windows_by_their_tokens() {
    let plain = Plain::random(TINY);
    let weights = open(&plain, SimdLevel::widest_level());
    for (many, sizes) in [
        (255, vec![127, 128]),
        (508, vec![254; 2]),
        (509, vec![169, 170, 170]),
        (1270, vec![254; 5]),
    ] {
        let ids = text(many, many);
        let mut sum = vec![0.0; TINY.hidden];
        let mut rest = ids.as_slice();
        for size in sizes {
            let (window, after) = rest.split_at(size);
            let vector = plain.embed(window);
            sum.iter_mut()
                .zip(vector)
                .for_each(|(sum, x)| *sum += x * size as f64);
            rest = after;
        }
        assert!(rest.is_empty());
        let apart = apart(&embed_texts(&weights, &[&ids], 2)[0], &naive::unit(&sum));
        assert!(apart < 1e-5, "{many} tokens: {apart}");
    }
}

#[test]
fn the_curves_are_as_exact_as_their_floats() {
    for level in SimdLevel::detected_levels() {
        let from: Vec<f32> = (-12_000..12_000).map(|at| at as f32 / 1000.0).collect();
        let mut bent = from.clone();
        kernel::gelu(level, &mut bent);
        for (x, bent) in from.iter().zip(&bent) {
            let expected = naive::gelu(f64::from(*x));
            assert!(
                (f64::from(*bent) - expected).abs() < 1e-6 * f64::from(x.abs()).max(1.0),
                "{level:?}: {x}"
            );
        }
        let mut scores: Vec<f32> = (0..64).map(|at| (at * 13 % 64) as f32 - 70.0).collect();
        let expected: Vec<f64> = scores
            .iter()
            .take(50)
            .map(|x| (f64::from(*x) * 0.7).exp())
            .collect();
        let mut share = [0.0];
        kernel::raise(level, &mut scores, 64, 50, 0.7, &mut share);
        for (raised, expected_one) in scores.iter().zip(&expected) {
            let found = f64::from(*raised) * f64::from(share[0]);
            let expected = expected_one / expected.iter().sum::<f64>();
            assert!(
                (found - expected).abs() <= 5e-6 * expected,
                "{level:?}: {found} is not {expected}"
            );
        }
        assert!(scores[50..].iter().all(|raised| *raised < 1e-37));
    }
}

#[test]
fn the_working_memory_stays_under_its_ceiling() {
    let weights = open(&Plain::random(ONE_LAYER), SimdLevel::widest_level());
    let mixed: Vec<usize> = (0..2000).map(|at| at * 101 % 255).collect();
    for lengths in [
        vec![254; 3000],
        vec![0; 9000],
        vec![128; 999],
        vec![170; 999],
        vec![100_000],
        mixed,
    ] {
        let texts: Vec<_> = lengths.iter().map(|many| text(1, *many)).collect();
        for threads in [1, 2, 64] {
            let held = super::batch::largest(&weights, &slices(&texts), threads);
            assert!(held <= super::SPACE_PER_CORE, "{held} bytes");
            assert!(
                held > super::SPACE_PER_CORE / 8 || threads == 64,
                "{held} bytes are no run at all"
            );
        }
    }
}

fn refused(bytes: &[u8]) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    std::fs::write(&path, bytes).unwrap();
    let error =
        ModelWeights::open(&path, TINY, SimdLevel::widest_level()).expect_err("a broken file was opened");
    let named = error.message().contains(&path.display().to_string());
    assert!(named, "{error}");
    error
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = Plain::random(TINY).bytes();
    assert!(bytes.len() > 10_000);
    for end in (0..bytes.len()).step_by(997).chain([1, 7, 8, 9, bytes.len() - 1]) {
        let error = refused(&bytes[..end]);
        let empty = end == 0 && error.kind() == ErrorKind::Io;
        assert!(error.kind() == ErrorKind::Corrupt || empty, "{end}: {error}");
    }
}

#[test]
fn a_header_that_lies_is_refused_and_says_where() {
    let whole = Plain::random(TINY).bytes();
    let length = u64::from_le_bytes(*whole.first_chunk().unwrap()) as usize;
    let (header, values) = whole[8..].split_at(length);
    let header: serde_json::Value = serde_json::from_slice(header).unwrap();
    let name = "encoder.layer.1.output.dense.weight";
    let lies = [
        ("dtype", serde_json::json!("F16"), "F16"),
        ("dtype", serde_json::json!(7), name),
        ("shape", serde_json::json!([56, 24]), "[56, 24]"),
        ("shape", serde_json::json!([u64::MAX, u64::MAX]), name),
        ("shape", serde_json::json!([-1]), name),
        ("data_offsets", serde_json::json!([0, 4]), "not its size"),
        ("data_offsets", serde_json::json!([5376, 0]), "not its size"),
        (
            "data_offsets",
            serde_json::json!([values.len() - 4, values.len() + 5372]),
            "ends before",
        ),
        (
            "data_offsets",
            serde_json::json!([u64::MAX - 5376, u64::MAX]),
            "ends before",
        ),
        ("data_offsets", serde_json::json!([1]), name),
    ];
    for (field, lie, says) in lies {
        let mut header = header.clone();
        header[name][field] = lie;
        let error = refused(&file(&header.to_string(), values));
        assert!(error.message().contains(says), "{error}");
    }
    let mut without = header.clone();
    without.as_object_mut().unwrap().remove(name);
    let error = refused(&file(&without.to_string(), values));
    assert!(error.message().contains("missing"), "{error}");
    for (bytes, says) in [
        (u64::MAX.to_le_bytes().to_vec(), "claims"),
        (file("{", values), "not valid"),
        (file("[]", values), "not valid"),
        (file("{\"a\":null}", values), "not valid at \"a\""),
        (file(&"[".repeat(100_000), values), "not valid"),
    ] {
        let error = refused(&bytes);
        assert!(error.message().contains(says), "{error}");
    }
}

#[test]
fn weights_of_another_model_fail_the_known_sentence() {
    let mut shape = ONE_LAYER;
    shape.vocabulary = MINILM.vocabulary;
    let weights = open(&Plain::random(shape), SimdLevel::widest_level());
    let error = super::known::check_weights(&weights, Path::new("some/folder")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("some/folder"), "{error}");
}
