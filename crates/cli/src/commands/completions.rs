//! `loci completions`: scripts that complete command lines in a shell.

use clap_complete::Shell;
use serde_json::json;

use crate::errors::{Done, Exit};
use crate::help;
use crate::session::Session;

/// Print a script that completes command lines in a shell
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci completions bash > ~/.local/share/bash-completion/completions/loci\n  \
    loci completions fish > ~/.config/fish/completions/loci.fish\n  source <(loci completions zsh)"
)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let mut command = help::visible();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "loci", &mut script);
    match session.out.is_json() {
        false => session.out.bytes(&script)?,
        true => session.out.json(&json!({
            "shell": args.shell.to_string(),
            "script": String::from_utf8_lossy(&script),
        }))?,
    }
    Ok(Exit::Done)
}
