//! The arguments every command shares, and the list of commands.

use std::ffi::OsString;

use clap::{Args, Parser, ValueEnum};
use loci_core::CollectionName;

use crate::commands::Command;

/// A memory palace for AI agents: keeps every word verbatim, and finds it again.
#[derive(Debug, Parser)]
#[command(
    name = "loci",
    version,
    propagate_version = false,
    disable_help_subcommand = true,
    after_help = "Exit status: 0 done or found, 1 nothing found or findings, 2 trouble."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where help lists what every command takes.
pub(crate) const GLOBAL_HEADING: &str = "Global options";

/// What every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub(crate) struct Globals {
    /// The palace: a name, a path, or backend:path
    ///
    /// Without it LOCI_PALACE, else the palace `default` in this platform's data folder. A word without
    /// separators that is no existing path is a name and means a palace in that data folder.
    #[arg(long, global = true, value_name = "REF")]
    pub(crate) palace: Option<OsString>,

    /// The collection [default: drawers]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) collection: Option<CollectionName>,

    /// Print JSON on standard output, errors included
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Say nothing beside the answer, warnings and errors
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
        super::Cli::command().debug_assert();
    }
}
