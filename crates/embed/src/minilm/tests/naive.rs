//! The same model written plainly: one text at a time, 64-bit floats, no packing and no tricks. And small models to
//! run it on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loci_testkit::SeededRandom;

use super::super::weights::ModelShape;

/// A model whose sizes fill no panel.
pub(super) const TINY: ModelShape = ModelShape {
    layers: 2,
    hidden: 24,
    heads: 3,
    inner: 56,
    vocabulary: 130,
    positions: 256,
};

/// Named tensors.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub(super) shape: ModelShape,
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Plain {
    /// A model of this shape with random weights, lively enough that attention matters.
    pub(super) fn random(shape: ModelShape) -> Self {
        let (wide, inner) = (shape.hidden, shape.inner);
        let mut plain = Self {
            shape,
            tensors: BTreeMap::new(),
        };
        let mut random = SeededRandom::new(7);
        plain.fill(
            &mut random,
            "embeddings.word_embeddings.weight",
            &[shape.vocabulary, wide],
            0.0,
            1.0,
        );
        plain.fill(
            &mut random,
            "embeddings.position_embeddings.weight",
            &[shape.positions, wide],
            0.0,
            0.5,
        );
        plain.fill(
            &mut random,
            "embeddings.token_type_embeddings.weight",
            &[2, wide],
            0.0,
            0.3,
        );
        plain.norm(&mut random, "embeddings.LayerNorm");
        for layer in 0..shape.layers {
            let named = |name: &str| format!("encoder.layer.{layer}.{name}");
            for part in ["self.query", "self.key", "self.value", "output.dense"] {
                plain.linear(&mut random, &named(&format!("attention.{part}")), wide, wide);
            }
            plain.linear(&mut random, &named("intermediate.dense"), inner, wide);
            plain.linear(&mut random, &named("output.dense"), wide, inner);
            plain.norm(&mut random, &named("attention.output.LayerNorm"));
            plain.norm(&mut random, &named("output.LayerNorm"));
        }
        plain
    }

    fn fill(&mut self, random: &mut SeededRandom, name: &str, shape: &[usize], about: f32, spread: f32) {
        let size: usize = shape.iter().product();
        let values = (0..size)
            .map(|_| about + spread * 2.0 * random.next_unit())
            .collect();
        self.tensors.insert(name.to_owned(), (shape.to_vec(), values));
    }

    fn linear(&mut self, random: &mut SeededRandom, name: &str, rows: usize, columns: usize) {
        let spread = 2.0 / (columns as f32).sqrt();
        self.fill(random, &format!("{name}.weight"), &[rows, columns], 0.0, spread);
        self.fill(random, &format!("{name}.bias"), &[rows], 0.0, 0.2);
    }

    fn norm(&mut self, random: &mut SeededRandom, name: &str) {
        let wide = self.shape.hidden;
        self.fill(random, &format!("{name}.weight"), &[wide], 1.0, 0.3);
        self.fill(random, &format!("{name}.bias"), &[wide], 0.0, 0.2);
    }

    /// The file of weights.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut header = serde_json::json!({"__metadata__": {"format": "pt"}});
        let mut values: Vec<u8> = Vec::new();
        for (name, (shape, floats)) in &self.tensors {
            let start = values.len();
            values.extend(floats.iter().flat_map(|value| value.to_le_bytes()));
            header[name] =
                serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [start, values.len()]});
        }
        file(&header.to_string(), &values)
    }

    /// Writes the file of weights into `folder`.
    pub(super) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("model.safetensors");
        std::fs::write(&path, self.bytes()).unwrap();
        path
    }

    fn tensor(&self, name: &str) -> &[f32] {
        &self.tensors[name].1
    }

    fn row(&self, name: &str, at: usize) -> &[f32] {
        &self.tensor(name)[at * self.shape.hidden..(at + 1) * self.shape.hidden]
    }

    fn times(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let matrix = self.tensor(&format!("{name}.weight")).chunks_exact(row.len());
        let bias = self.tensor(&format!("{name}.bias"));
        let sums = matrix.map(|weights| {
            weights
                .iter()
                .zip(row)
                .map(|(w, x)| f64::from(*w) * x)
                .sum::<f64>()
        });
        sums.zip(bias).map(|(sum, bias)| sum + f64::from(*bias)).collect()
    }

    fn normalised(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let many = row.len() as f64;
        let mean = row.iter().sum::<f64>() / many;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / many;
        let weight = self.tensor(&format!("{name}.weight"));
        let shift = self.tensor(&format!("{name}.bias"));
        let unit = row.iter().map(|x| (x - mean) / (variance + 1e-12).sqrt());
        unit.zip(weight)
            .zip(shift)
            .map(|((x, w), s)| x * f64::from(*w) + f64::from(*s))
            .collect()
    }

    /// The vector of one window.
    pub(super) fn embed(&self, ids: &[u16]) -> Vec<f64> {
        let whole = [&[101], ids, &[102]].concat();
        let embedded = whole.iter().enumerate().map(|(position, id)| {
            let word = self.row("embeddings.word_embeddings.weight", usize::from(*id));
            let position = self.row("embeddings.position_embeddings.weight", position);
            let kind = self.row("embeddings.token_type_embeddings.weight", 0);
            let sums = word.iter().zip(position).zip(kind);
            let sums: Vec<f64> = sums
                .map(|((a, b), c)| f64::from(*a) + f64::from(*b) + f64::from(*c))
                .collect();
            self.normalised("embeddings.LayerNorm", &sums)
        });
        let mut rows: Vec<Vec<f64>> = embedded.collect();
        for layer in 0..self.shape.layers {
            rows = self.layer(&format!("encoder.layer.{layer}"), &rows);
        }
        let mut sums = vec![0.0; self.shape.hidden];
        rows.iter()
            .flat_map(|row| row.iter().enumerate())
            .for_each(|(at, x)| sums[at] += x);
        unit(&sums)
    }

    fn layer(&self, name: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let size = self.shape.hidden / self.shape.heads;
        let each = |part: &str| -> Vec<Vec<f64>> {
            let name = format!("{name}.attention.self.{part}");
            rows.iter().map(|row| self.times(&name, row)).collect()
        };
        let (asked, keys, values) = (each("query"), each("key"), each("value"));
        let mut next = Vec::new();
        for (row, asked) in rows.iter().zip(&asked) {
            let mut context = vec![0.0; row.len()];
            for head in (0..row.len()).step_by(size) {
                let scores = keys.iter().map(|key| {
                    let product: f64 = (head..head + size).map(|at| asked[at] * key[at]).sum();
                    (product / (size as f64).sqrt()).exp()
                });
                let scores: Vec<f64> = scores.collect();
                let all: f64 = scores.iter().sum();
                for (score, value) in scores.iter().zip(&values) {
                    (head..head + size).for_each(|at| context[at] += score / all * value[at]);
                }
            }
            let seen = self.times(&format!("{name}.attention.output.dense"), &context);
            let row = self.normalised(&format!("{name}.attention.output.LayerNorm"), &plus(row, &seen));
            let wide = self.times(&format!("{name}.intermediate.dense"), &row);
            let bent: Vec<f64> = wide.into_iter().map(gelu).collect();
            let narrow = self.times(&format!("{name}.output.dense"), &bent);
            next.push(self.normalised(&format!("{name}.output.LayerNorm"), &plus(&row, &narrow)));
        }
        next
    }
}

/// A file with this header and these bytes after it.
pub(super) fn file(header: &str, values: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), values].concat()
}

/// A vector at length one.
pub(super) fn unit(vector: &[f64]) -> Vec<f64> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The value weighed by the normal distribution below it, by a series whose terms are all of one sign.
pub(super) fn gelu(x: f64) -> f64 {
    let z = x / 2f64.sqrt();
    let (mut term, mut sum) = (z, z);
    for n in 1..400 {
        term *= 2.0 * z * z / f64::from(2 * n + 1);
        sum += term;
    }
    let erf = if z.abs() > 6.0 {
        z.signum()
    } else {
        2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * sum
    };
    x * 0.5 * (1.0 + erf)
}
