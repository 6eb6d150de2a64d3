//! `loci search`: what was said, found by meaning and by words.

mod json;
mod question;
mod scope;
mod shown;

use clap::builder::RangedU64ValueParser;
use loci_engine::search::{Answer, SearchRequest, search};

use super::get::warn_of_damage;
use crate::errors::{Done, Exit};
use crate::session::Session;

pub(crate) use question::Question;

/// Find what was said, by meaning and by words
///
/// Everything in scope is searched both ways. A time in the query ("last May", "in 2023-05", "yesterday") lifts what was
/// said then. Drawers that say nearly the same are shown once, with the places where they also stand. Exits with 1 if
/// nothing is found.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci search 'when do we ship?'\n  \
    loci search invoice --wing work --since 2026-01-01 -n 3\n  \
    loci search 'what broke last week' --context 1 --explain")]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// Also show this many neighbours on each side of a hit
    #[arg(long, value_name = "N", default_value = "0",
        value_parser = RangedU64ValueParser::<usize>::new().range(..=1000))]
    context: usize,

    /// Say how the query was understood and what speaks for each hit
    #[arg(long)]
    explain: bool,
}

/// Finds it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    args.question.check()?;
    let (_, collection) = session.read()?;
    let request = SearchRequest {
        context: args.context,
        ..args.question.request(collection.as_ref())?
    };
    let answer = search(collection.as_ref(), &session.embedders, &request)?;
    show(&answer, args, session)
}

fn show(answer: &Answer, args: &Args, session: &mut Session) -> Done {
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json::AnswerJson::of(answer, args.explain))?;
    } else {
        out.page(|page| shown::answer(answer, args.explain, page))?;
        for note in shown::notes(answer, args.question.n) {
            out.note(&note);
        }
    }
    for hit in &answer.hits {
        warn_of_damage(std::slice::from_ref(&hit.drawer), out);
    }
    out.warnings(&answer.warnings);
    Ok(Exit::found(!answer.hits.is_empty()))
}
