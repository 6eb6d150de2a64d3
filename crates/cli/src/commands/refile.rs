//! `loci move`: drawers to another wing or room.

use std::path::PathBuf;

use loci_core::{DrawerId, Error, Filter, Result};
use loci_engine::refile::{self, Which};
use serde_json::json;

use crate::errors::{Done, Exit};
use crate::session::Session;

/// Move drawers to another wing or room
///
/// Their ids, texts and vectors stay as they are. What is mined later from a source goes where its drawers are. Exits
/// with 1 if none matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci move note-1 --room plans\n  \
    loci move --source notes.md --wing home\n  loci move --where '{\"wing\":\"tmp\"}' --wing work")]
pub(crate) struct Args {
    /// The ids
    #[arg(value_name = "ID", conflicts_with_all = ["filter", "source"])]
    ids: Vec<DrawerId>,

    /// Only drawers this filter accepts
    #[arg(long = "where", value_name = "JSON")]
    filter: Option<String>,

    /// Only drawers of this source: a path as it was mined, or its name
    #[arg(long, value_name = "SOURCE")]
    source: Option<PathBuf>,

    /// The wing they go to
    #[arg(long, value_name = "WING", required_unless_present = "room")]
    wing: Option<String>,

    /// The room they go to
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,
}

/// Moves them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let (_, collection) = session.write()?;
    let which = which(args, collection.as_ref())?;
    let report = refile::refile(
        collection.as_ref(),
        &which,
        args.wing.as_deref(),
        args.room.as_deref(),
    )?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&json!({
            "matched": report.matched,
            "moved": report.moved,
            "missing": report.missing,
        }))?;
    } else {
        out.page(|page| {
            page.plain(&format!(
                "{} moved, {} were there already",
                report.moved,
                report.matched.saturating_sub(report.moved)
            ))
            .end();
        })?;
        for id in &report.missing {
            out.warn(&format!("there is no drawer {:?}", id.as_str()));
        }
    }
    Ok(Exit::found(report.matched > 0))
}

fn which(args: &Args, collection: &dyn loci_core::Collection) -> Result<Which> {
    if !args.ids.is_empty() {
        return Ok(Which::Ids(args.ids.clone()));
    }
    let mut filter = match &args.filter {
        Some(text) => Filter::parse_str(text)?,
        None => Filter::All,
    };
    if let Some(source) = &args.source {
        let names = super::cat::names(source.as_os_str());
        let sources = loci_engine::cat::resolve(collection, &names)?;
        filter = filter.and(any_of(sources));
    }
    if filter.asks_nothing() {
        return Err(
            Error::invalid("nothing says which drawers to move; nothing was moved")
                .hint("name ids, a --source, or a filter like --where '{\"wing\":\"old\"}'"),
        );
    }
    Ok(Which::Matching(filter))
}

fn any_of(sources: Vec<String>) -> Filter {
    match <[String; 1]>::try_from(sources) {
        Ok([source]) => Filter::text("source", source),
        Err(sources) => Filter::Or(
            sources
                .into_iter()
                .map(|source| Filter::text("source", source))
                .collect(),
        ),
    }
}
