//! Makes the vocabulary that is compiled in: `cargo run -p loci-embed --example vocabulary -- VOCAB.TXT OUT`.
#![allow(clippy::print_stderr, reason = "a program for the maintainer")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else {
        eprintln!("usage: vocabulary VOCAB.TXT OUT");
        return ExitCode::from(2);
    };
    match make(from, to) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}; {to} was not written");
            ExitCode::from(2)
        }
    }
}

fn make(from: &str, to: &str) -> Result<(), Box<dyn std::error::Error>> {
    let entries = std::fs::read_to_string(from)?;
    std::fs::write(
        to,
        loci_embed::wordpiece::vocabulary::build_file(entries.lines())?,
    )?;
    Ok(())
}
