//! `loci why-not`: why a search does not show a drawer.

use loci_core::DrawerId;
use loci_engine::search::WhyNot;

use super::search::Question;
use crate::errors::{Done, Exit};
use crate::page::Page;
use crate::session::Session;

/// Say why a search does not find a drawer
///
/// Takes the options of `loci search`. Exits with 1 if the drawer is found after all.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci why-not 3f2a9c 'when do we ship?'\n  \
    loci why-not 3f2a9c invoice --wing work")]
pub(crate) struct Args {
    /// The drawer; six characters of its id or more are enough
    #[arg(value_name = "ID")]
    id: DrawerId,

    #[command(flatten)]
    question: Question,
}

/// Says it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let request = args.question.request()?;
    let told = session.palace()?.why_not(&args.id, &request)?;
    if session.out.is_json() {
        session.out.json(&told)?;
    } else {
        session.out.page(|page| show(&told, page))?;
    }
    session.out.warnings(&told.warnings);
    Ok(Exit::found(told.found.is_none()))
}

fn show(told: &WhyNot, page: &mut Page) {
    page.bold(told.id.as_str());
    match (told.found, told.rank) {
        (Some(place), _) => page.plain(&format!(" is found: hit number {place}")),
        (None, Some(rank)) => page.plain(&format!(" is not shown: it would be hit number {rank}")),
        (None, None) => page.plain(" is not found"),
    };
    page.end();
    for (name, at) in [("by meaning", told.nearest), ("by words", told.lexical)] {
        if let Some(at) = at {
            page.plain("  ").dim(name);
            page.plain(&format!(
                " number {} of {} ({:.3})",
                at.rank, told.in_scope, at.score
            ))
            .end();
        }
    }
    for (name, words) in [("holds", &told.words_held), ("lacks", &told.words_missing)] {
        if !words.is_empty() {
            page.plain("  ")
                .dim(name)
                .plain(" ")
                .plain(&words.join(" "))
                .end();
        }
    }
    for reason in &told.reasons {
        page.plain("- ").plain(&reason.message);
        if let Some(hint) = &reason.hint {
            page.dim("; ").dim(hint);
        }
        page.end();
    }
}
