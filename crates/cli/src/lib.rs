//! The command line of Loci: arguments become requests, reports become words.
//!
//! The only crate that prints, reads the environment, the home folder and config, and that knows which backends
//! there are.

mod args;
mod bar;
mod commands;
mod embedders;
mod environment;
mod errors;
mod escape;
mod help;
mod hook;
mod input;
mod output;
mod page;
mod palace;
mod progress;
mod registry;
mod render;
mod scope;
mod session;
mod target;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use commands::Command;
use environment::Environment;
use errors::{Exit, Stop};
use output::Output;
use session::Session;

pub use help::markdown as help_markdown;

/// Runs one command line, its first word being the program's name, and says how it ended.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let environment = Environment::read();
    let exit = match Cli::try_parse_from(&words) {
        Ok(cli) => {
            let output = Output::standard(&cli.globals, &environment);
            let mut session = Session::new(cli.globals, environment, output);
            let ended = commands::run(&cli.command, &mut session);
            match cli.command {
                // It has answered as well as it could, and must not be seen to fail.
                Command::Hook(_) => Exit::Done,
                _ => conclude(ended, &mut session.out),
            }
        }
        Err(error) if error.use_stderr() && commands::is_hook(&words) => {
            commands::fail_open(&error, &environment)
        }
        Err(error) => {
            let json = words
                .iter()
                .take_while(|word| *word != "--")
                .any(|word| word == "--json");
            errors::refuse_arguments(&error, json)
        }
    };
    ExitCode::from(exit as u8)
}

/// Says what went wrong and makes sure that what was printed has arrived.
fn conclude(ended: Result<Exit, Stop>, out: &mut Output) -> Exit {
    let ended = ended.and_then(|exit| out.flush().map(|()| exit));
    match ended {
        Ok(exit) => exit,
        Err(Stop::PipeClosed) => Exit::Done,
        Err(Stop::Failed(error)) => out.error(&error),
    }
}
