//! `loci help-markdown`: the help of every command, for `docs/cli.md`.

use crate::errors::{CommandResult, ExitStatus};
use crate::help;
use crate::session::CommandSession;

/// Print the help of every command as Markdown
#[derive(Debug, clap::Args)]
pub(crate) struct HelpMarkdownArgs {}

/// Prints it.
pub(crate) fn run(_: &HelpMarkdownArgs, session: &mut CommandSession) -> CommandResult {
    session.out.write_line(help::markdown().trim_end())?;
    Ok(ExitStatus::Done)
}
