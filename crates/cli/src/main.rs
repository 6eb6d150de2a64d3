//! The binary `loci`.

use std::process::ExitCode;

fn main() -> ExitCode {
    loci_cli::run(std::env::args_os())
}
