//! `loci completions`: completion scripts for shells.

use clap_complete::Shell;
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::help;
use crate::session::CommandSession;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci completions bash > ~/.local/share/bash-completion/completions/loci\n  \
    loci completions fish > ~/.config/fish/completions/loci.fish\n  source <(loci completions zsh)"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// A completion script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompletionScript {
    /// The shell it is for.
    shell: String,
    /// The script.
    script: String,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs, session: &mut CommandSession) -> CommandResult {
    let mut command = help::visible_command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "loci", &mut script);
    if session.out.is_json() {
        session.out.write_json(&CompletionScript {
            shell: args.shell.to_string(),
            script: String::from_utf8_lossy(&script).into_owned(),
        })?;
    } else {
        session.out.write_bytes(&script)?;
    }
    Ok(ExitStatus::Done)
}
