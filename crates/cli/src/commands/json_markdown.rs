//! `loci json-markdown`: the schemas of `--json`, for `docs/json.md`.

use super::schemas::write_markdown;
use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// Print the schemas of every JSON document as Markdown
#[derive(Debug, clap::Args)]
pub(crate) struct JsonMarkdownArgs {}

/// Prints them.
pub(crate) fn run(_: &JsonMarkdownArgs, session: &mut CommandSession) -> CommandResult {
    session.out.write_line(write_markdown().trim_end())?;
    Ok(ExitStatus::Done)
}
