//! `loci why-not`: explains why a search does not show a drawer.

use loci_core::DrawerId;
use loci_engine::search::WhyNotReport;

use super::search::QuestionArgs;
use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::session::CommandSession;

/// Explain why a search does not show a drawer
///
/// Takes the query and options of `loci search`. Exits with 1 if the search does show the drawer.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci why-not 3f2a9c 'when do we ship?'\n  \
    loci why-not 3f2a9c invoice --wing work")]
pub(crate) struct WhyNotArgs {
    /// The drawer's id, or a unique prefix of at least 6 characters
    #[arg(value_name = "ID")]
    id: DrawerId,

    /// A question, or some words
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    #[command(flatten)]
    question: QuestionArgs,
}

/// Says it.
pub(crate) fn run(args: &WhyNotArgs, session: &mut CommandSession) -> CommandResult {
    let request = args.question.build_request(&args.query)?;
    request.check()?;
    let palace = args.question.open_palace(session)?;
    let told = palace.explain_absence(&args.id, &request)?;
    if session.out.is_json() {
        session.out.write_json(&told)?;
    } else {
        session.out.write_page(|page| write_reasons(&told, page))?;
    }
    session.out.warnings(&told.warnings);
    Ok(ExitStatus::from_found(told.found.is_none()))
}

fn write_reasons(told: &WhyNotReport, page: &mut TextPage) {
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
    for (name, words) in [
        ("contains", &told.words_held),
        ("does not contain", &told.words_missing),
    ] {
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
