//! `loci search`: what was said, found by meaning and by words.

mod question;
mod shown;

use clap::builder::RangedU64ValueParser;
use loci_engine::search::{SearchReport, SearchRequest};

use crate::errors::{Done, Exit};
use crate::render::warn_of_damage;
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

    /// Continue an earlier search: its `next`, with the same query and scope
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Finds it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let request = SearchRequest {
        context: args.context,
        cursor: args.cursor.clone(),
        ..args.question.request()?
    };
    let report = session.palace()?.search(&request)?;
    show(report, args, session)
}

fn show(mut report: SearchReport, args: &Args, session: &mut Session) -> Done {
    let out = &mut session.out;
    if out.is_json() {
        report.plan = report.plan.filter(|_| args.explain);
        out.json(&report)?;
    } else {
        out.page(|page| shown::answer(&report, args.explain, page))?;
        for note in shown::notes(&report, args.question.n) {
            out.note(&note);
        }
        // There is nearly always more; only a reader who turns pages wants to hear of the next.
        if let Some(next) = report.next.as_deref().filter(|_| args.cursor.is_some()) {
            out.note(&format!("there are more: --cursor {next}"));
        }
    }
    warn_of_damage(report.hits.iter().map(|hit| &hit.drawer), out);
    out.warnings(&report.warnings);
    Ok(Exit::found(!report.hits.is_empty()))
}
