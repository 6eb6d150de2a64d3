//! The arguments every command shares, and the list of commands.

use std::ffi::OsString;

use clap::{Args, Parser, ValueEnum};
use loci_core::CollectionName;

use crate::commands::CliCommand;

/// A memory palace for AI agents: keeps every word, and finds it again by meaning and by keyword
#[derive(Debug, Parser)]
#[command(
    name = "loci",
    version,
    propagate_version = false,
    after_help = "Exit status: 0 on success, 1 if nothing was found, something needs attention or the palace is damaged, 2 on errors."
)]
pub(crate) struct CliArgs {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// The heading of the options that every command takes.
pub(crate) const GLOBAL_HEADING: &str = "Global options";

/// The options that every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub(crate) struct GlobalArgs {
    /// The palace: a name, a path, or backend:path
    ///
    /// Defaults to LOCI_PALACE, then to the palace `default` in this platform's data folder. A word without path
    /// separators that does not name an existing path is the name of a palace in that data folder; `loci palaces`
    /// lists them.
    #[arg(long, global = true, value_name = "REF")]
    pub(crate) palace: Option<OsString>,

    /// The collection [default: drawers]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) collection: Option<CollectionName>,

    /// Print JSON on standard output, including errors
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print only results, warnings and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// When to use color
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
}

/// When to use color.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        super::CliArgs::command().debug_assert();
    }
}
