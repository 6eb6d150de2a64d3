//! Lessons: texts as tokens, each with the vector the teacher gives it, kept in one file.
//!
//! The file is a run of lessons: the number of tokens and of values as u32, the tokens as u16, the values as f32,
//! all little-endian. The teacher is slow, so it is asked once and training reads the file.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};

use crate::chance::SeededChance;
use crate::texts::TokenIds;

/// What the student is to learn.
#[derive(Debug, Default)]
pub(crate) struct LessonSet {
    pub(crate) texts: Vec<TokenIds>,
    /// The teacher's vectors, one after another.
    pub(crate) targets: Vec<f32>,
    pub(crate) dimension: usize,
}

impl LessonSet {
    /// Puts lessons into an order that only they and `seed` decide, whatever order they were taught in: vocabulary
    /// entries, then texts. The embedder counts a token once, however often it stands in a text, so that it is
    /// learned from once.
    pub(crate) fn settle(&mut self, seed: u64) {
        let taught = std::mem::take(&mut self.texts);
        let targets = std::mem::take(&mut self.targets);
        let mut pairs: Vec<(TokenIds, &[f32])> = taught
            .into_iter()
            .zip(targets.chunks_exact(self.dimension.max(1)))
            .collect();
        pairs.sort_by(|(a, _), (b, _)| (a.len() > 1, a).cmp(&(b.len() > 1, b)));
        let entries = pairs.partition_point(|(text, _)| text.len() == 1);
        if let Some(texts) = pairs.get_mut(entries..) {
            SeededChance::new(seed).shuffle(texts);
        }
        for (mut text, target) in pairs {
            text.sort_unstable();
            text.dedup();
            self.texts.push(text);
            self.targets.extend_from_slice(target);
        }
    }
}

/// Adds lessons to a file.
#[derive(Debug)]
pub(crate) struct LessonWriter(BufWriter<File>);

impl LessonWriter {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| failed(path, error))?;
        Ok(Self(BufWriter::new(file)))
    }

    pub(crate) fn push(&mut self, tokens: &[u16], target: &[f32]) -> std::io::Result<()> {
        self.0.write_all(&(tokens.len() as u32).to_le_bytes())?;
        self.0.write_all(&(target.len() as u32).to_le_bytes())?;
        tokens
            .iter()
            .try_for_each(|token| self.0.write_all(&token.to_le_bytes()))?;
        target
            .iter()
            .try_for_each(|value| self.0.write_all(&value.to_le_bytes()))
    }

    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Adds every lesson of a file.
pub(crate) fn read(path: &Path, lessons: &mut LessonSet) -> Result<()> {
    let file = File::open(path).map_err(|error| failed(path, error))?;
    let mut reader = BufReader::new(file);
    let mut head = [0; 8];
    while reader.read_exact(&mut head).is_ok() {
        let [tokens, values] = [0, 4].map(|at| {
            let bytes = head.iter().skip(at).take(4).rev();
            bytes.fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
        });
        let mut bytes = vec![0; tokens * 2 + values * 4];
        reader
            .read_exact(&mut bytes)
            .map_err(|error| failed(path, error))?;
        let (text, target) = bytes.split_at(tokens * 2);
        let text = text.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two));
        lessons.texts.push(text.collect());
        let target = target
            .as_chunks::<4>()
            .0
            .iter()
            .map(|four| f32::from_le_bytes(*four));
        lessons.targets.extend(target);
        lessons.dimension = values;
    }
    Ok(())
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("lessons in {}", path.display())).caused_by(error)
}
