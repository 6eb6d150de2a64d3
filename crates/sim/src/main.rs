//! The command `loci-sim`: runs seeds, and says how to run a failing one again.
#![allow(clippy::print_stdout, reason = "it reports to the terminal")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use loci_sim::{MOST_PROCESSES, SeedOutcome, SimSettings, run_seed};

/// Runs the embedded store on a simulated machine
#[derive(Debug, Parser)]
#[command(name = "loci-sim")]
struct SimArguments {
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The number of seeds to run, from the first on
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// The number of processes; chosen by the seed if it is not given
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_PROCESSES as u64))]
    processes: Option<u64>,
    /// Writes the trace of the last seed to this file
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Runs every seed twice and compares the traces
    #[arg(long)]
    twice: bool,
    /// Also removes, cuts and replaces files under the processes
    #[arg(long)]
    exchange: bool,
    /// Stops at the first seed that fails
    #[arg(long)]
    stop: bool,
}

fn main() -> ExitCode {
    let arguments = SimArguments::parse();
    let settings = SimSettings {
        processes: arguments.processes.and_then(|n| usize::try_from(n).ok()),
        keep_trace: arguments.trace.is_some(),
        exchanges: arguments.exchange,
        ..SimSettings::default()
    };
    let began = Instant::now();
    let (mut ran, mut failed, mut lines, mut hashes) = (0_u64, 0_u64, 0, 0_u64);
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let outcome = run_seed(seed, &settings);
        let (more, hash) = outcome.trace.digest();
        (lines, hashes) = (lines + more, hashes.rotate_left(1) ^ hash);
        failed += u64::from(!report_seed(seed, &arguments, &settings, &outcome));
        for (what, times) in outcome.tally {
            *tally.entry(what).or_default() += times;
        }
        ran += 1;
        if failed > 0 && arguments.stop {
            break;
        }
    }
    for (what, times) in &tally {
        println!("{times:>9} {what}");
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{lines} lines of trace, hash {hashes:016x}\n{} seeds, {failed} failed, {seconds:.1} s, {:.0} seeds/s",
        ran,
        ran as f64 / seconds
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints everything that went wrong with a seed; returns whether nothing did.
fn report_seed(seed: u64, arguments: &SimArguments, settings: &SimSettings, outcome: &SeedOutcome) -> bool {
    let mut wrong = outcome.violations.clone();
    if arguments.twice {
        let again = run_seed(seed, settings);
        if again.trace.digest() != outcome.trace.digest() {
            let differs = outcome.trace.lines().iter().zip(again.trace.lines());
            let first = differs.enumerate().find(|(_, (one, other))| one != other);
            wrong.push(format!("the second run differs: {first:?}"));
        }
    }
    if let Some(file) = &arguments.trace {
        let written = std::fs::write(file, outcome.trace.lines().join("\n") + "\n");
        wrong.extend(
            written
                .err()
                .map(|error| format!("the trace was not written: {error}")),
        );
    }
    if wrong.is_empty() {
        return true;
    }
    println!("seed {seed} fails:");
    wrong.iter().take(5).for_each(|why| println!("  {why}"));
    let processes = arguments
        .processes
        .map_or_else(String::new, |n| format!(" --processes {n}"));
    let exchange = if arguments.exchange { " --exchange" } else { "" };
    println!(
        "  again: cargo run --release -p loci-sim -- --seed {seed}{processes}{exchange} --trace trace.txt"
    );
    false
}
