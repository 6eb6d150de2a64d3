//! Measures the secret scanner: recall of planted secrets, clean text it touches, and speed.
//!
//! `cargo run --release -p loci-secrets --example measure -- recall|clean|speed FOLDER…`

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports to the terminal"
)]
#![allow(
    clippy::indexing_slicing,
    reason = "a wrong index ends the measurement, and should"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it reads the folders it is given, and a clock"
)]

mod corpus;
mod makers;
mod passwords;
mod places;
mod random;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use loci_secrets::{SecretScanner, SecretSpan};

use corpus::CorpusText;
use random::PlantRandom;

/// The number of secrets that are planted.
const PLANTED: usize = 2_000;
/// The seed of the plants; another one is given as `SEED=…` in place of a folder.
const SEED: u64 = 20_260_101;

fn main() {
    let mut words = std::env::args().skip(1);
    let Some(command) = words.next() else {
        eprintln!("usage: measure recall|clean|speed [SEED=n] FOLDER…");
        std::process::exit(2);
    };
    let (options, folders): (Vec<String>, Vec<String>) = words.partition(|word| word.starts_with("SEED="));
    let seed = options
        .first()
        .and_then(|option| option.strip_prefix("SEED=")?.parse().ok())
        .unwrap_or(SEED);
    let folders: Vec<PathBuf> = folders.into_iter().map(PathBuf::from).collect();
    let texts = corpus::read_texts(&folders);
    let scanner = SecretScanner::new();
    match command.as_str() {
        "recall" => measure_recall(&scanner, &texts, seed),
        "clean" => measure_clean(&scanner, &texts),
        "speed" => measure_speed(&scanner, &texts),
        _ => eprintln!("unknown command {command}"),
    }
}

/// The results for one kind of plant.
#[derive(Default)]
struct KindResult {
    planted: usize,
    covered: usize,
    exact: usize,
    same_kind: usize,
    missed: Vec<String>,
}

fn measure_recall(scanner: &SecretScanner, texts: &[CorpusText], seed: u64) {
    let mut random = PlantRandom::new(seed);
    let makers = makers::all_makers();
    let mut results: BTreeMap<(bool, &str), KindResult> = BTreeMap::new();
    let carriers: Vec<&CorpusText> = texts
        .iter()
        .filter(|text| text.text.len() < 64 << 10 && scanner.scan(&text.text).is_empty())
        .collect();
    for number in 0..PLANTED {
        let maker = &makers[number % makers.len()];
        let plant = (maker.make)(&mut random);
        let carrier = &carriers[random.below(carriers.len())];
        let planted = places::plant(&mut random, &carrier.text, &plant);
        let spans = scanner.scan(&planted.text);
        let result = results.entry((maker.weak, maker.kind)).or_default();
        result.planted += 1;
        match covering_span(&spans, planted.secret.start, planted.secret.end) {
            Some(span) => {
                result.covered += 1;
                result.exact +=
                    usize::from(span.start == planted.secret.start && span.end == planted.secret.end);
                result.same_kind += usize::from(span.kind.name() == maker.kind);
            }
            None => result
                .missed
                .push(corpus::excerpt(&planted.text, planted.secret.clone())),
        }
    }
    print_recall(&results);
}

fn covering_span(spans: &[SecretSpan], start: usize, end: usize) -> Option<&SecretSpan> {
    spans.iter().find(|span| span.start <= start && end <= span.end)
}

fn print_recall(results: &BTreeMap<(bool, &str), KindResult>) {
    println!(
        "{:<28} {:>7} {:>7} {:>7} {:>9}",
        "kind", "planted", "covered", "exact", "same kind"
    );
    for ((weak, kind), result) in results {
        let mark = if *weak { " (weak)" } else { "" };
        println!(
            "{:<28} {:>7} {:>7} {:>7} {:>9}",
            format!("{kind}{mark}"),
            result.planted,
            result.covered,
            result.exact,
            result.same_kind
        );
        for missed in &result.missed {
            println!("    missed: {missed}");
        }
    }
    for weak in [false, true] {
        let of = |count: fn(&KindResult) -> usize| -> usize {
            results
                .iter()
                .filter(|((is_weak, _), _)| *is_weak == weak)
                .map(|(_, result)| count(result))
                .sum()
        };
        let planted = of(|result| result.planted);
        let share = |count: usize| 100.0 * count as f64 / planted.max(1) as f64;
        println!(
            "{}: {planted} planted of {} kinds; covered {:.2} %, exact {:.2} %, same kind {:.2} %",
            if weak { "weak passwords" } else { "secrets" },
            results.keys().filter(|(is_weak, _)| *is_weak == weak).count(),
            share(of(|result| result.covered)),
            share(of(|result| result.exact)),
            share(of(|result| result.same_kind)),
        );
    }
}

fn measure_clean(scanner: &SecretScanner, texts: &[CorpusText]) {
    let mut touched: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        *all.entry(text.folder.as_str()).or_default() += 1;
        let spans = scanner.scan(&text.text);
        *touched.entry(text.folder.as_str()).or_default() += usize::from(!spans.is_empty());
        for span in spans {
            *kinds.entry(span.kind.name()).or_default() += 1;
            println!(
                "{}\t{}\t{}",
                span.kind.name(),
                text.name,
                corpus::excerpt(&text.text, span.start..span.end)
            );
        }
    }
    println!("spans by kind: {kinds:?}");
    for (folder, count) in &all {
        let touched = touched.get(folder).copied().unwrap_or(0);
        println!(
            "{folder}: {touched} of {count} texts touched, {:.3} %",
            100.0 * touched as f64 / *count as f64
        );
    }
}

fn measure_speed(scanner: &SecretScanner, texts: &[CorpusText]) {
    let start = Instant::now();
    for _ in 0..100 {
        black_box(SecretScanner::new());
    }
    println!("build: {:.3} ms", start.elapsed().as_secs_f64() * 10.0);
    let bytes: usize = texts.iter().map(|text| text.text.len()).sum();
    let mut best = [f64::MAX; 2];
    for _ in 0..7 {
        let (start, start_cpu) = (Instant::now(), cpu_seconds());
        for text in texts {
            black_box(scanner.scan(&text.text));
        }
        let passed = [start.elapsed().as_secs_f64(), cpu_seconds() - start_cpu];
        best = [best[0].min(passed[0]), best[1].min(passed[1])];
    }
    let [by_clock, by_cpu] = best.map(|seconds| bytes as f64 / seconds.max(1e-9) / 1e6);
    println!(
        "scan: {:.1} MB in {} texts, best of 7 passes {by_clock:.0} MB/s by the clock, {by_cpu:.0} MB/s of CPU time",
        bytes as f64 / 1e6,
        texts.len(),
    );
}

/// Returns the time that this thread has run, or that has passed where the system does not tell.
fn cpu_seconds() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let passed = START.elapsed().as_secs_f64();
    let state = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = state
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanos.map_or(passed, |nanos| nanos / 1e9)
}
