//! Measures Loci: `cargo run --release -p loci-bench -- storage --rows 50000`.

mod corpus;
mod embed;
mod eval;
mod group;
mod lists;
mod measure;
mod mine;
mod pages;
mod plugin;
mod postgres;
mod scan;
mod search;
mod storage;

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Measures Loci.
#[derive(Debug, Parser)]
struct BenchArguments {
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Writes, queries and sizes of the embedded store.
    Storage {
        /// How many drawers.
        #[arg(long, default_value_t = 10_000)]
        rows: u64,
        /// How often each call is repeated.
        #[arg(long, default_value_t = 100)]
        rounds: usize,
        /// Keep the palace in this folder instead of a temporary one.
        #[arg(long)]
        keep: Option<PathBuf>,
    },
    /// Single writes by many threads at once, each committed alone or in groups.
    Group {
        /// How many drawers are written for each figure.
        #[arg(long, default_value_t = 2000)]
        writes: u64,
        /// Keep the palaces in this folder instead of a temporary one.
        #[arg(long)]
        keep: Option<PathBuf>,
    },
    /// Writes the corpus into a folder, for peers to measure themselves on.
    Corpus {
        /// The folder.
        folder: PathBuf,
        /// How many drawers.
        #[arg(long)]
        rows: u64,
    },
    /// The scan of packed segments alone, in memory.
    Scan {
        /// How many vectors.
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
        /// How often the scan is repeated.
        #[arg(long, default_value_t = 10)]
        rounds: usize,
    },
    /// Reads of a palace that `storage --keep` made.
    Reads {
        /// Its folder.
        folder: PathBuf,
        /// How many drawers it holds.
        #[arg(long)]
        rows: u64,
        /// How often each call is repeated.
        #[arg(long, default_value_t = 100)]
        rounds: usize,
        /// Only the activity of this name; for profiling.
        #[arg(long)]
        only: Option<String>,
    },
    /// Lists, facets and timelines of a palace that `storage --keep` made.
    Lists {
        /// Its folder.
        folder: PathBuf,
        /// How often each call is repeated.
        #[arg(long, default_value_t = 10)]
        rounds: usize,
        /// Only the activities whose names begin so.
        #[arg(long)]
        only: Option<String>,
    },
    /// What a warm search costs on a palace that is there, by the built-in embedder.
    Search {
        /// Its folder.
        folder: PathBuf,
        /// How many questions are asked.
        #[arg(long, default_value_t = 200)]
        rounds: usize,
    },
    /// What embedding costs.
    Embed {
        /// Measure the full model in this folder too.
        #[arg(long)]
        minilm: Option<PathBuf>,
        /// How many drawers the full model embeds.
        #[arg(long, default_value_t = 200)]
        drawers: usize,
    },
    /// What mining costs, by the real binary.
    Mine(mine::MineBenchOptions),
    /// What the pages of a palace cost, and how large they are.
    Pages(pages::PagesBenchOptions),
    /// Palaces in a Postgres server beside the embedded store.
    Postgres(postgres::PostgresBenchOptions),
    /// Backends in programs of their own beside the same backends linked in.
    Plugin(plugin::PluginBenchOptions),
    /// How well the product finds the evidence on sets with known answers.
    Eval(eval::EvalOptions),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match BenchArguments::parse().what {
        BenchCommand::Storage { rows, rounds, keep } => {
            let scratch = tempfile::tempdir()?;
            let folder = keep.unwrap_or_else(|| scratch.path().join("palace"));
            let figures = storage::run(&folder, rows, rounds)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Group { writes, keep } => {
            let scratch = tempfile::tempdir()?;
            let folder = keep.unwrap_or_else(|| scratch.path().join("palaces"));
            let figures = group::run(&folder, writes)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Corpus { folder, rows } => corpus::write(&folder, rows)?,
        BenchCommand::Scan { rows, rounds } => {
            let figures = scan::run(rows, rounds)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Reads {
            folder,
            rows,
            rounds,
            only,
        } => {
            let figures = storage::measure_reads(&folder, rows, rounds, only.as_deref())?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Lists { folder, rounds, only } => {
            let figures = lists::run(&folder, rounds, only.as_deref())?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Search { folder, rounds } => {
            let figures = search::run(&folder, rounds)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Embed { minilm, drawers } => {
            let figures = embed::run(minilm.as_deref(), drawers)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Mine(options) => {
            let figures = mine::run(&options)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Pages(options) => {
            let figures = pages::run(&options)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Postgres(options) => {
            let figures = postgres::run(&options)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
        BenchCommand::Plugin(options) => plugin::run(&options)?.iter().try_for_each(print_figures)?,
        BenchCommand::Eval(options) => {
            let figures = eval::run(&options)?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
        }
    }
    Ok(())
}

fn print_figures(figures: &serde_json::Value) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{figures:#}")
}
