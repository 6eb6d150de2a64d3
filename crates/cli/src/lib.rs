//! The command line of Loci: arguments become requests, reports become words.
//!
//! The only crate that prints, reads the environment, the home folder and config, and that knows which backends
//! there are.

mod args;
mod commands;
mod embedders;
mod environment;
mod errors;
mod escape;
mod help;
mod hook;
mod input;
mod interrupts;
mod opened;
mod output;
mod page;
mod palace;
mod plugins;
mod progress;
mod registry;
mod render;
mod scope;
mod session;
mod target;
mod tool_folders;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

use args::CliArgs;
use commands::CliCommand;
use environment::ProcessEnvironment;
use errors::{CommandStop, ExitStatus};
use output::TerminalOutput;
use session::CommandSession;

pub use commands::schemas::{CommandSchema, list_schemas, write_markdown as json_markdown};
pub use help::markdown as help_markdown;

/// Runs one command line, its first word being the program's name, and says how it ended.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let environment = ProcessEnvironment::read();
    let exit = match parse_arguments(&words) {
        Ok(cli) => {
            let output = TerminalOutput::for_standard_streams(&cli.globals, &environment);
            let mut session = CommandSession::new(cli.globals, environment, output);
            let ended = commands::run(&cli.command, &mut session);
            match cli.command {
                // It has answered as well as it could, and must not be seen to fail.
                CliCommand::Hook(_) => ExitStatus::Done,
                command => conclude_run(&command, ended, &mut session),
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
            errors::refuse_arguments(&error, &words, json)
        }
    };
    ExitCode::from(exit as u8)
}

fn parse_arguments(words: &[OsString]) -> Result<CliArgs, clap::Error> {
    let mut matches = help::build_command().try_get_matches_from(words)?;
    CliArgs::from_arg_matches_mut(&mut matches)
}

/// Says what went wrong, tells of damage that was met, and makes sure that what was printed has arrived.
fn conclude_run(
    command: &CliCommand,
    ended: Result<ExitStatus, CommandStop>,
    session: &mut CommandSession,
) -> ExitStatus {
    let ended = ended.and_then(|exit| session.out.flush().map(|()| exit));
    match ended {
        Ok(exit) => {
            // Here and not in each command, so that none can forget it.
            session.out.warnings(&session.opened.list_damage());
            // A write that was acknowledged is durable, whatever was lost before it.
            if exit == ExitStatus::Done && session.out.has_told_damage() && command.is_answer() {
                return ExitStatus::Nothing;
            }
            exit
        }
        Err(CommandStop::PipeClosed) => ExitStatus::Done,
        Err(CommandStop::Failed(error)) => {
            let error = session.name_existing_palaces(error);
            session.out.report_error(&error)
        }
    }
}
