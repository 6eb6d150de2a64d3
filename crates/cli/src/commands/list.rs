//! `loci list`: drawers in the order of their ids, a page at a time.

use clap::builder::RangedU64ValueParser;
use loci_core::{DrawerPosition, Finding, Get};
use serde::Serialize;

use super::get::{Extra, include, warn_of_damage};
use crate::cursor;
use crate::errors::{Done, Exit};
use crate::input::{Contains, Where};
use crate::render::{self, DrawerJson};
use crate::session::{Session, noticed};

/// List drawers in the order of their ids
///
/// A list that was cut says so: `next` is the cursor that goes on. Exits with 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci list --wing work\n  \
    loci list --where '{\"said_at\":{\"$gte\":\"2026-05-01\"}}' --limit 20\n  loci list --cursor note-20")]
pub(crate) struct Args {
    #[command(flatten)]
    where_: Where,

    #[command(flatten)]
    contains: Contains,

    /// How many at most
    #[arg(long, value_name = "N", default_value = "100",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: usize,

    /// Go on after an earlier list: its `next`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// What else to show
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    include: Vec<Extra>,
}

#[derive(Serialize)]
struct Answer<'a> {
    drawers: Vec<DrawerJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    warnings: &'a [Finding],
}

/// Lists them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let mut request = Get {
        filter: args.where_.filter()?,
        document: args.contains.filter()?,
        after: args
            .cursor
            .as_deref()
            .map(cursor::read)
            .transpose()?
            .map(DrawerPosition::Id),
        // One more than is shown tells whether the list goes on.
        limit: Some(args.limit.saturating_add(1)),
        include: include(&args.include),
        ..Get::default()
    };
    let (_, collection) = session.read()?;
    request.filter = args.where_.within(collection.as_ref())?;
    let mut drawers = collection.get(&request)?;
    let more = drawers.len() > args.limit;
    drawers.truncate(args.limit);
    let next = drawers
        .last()
        .filter(|_| more)
        .map(|last| cursor::after(&last.id));
    let warnings = noticed(collection.as_ref());
    let out = &mut session.out;
    if out.is_json() {
        let drawers = drawers
            .iter()
            .map(|one| DrawerJson::of(one, request.include.embedding));
        out.json(&Answer {
            drawers: drawers.collect(),
            next,
            warnings: &warnings,
        })?;
    } else {
        out.page(|page| drawers.iter().for_each(|drawer| render::brief(drawer, page)))?;
        if let Some(next) = next {
            out.flush()?;
            let cursor = cursor::quoted(&next);
            out.note(&format!(
                "{} shown; there are more: --cursor {cursor}",
                drawers.len()
            ));
        }
    }
    warn_of_damage(&drawers, out);
    out.warnings(&warnings);
    Ok(Exit::found(!drawers.is_empty()))
}
