//! `loci match`: the drawers that best match some words.

use clap::builder::RangedU64ValueParser;

use super::query::show;
use crate::errors::Done;
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Find the drawers that best match some words
///
/// A drawer matches if it holds any of them. Exits with 1 if none does.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci match ship friday\n  loci match 'release plan' -n 3 --wing work"
)]
pub(crate) struct Args {
    /// The words
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,

    /// Show this many hits at most
    #[arg(short, long = "limit", value_name = "N", default_value = "10",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    n: usize,

    #[command(flatten)]
    scope: ScopeArgs,
}

/// Finds them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let scope = args.scope.scope()?;
    let report = session
        .palace()?
        .matching(&args.words.join(" "), &scope, args.n)?;
    show(&report, session)
}
