//! `loci query`: the drawers nearest to a vector.

use clap::builder::RangedU64ValueParser;
use loci_core::{Finding, Hit, Query};

use super::get::warn_of_damage;
use crate::errors::{Done, Exit};
use crate::input::{self, Contains, Where};
use crate::render::{self, HitsJson, Measure};
use crate::session::{Session, noticed};

/// Find the drawers nearest to a vector, or to a text
///
/// A text is turned into a vector by the model that made the collection's own. Exits with 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci query --vector '[0.1,-0.2,0.7]' -n 5\n  \
    loci query --vector @question.json --where '{\"wing\":\"work\"}'\n  loci query 'when do we ship?'"
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
    let document = args.contains.filter()?;
    args.where_.filter()?;
    let given = args.vector.as_deref().map(input::vector).transpose()?;
    let (_, collection) = session.read()?;
    let filter = args.where_.within(collection.as_ref())?;
    let vector = match (given, &args.text) {
        (Some(vector), _) => vector,
        (None, text) => {
            let text = text.as_deref().unwrap_or_default();
            loci_engine::embed_question(collection.as_ref(), &session.embedders, text)?
        }
    };
    let request = Query {
        filter,
        document,
        ..Query::nearest(vector, args.n)
    };
    let hits = collection.query(&request)?.into_iter().next().unwrap_or_default();
    show(&hits, Measure::Distance, &noticed(collection.as_ref()), session)
}

/// Shows hits and what a reader should know of them.
pub(super) fn show(hits: &[Hit], measure: Measure, warnings: &[Finding], session: &mut Session) -> Done {
    let out = &mut session.out;
    if out.is_json() {
        out.json(&HitsJson::of(hits, measure, warnings))?;
    } else {
        out.page(|page| hits.iter().for_each(|hit| render::hit(hit, measure, page)))?;
        if hits.is_empty() {
            out.note("nothing found");
        }
    }
    for hit in hits {
        warn_of_damage(std::slice::from_ref(&hit.drawer), out);
    }
    out.warnings(warnings);
    Ok(Exit::found(!hits.is_empty()))
}
