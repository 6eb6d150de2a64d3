//! The in-memory reference as a plug-in, on which the protocol itself is tested.

use std::process::ExitCode;

fn main() -> ExitCode {
    match loci_conformance::serve_reference() {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            #[allow(
                clippy::print_stderr,
                reason = "standard error is where a plug-in speaks to people"
            )]
            {
                eprintln!("{words}");
            }
            ExitCode::FAILURE
        }
    }
}
