//! `loci match`: the drawers that best match some words.

use clap::builder::RangedU64ValueParser;
use loci_core::Lexical;

use super::query::show;
use crate::errors::Done;
use crate::input::{Contains, Where};
use crate::render::Measure;
use crate::session::{Session, noticed};

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

    /// How many hits at most
    #[arg(short, value_name = "N", default_value = "10",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    n: usize,

    #[command(flatten)]
    where_: Where,

    #[command(flatten)]
    contains: Contains,
}

/// Finds them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let mut request = Lexical {
        filter: args.where_.filter()?,
        document: args.contains.filter()?,
        ..Lexical::words(args.words.join(" "), args.n)
    };
    request.check()?;
    let (_, collection) = session.read()?;
    request.filter = args.where_.within(collection.as_ref())?;
    let hits = collection.lexical(&request)?;
    show(&hits, Measure::Score, &noticed(collection.as_ref()), session)
}
