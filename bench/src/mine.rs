//! What mining costs, measured on the real binary: CPU of its processes, and the most memory they held.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::corpus::{BenchRandom, draw_word};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct MineBenchOptions {
    /// The binary; the one built beside this program, if not given.
    #[arg(long)]
    loci: Option<PathBuf>,
    /// How many files the tree has that is mined twice.
    #[arg(long, default_value_t = 10_000)]
    files: u64,
    /// How many exchanges the transcript has that grows by one.
    #[arg(long, default_value_t = 500)]
    exchanges: u64,
    /// How many megabytes the large tree has; 0 leaves it out.
    #[arg(long, default_value_t = 1024)]
    megabytes: u64,
    /// Mine this folder too.
    #[arg(long)]
    tree: Option<PathBuf>,
}

/// One run of the binary.
#[derive(Debug, Serialize)]
struct MineBenchRun {
    what: String,
    wall_s: f64,
    cpu_s: f64,
    peak_mb: f64,
    sources: u64,
    added: u64,
    kept: u64,
    drawers_per_cpu_s: f64,
}

/// Measures everything.
pub(crate) fn run(options: &MineBenchOptions) -> Result<Json, Box<dyn std::error::Error>> {
    let beside = std::env::current_exe()?.with_file_name("loci");
    let loci = options.loci.clone().unwrap_or(beside);
    let scratch = tempfile::tempdir()?;
    let bench = MineBench {
        loci,
        palace: scratch.path().join("palace"),
    };
    let mut runs = Vec::new();
    let tree = scratch.path().join("tree");
    write_tree(&tree, options.files, &mut |_| 2400)?;
    runs.push(bench.mine("a tree of small files, new", &tree)?);
    runs.push(bench.mine("the same, unchanged", &tree)?);
    fs::write(tree.join("0/0.md"), "Changed.\n")?;
    runs.push(bench.mine("the same, one file changed", &tree)?);
    let talk = scratch.path().join("session.jsonl");
    for (what, exchanges) in [
        ("a transcript, new", options.exchanges),
        ("the same, one exchange more", options.exchanges + 1),
        ("the same, unchanged", options.exchanges + 1),
    ] {
        fs::write(&talk, transcript(exchanges))?;
        runs.push(bench.mine(what, &talk)?);
    }
    if let Some(tree) = &options.tree {
        runs.push(bench.mine("the folder given, new", tree)?);
        runs.push(bench.mine("the same, unchanged", tree)?);
    }
    if options.megabytes > 0 {
        let large = scratch.path().join("large");
        write_large(&large, options.megabytes << 20)?;
        runs.push(bench.mine("a large tree, new", &large)?);
        runs.push(bench.mine("the same, unchanged", &large)?);
    }
    Ok(json!({ "mine": runs }))
}

struct MineBench {
    loci: PathBuf,
    palace: PathBuf,
}

impl MineBench {
    fn mine(&self, what: &str, path: &Path) -> Result<MineBenchRun, Box<dyn std::error::Error>> {
        // Files younger than the clock's grain are read again to be sure; that is not what is measured.
        std::thread::sleep(Duration::from_millis(2100));
        let (before, began) = (children_cpu()?, Instant::now());
        let mut child = Command::new(&self.loci)
            .args(["--json", "--quiet", "mine"])
            .arg(path)
            .env("LOCI_PALACE", &self.palace)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let (out, peak) = watch(&mut child)?;
        let status = child.wait()?;
        let (cpu_s, wall_s) = (children_cpu()? - before, began.elapsed().as_secs_f64());
        let report: Json = serde_json::from_slice(&out)?;
        if !status.success() {
            return Err(format!("{what}: {report}").into());
        }
        let number = |key: &str| report.get(key).and_then(Json::as_u64).unwrap_or(0);
        let added = number("drawers_added");
        let run = MineBenchRun {
            what: what.to_owned(),
            wall_s,
            cpu_s,
            peak_mb: peak,
            sources: number("sources_seen"),
            added,
            kept: number("drawers_kept"),
            drawers_per_cpu_s: (added as f64 / cpu_s.max(0.01)).round(),
        };
        writeln!(io::stderr(), "{}", serde_json::to_string(&run)?)?;
        Ok(run)
    }
}

/// Reads what a child prints while watching how much memory it holds.
fn watch(child: &mut std::process::Child) -> io::Result<(Vec<u8>, f64)> {
    let mut stdout = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
    let reader = std::thread::spawn(move || {
        let mut out = Vec::new();
        io::copy(&mut stdout, &mut out).map(|_| out)
    });
    let status = format!("/proc/{}/status", child.id());
    let mut peak: f64 = 0.0;
    while !reader.is_finished() {
        if let Ok(text) = fs::read_to_string(&status) {
            peak = peak.max(high_water(&text));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let out = reader
        .join()
        .map_err(|_| io::Error::other("the reader failed"))??;
    Ok((out, peak))
}

fn high_water(status: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

/// CPU seconds of all children that have ended.
fn children_cpu() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: f64 = fields
        .split(' ')
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    // The kernel counts in hundredths here, whatever its own clock does.
    Ok(ticks / 100.0)
}

/// Sentences of about `bytes` bytes under a heading now and then.
fn prose(random: &mut BenchRandom, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        text.push_str(&format!("## {} {}\n\n", draw_word(random), draw_word(random)));
        for _ in 0..4 {
            let words: Vec<String> = (0..40).map(|_| draw_word(random)).collect();
            text.push_str(&words.join(" "));
            text.push_str(".\n\n");
        }
    }
    text
}

fn write_tree(root: &Path, files: u64, size: &mut dyn FnMut(u64) -> usize) -> io::Result<()> {
    let mut random = BenchRandom::new(7);
    for n in 0..files {
        let folder = root.join((n / 100).to_string());
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{n}.md")), prose(&mut random, size(n)))?;
    }
    Ok(())
}

/// A tree of files of many sizes, a few of them very large.
fn write_large(root: &Path, bytes: u64) -> io::Result<()> {
    let mut random = BenchRandom::new(9);
    let (mut written, mut n) = (0, 0_u64);
    while written < bytes {
        let size = match n % 1000 {
            0 => 48 << 20,
            1..=20 => 1 << 20,
            _ => 2_000 + random.below(60_000) as usize,
        };
        let folder = root.join((n / 100).to_string());
        fs::create_dir_all(&folder)?;
        let text = prose(&mut random, size);
        written += text.len() as u64;
        fs::write(folder.join(format!("{n}.md")), text)?;
        n += 1;
    }
    Ok(())
}

/// A transcript of so many questions and answers.
fn transcript(exchanges: u64) -> String {
    let mut random = BenchRandom::new(11);
    let mut text = String::new();
    for n in 0..exchanges {
        for (role, words) in [("user", 30), ("assistant", 150)] {
            let said: Vec<String> = (0..words).map(|_| draw_word(&mut random)).collect();
            let line = json!({
                "type": role, "uuid": format!("{role}-{n}"), "sessionId": "bench",
                "timestamp": format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + n / 1440 % 28, n / 60 % 24, n % 60),
                "cwd": "/home/ada/bench", "message": { "role": role, "content": said.join(" ") },
            });
            text.push_str(&line.to_string());
            text.push('\n');
        }
    }
    text
}
