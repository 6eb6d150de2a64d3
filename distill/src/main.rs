//! Makes the table of the built-in embedder: `cargo run --release -p loci-distill -- --help`.

mod chance;
mod lessons;
mod spectrum;
mod texts;
mod train;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use loci_core::{Error, Result};
use loci_embed::minilm::MinilmEmbedder;
use loci_embed::{builtin, wordpiece};

use lessons::LessonSet;
use spectrum::SpectrumProjection;
use train::{StudentTable, TrainingCourse};

/// The first token that means something: those before it are marks and unused entries.
const FIRST: u16 = 999;

/// How many texts the teacher is asked at once.
const ASKED: usize = 2_048;

/// Makes the table of the built-in embedder.
#[derive(Debug, Parser)]
struct DistillArguments {
    #[command(subcommand)]
    what: DistillCommand,
}

#[derive(Debug, Subcommand)]
enum DistillCommand {
    /// Asks the full model for the vector of every text and every vocabulary entry.
    Teach {
        /// The folder of the full model.
        #[arg(long)]
        model: PathBuf,
        /// The folder of texts, one passage a line.
        #[arg(long)]
        texts: PathBuf,
        /// At most this many passages of each file.
        #[arg(long, default_value_t = usize::MAX)]
        most: usize,
        /// The file of lessons to write.
        #[arg(long)]
        out: PathBuf,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Trains a table on lessons.
    Train {
        /// Files of lessons; the first must hold the vocabulary.
        #[arg(long, required = true)]
        lessons: Vec<PathBuf>,
        /// The table to write.
        #[arg(long)]
        out: PathBuf,
        #[arg(long, default_value_t = 256)]
        dimension: usize,
        /// Nothing is learned with 0: the table as distilled.
        #[arg(long, default_value_t = 4)]
        epochs: usize,
        #[arg(long, default_value_t = 1_024)]
        batch: usize,
        #[arg(long, default_value_t = 0.004)]
        rate: f32,
        #[arg(long, default_value_t = 20.0)]
        likeness: f32,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    match DistillArguments::parse().what {
        DistillCommand::Teach {
            model,
            texts,
            most,
            out,
            seed,
        } => teach(&model, &texts, most, &out, seed)?,
        DistillCommand::Train {
            lessons,
            out,
            dimension,
            epochs,
            batch,
            rate,
            likeness,
            seed,
        } => {
            let course = TrainingCourse {
                epochs,
                batch,
                rate,
                likeness,
                seed,
            };
            let table = learn(&lessons, dimension, &course)?;
            std::fs::write(out, table)?;
        }
    }
    Ok(())
}

fn tell(line: &str) {
    // Nobody to tell is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes a lesson for each vocabulary entry, then for each text.
fn teach(model: &Path, folder: &Path, most: usize, out: &Path, seed: u64) -> Result<()> {
    let teacher = MinilmEmbedder::new(model);
    let mut all: Vec<Vec<u16>> = (FIRST..wordpiece::ENTRIES as u16).map(|id| vec![id]).collect();
    all.extend(texts::read(folder, most, seed)?);
    let mut writer = lessons::LessonWriter::create(out)?;
    for (at, some) in all.chunks(ASKED).enumerate() {
        let asked: Vec<&[u16]> = some.iter().map(Vec::as_slice).collect();
        let written = asked.iter().zip(teacher.embed_ids(&asked)?);
        written
            .into_iter()
            .try_for_each(|(tokens, vector)| writer.push(tokens, &vector))
            .map_err(|error| Error::invalid(format!("the lessons cannot be written: {error}")))?;
        tell(&format!("{} of {} texts", (at * ASKED + some.len()), all.len()));
    }
    writer
        .finish()
        .map_err(|error| Error::invalid(format!("the lessons cannot be written: {error}")))
}

/// The bytes of a table trained on lessons.
fn learn(files: &[PathBuf], dimension: usize, course: &TrainingCourse) -> Result<Vec<u8>> {
    let mut lessons = LessonSet::default();
    for file in files {
        lessons::read(file, &mut lessons)?;
    }
    lessons.settle(course.seed);
    let words = wordpiece::ENTRIES - usize::from(FIRST);
    let width = lessons.dimension;
    let (entries, texts) = lessons.texts.split_at(words.min(lessons.texts.len()));
    let (entry_targets, targets) = lessons.targets.split_at(entries.len() * width);
    let projection = SpectrumProjection::strongest(targets, width, dimension);
    let targets = projection.apply(targets);
    let mut student = StudentTable {
        first: FIRST,
        dimension,
        values: start(&projection, entry_targets, width),
    };
    // One text in fifty is kept back to see whether what is learned holds for others.
    let kept = texts.len() / 50;
    let (held, texts) = texts.split_at(kept);
    let (held_targets, targets) = targets.split_at(kept * dimension);
    let say = |name: &str, student: &StudentTable| {
        let seen = texts.len().min(kept);
        let own = student.agreement(texts.get(..seen).unwrap_or_default(), targets);
        tell(&format!(
            "{name}: cosine {own:.4}, on texts kept back {:.4}",
            student.agreement(held, held_targets)
        ));
    };
    say("as distilled", &student);
    student.learn(texts, targets, course, |epoch, loss, student| {
        say(&format!("epoch {} loss {loss:.4}", epoch + 1), student);
    });
    Ok(builtin::write_table(u32::from(FIRST), dimension, &student.values))
}

/// The table as distilled: entries as the teacher sees them alone, common ones weighted down.
fn start(projection: &SpectrumProjection, entries: &[f32], width: usize) -> Vec<f32> {
    let count = (entries.len() / width).max(1) as f32;
    let mut mean = vec![0.0_f32; width];
    for entry in entries.chunks_exact(width) {
        mean.iter_mut()
            .zip(entry)
            .for_each(|(mean, value)| *mean += value / count);
    }
    let centred: Vec<f32> = entries
        .chunks_exact(width)
        .flat_map(|entry| {
            entry
                .iter()
                .zip(&mean)
                .map(|(value, mean)| value - mean)
                .collect::<Vec<_>>()
        })
        .collect();
    let mut table = projection.apply(&centred);
    let total: f32 = (0..count as usize).map(|rank| 1.0 / (rank as f32 + 2.7)).sum();
    for (rank, row) in table.chunks_exact_mut(projection.width()).enumerate() {
        let share = 1.0 / (rank as f32 + 2.7) / total;
        row.iter_mut().for_each(|value| *value *= 1e-3 / (1e-3 + share));
    }
    table
}
