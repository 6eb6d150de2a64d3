//! Measures the speed of the full model, as JSON: `minilm_speed FOLDER [TEXTS]` embeds single texts, a batch of
//! 200, and with TEXTS as many drawers of some 800 characters, to see the peak of memory.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "an example: a panic says what is missing"
)]

use std::fs;
use std::time::Instant;

use loci_core::Embedder;
use loci_embed::minilm::MinilmEmbedder;
use rustix::time::{ClockId, clock_gettime};

/// CPU time of the whole process and wall time, both in milliseconds.
fn timed(work: impl FnOnce()) -> [f64; 2] {
    let cpu = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
    };
    let (start, before) = (Instant::now(), cpu());
    work();
    [cpu() - before, start.elapsed().as_secs_f64() * 1e3]
}

/// Tokens of a text, different for each `seed`; real words, so that their embeddings lie all over the table.
fn ids(seed: usize, many: usize) -> Vec<u16> {
    (0..many)
        .map(|at| (2000 + (seed * 7919 + at * 104_729) % 20_000) as u16)
        .collect()
}

/// The middle and the least of many timings.
fn summary(mut runs: Vec<[f64; 2]>) -> serde_json::Value {
    let mut pick = |which: usize| {
        runs.sort_by(|a, b| a[which].total_cmp(&b[which]));
        (runs[runs.len() / 2][which], runs[0][which])
    };
    let ((cpu, cpu_least), (wall, wall_least)) = (pick(0), pick(1));
    serde_json::json!({"cpu_ms": cpu, "wall_ms": wall, "cpu_ms_least": cpu_least, "wall_ms_least": wall_least})
}

fn peak_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .expect("name the folder that holds model.safetensors");
    let minilm = MinilmEmbedder::new(folder);
    let opening = timed(|| minilm.self_test().unwrap());
    let mut report = serde_json::json!({"open": summary(vec![opening])});
    for tokens in [11, 150, 216] {
        let text = ids(tokens, tokens - 2);
        let run = || timed(|| assert_eq!(minilm.embed_ids(&[&text]).unwrap().len(), 1));
        let _warm = run();
        let runs = (0..50).map(|_| run()).collect();
        report[format!("one_text_of_{tokens}_tokens")] = summary(runs);
    }
    let texts: Vec<Vec<u16>> = (0..200).map(|seed| ids(seed, 194 + seed % 41)).collect();
    let texts: Vec<&[u16]> = texts.iter().map(Vec::as_slice).collect();
    let [cpu, wall] = timed(|| assert_eq!(minilm.embed_ids(&texts).unwrap().len(), 200));
    report["batch_of_200"] = serde_json::json!({
        "texts_per_cpu_second": 200e3 / cpu,
        "texts_per_wall_second": 200e3 / wall,
    });
    if let Some(many) = arguments.next() {
        let drawers: Vec<String> = (0..many.parse().unwrap()).map(drawer).collect();
        let drawers: Vec<&str> = drawers.iter().map(String::as_str).collect();
        let [cpu, wall] = timed(|| assert_eq!(minilm.embed_passages(&drawers).unwrap().len(), drawers.len()));
        report["drawers"] = serde_json::json!({"many": drawers.len(), "cpu_ms": cpu, "wall_ms": wall});
    }
    report["peak_resident_kb"] = serde_json::json!(peak_kb());
    println!("{report:#}");
}

/// Some 800 characters of prose that differs from one number to the next.
fn drawer(number: usize) -> String {
    let words = [
        "harbour", "ledger", "storm", "notebook", "engine", "anchor", "spring", "paper", "crew", "bell",
    ];
    let mut text = format!("Drawer {number}:");
    let mut at = number;
    while text.len() < 800 {
        at = at.wrapping_mul(48_271) % 2_147_483_647 + 1;
        text.push(' ');
        text.push_str(words[at % words.len()]);
        if at.is_multiple_of(7) {
            text.push_str(&format!(", {}", at % 1000));
        }
    }
    text
}
