//! A corpus that can be made again anywhere: drawers of about 800 characters with clustered 384-value vectors.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use loci_core::Timestamp;
use serde_json::json;

/// How many values a vector has.
pub(crate) const DIMENSION: usize = 384;

/// How many clusters the vectors form.
const CLUSTERS: usize = 2000;

/// How many different words the texts use.
const VOCABULARY: u64 = 30_000;

/// A small deterministic generator (xorshift), the same on every machine and in `chroma.py`'s input file.
#[derive(Debug, Clone)]
pub(crate) struct BenchRandom(u64);

impl BenchRandom {
    /// Starts a sequence.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits.
    pub(crate) fn next_bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number from 0 up to `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        (self.unit() * n as f64) as u64
    }

    /// Roughly normal: the sum of four uniform numbers, centred.
    fn normal(&mut self) -> f32 {
        (0..4).map(|_| self.unit() as f32 - 0.5).sum::<f32>() * 1.73
    }
}

/// One drawer of the corpus.
#[derive(Debug, Clone)]
pub(crate) struct CorpusSample {
    /// Its id.
    pub(crate) id: String,
    /// Its text, about 800 characters.
    pub(crate) text: String,
    /// One of 20 wings: a filter on one keeps 5 % of the drawers.
    pub(crate) wing: String,
    /// One of 10 rooms in each wing: a filter on both keeps 0.5 %.
    pub(crate) room: String,
    /// The file it was cut from; about twelve drawers share one.
    pub(crate) source: String,
    /// When it was said: a source every quarter of an hour, its drawers half a minute apart.
    pub(crate) said_at: Timestamp,
    /// Its vector.
    pub(crate) vector: Vec<f32>,
}

/// The `n`-th word of the vocabulary: pronounceable, so that it looks like one to a tokeniser.
pub(crate) fn word(n: u64) -> String {
    const ONSETS: [&str; 16] = [
        "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "t", "v", "st", "tr", "br", "kl",
    ];
    const VOWELS: [&str; 5] = ["a", "o", "u", "i", "e"];
    let mut left = n;
    let mut word = String::new();
    loop {
        word.push_str(ONSETS.get((left % 16) as usize).copied().unwrap_or("b"));
        left /= 16;
        word.push_str(VOWELS.get((left % 5) as usize).copied().unwrap_or("a"));
        left /= 5;
        if left == 0 {
            return word;
        }
    }
}

/// A word drawn as texts draw them: common ones often, rare ones seldom.
pub(crate) fn draw_word(random: &mut BenchRandom) -> String {
    let rank = (VOCABULARY as f64).powf(random.unit()) - 1.0;
    word(rank as u64)
}

fn text(random: &mut BenchRandom) -> String {
    let mut text = String::with_capacity(820);
    while text.len() < 790 {
        if !text.is_empty() {
            text.push(if random.below(12) == 0 { '\n' } else { ' ' });
        }
        text.push_str(&draw_word(random));
    }
    text
}

/// The centre of cluster `n`.
fn centre(n: u64) -> Vec<f32> {
    let mut random = BenchRandom::new(0xc1a5_5000 + n);
    (0..DIMENSION).map(|_| random.normal()).collect()
}

/// The vector of sample `n`, of length one.
pub(crate) fn vector(n: u64) -> Vec<f32> {
    vector_from(&mut BenchRandom::new(n.wrapping_add(1)))
}

fn vector_from(random: &mut BenchRandom) -> Vec<f32> {
    let mut vector = centre(random.below(CLUSTERS as u64));
    vector
        .iter_mut()
        .for_each(|value| *value += 0.6 * random.normal());
    scale_to_one(&mut vector);
    vector
}

/// How the vectors of a corpus lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CorpusShape {
    /// In clusters, none of them narrow.
    Clustered,
    /// In groups of fifty that hardly differ; a quarter of each are equal.
    NearDuplicates,
}

impl CorpusShape {
    /// The vector of sample `n`.
    pub(crate) fn vector(self, n: u64) -> Vec<f32> {
        const GROUP: u64 = 50;
        match self {
            Self::Clustered => vector(n),
            Self::NearDuplicates if n.is_multiple_of(4) => vector_around(n / GROUP, n, 0.0),
            Self::NearDuplicates => vector_around(n / GROUP, n, 0.02),
        }
    }

    /// The vector of the query in a round; never one that is stored.
    pub(crate) fn probe(self, round: u64, rows: u64) -> Vec<f32> {
        let n = rows * 3 + round * 7919;
        match self {
            Self::Clustered => vector(n),
            Self::NearDuplicates => vector_around(round * 7919 % rows.div_ceil(50), n, 0.3),
        }
    }
}

/// A vector of length one near the centre of a cluster.
fn vector_around(cluster: u64, n: u64, noise: f32) -> Vec<f32> {
    let mut random = BenchRandom::new(n.wrapping_add(1));
    let mut vector = centre(cluster);
    vector
        .iter_mut()
        .for_each(|value| *value += noise * random.normal());
    scale_to_one(&mut vector);
    vector
}

fn scale_to_one(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|value| *value /= length);
}

/// Sample `n` of the corpus.
pub(crate) fn sample(n: u64) -> CorpusSample {
    let mut random = BenchRandom::new(n.wrapping_add(1));
    let vector = vector_from(&mut random);
    CorpusSample {
        id: format!("drawer-{n:08}"),
        text: text(&mut random),
        wing: format!("wing-{}", n % 20),
        room: format!("room-{}", n / 20 % 10),
        source: format!("notes/file-{:06}.md", n / 12),
        said_at: said_at(n),
        vector,
    }
}

/// The moment at which sample `n` was said; a million of them fill two years and four months from 2024 on.
fn said_at(n: u64) -> Timestamp {
    const START: u64 = 1_704_067_200;
    let seconds = START + n / 12 * 900 + n % 12 * 30;
    Timestamp::from_micros(seconds as i64 * 1_000_000).expect("the corpus ends long before the calendar")
}

/// How many query vectors are written behind those of the drawers.
const PROBES: u64 = 100;

/// Writes `drawers.jsonl` and `vectors.f32` (little-endian, then query vectors) into `folder`.
pub(crate) fn write(folder: &Path, rows: u64) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut lines = BufWriter::new(File::create(folder.join("drawers.jsonl"))?);
    let mut vectors = BufWriter::new(File::create(folder.join("vectors.f32"))?);
    for n in 0..rows {
        let CorpusSample {
            id,
            text,
            wing,
            room,
            source,
            said_at: _,
            vector,
        } = sample(n);
        let line = json!({"id": id, "text": text, "wing": wing, "room": room, "source": source});
        writeln!(lines, "{line}")?;
        vector
            .iter()
            .try_for_each(|value| vectors.write_all(&value.to_le_bytes()))?;
    }
    for n in 0..PROBES {
        let vector = sample(rows * 3 + n * 7919).vector;
        vector
            .iter()
            .try_for_each(|value| vectors.write_all(&value.to_le_bytes()))?;
    }
    lines.flush()?;
    vectors.flush()
}
