//! `loci query`: the drawers nearest to a vector.

use clap::builder::RangedU64ValueParser;
use loci_engine::nearest::{LegReport, NearestTo};

use crate::errors::{Done, Exit};
use crate::input;
use crate::render::{self, warn_of_damage};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Find the drawers nearest to a vector, or to a text
///
/// A text is turned into a vector by the model that made the collection's own. Exits with 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci query --vector '[0.1,-0.2,0.7]' -n 5\n  \
    loci query --vector @question.json --wing work\n  loci query 'when do we ship?'"
)]
pub(crate) struct Args {
    /// The text
    #[arg(
        value_name = "TEXT",
        conflicts_with = "vector",
        required_unless_present = "vector"
    )]
    text: Option<String>,

    /// The vector, like '[0.1,-0.2]', or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    vector: Option<String>,

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
    let to = match &args.vector {
        Some(vector) => NearestTo::Vector(input::vector(vector)?),
        None => NearestTo::Text(args.text.clone().unwrap_or_default()),
    };
    let report = session.palace()?.nearest(&to, &scope, args.n)?;
    show(&report, session)
}

/// Shows hits and what a reader should know of them.
pub(super) fn show(report: &LegReport, session: &mut Session) -> Done {
    let out = &mut session.out;
    if out.is_json() {
        out.json(report)?;
    } else {
        out.page(|page| report.hits.iter().for_each(|hit| render::hit(hit, page)))?;
        if report.hits.is_empty() {
            out.note("nothing found");
        }
    }
    warn_of_damage(report.hits.iter().map(|hit| &hit.drawer), out);
    out.warnings(&report.warnings);
    Ok(Exit::found(!report.hits.is_empty()))
}
