//! Measures the speed of the tokeniser: `cargo run --release -p loci-embed --example wordpiece -- FILE` cuts the
//! words of a text file into texts of about 800 characters and encodes all of them again and again for three
//! seconds.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the maintainer"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: wordpiece FILE");
        return ExitCode::from(2);
    };
    let file = match std::fs::read_to_string(&path) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("cannot read {path}: {error}");
            return ExitCode::from(2);
        }
    };
    let texts = texts(&file);
    let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
    let (mut encoded, mut pieces, mut ids) = (0, 0, Vec::new());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) && !texts.is_empty() {
        for text in &texts {
            ids.clear();
            loci_embed::wordpiece::encode(text, &mut ids);
            pieces += ids.len();
        }
        encoded += texts.len();
    }
    let rate = encoded as f64 / begin.elapsed().as_secs_f64();
    let mean = characters as f64 / texts.len().max(1) as f64;
    println!(
        "{rate:.0} texts per second of {mean:.0} characters, {:.0} pieces each",
        pieces as f64 / encoded.max(1) as f64
    );
    ExitCode::SUCCESS
}

fn texts(file: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    for word in file.split_whitespace() {
        if let Some(last) = texts.last_mut() {
            last.push_str(word);
            last.push(' ');
            if last.len() >= 800 {
                texts.push(String::new());
            }
        }
    }
    texts.retain(|text| text.len() >= 800);
    texts
}
