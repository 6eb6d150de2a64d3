//! `loci help-markdown`: the help of every command, for `docs/cli.md`.

use crate::errors::{Done, Exit};
use crate::help;
use crate::session::Session;

/// Print the help of every command as Markdown
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Prints it.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    session.out.line(help::markdown().trim_end())?;
    Ok(Exit::Done)
}
