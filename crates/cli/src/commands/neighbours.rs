//! `loci neighbours`: what stands before and after a drawer in its source.

use loci_core::{Drawer, DrawerId};
use loci_engine::neighbours::around;
use serde::Serialize;

use super::get::warn_of_damage;
use super::short_id;
use super::show::tell_missing;
use crate::errors::{Done, Exit};
use crate::page::Page;
use crate::render::{DrawerJson, moment};
use crate::session::Session;

/// Show what stands before and after a drawer in its source
///
/// In the order of the source, the drawer itself marked. The beginning of an id will do, from 6 characters on, where
/// no other id begins so. Exits with 1 if the drawer is not there.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci neighbours 533da3687d741789776f6929b2c70fce\n  \
    loci neighbours 533da3 -n 5\n  loci neighbours 533da3 --before 0 --after 10"
)]
pub(crate) struct Args {
    /// The drawer's id
    #[arg(value_name = "ID")]
    id: DrawerId,

    /// How many on each side
    #[arg(short, value_name = "N", conflicts_with_all = ["before", "after"])]
    n: Option<usize>,

    /// How many before it
    #[arg(long, value_name = "N", default_value = "2")]
    before: usize,

    /// How many after it
    #[arg(long, value_name = "N", default_value = "2")]
    after: usize,
}

#[derive(Serialize)]
struct Answer<'a> {
    drawers: Vec<DrawerJson<'a>>,
    at: Option<usize>,
}

/// Shows them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let (_, collection) = session.read()?;
    let asked = std::slice::from_ref(&args.id);
    let mut found = short_id::find(collection.as_ref(), asked)?;
    let mut drawers = Vec::new();
    let mut at = None;
    if let Some(drawer) = found.drawers.pop() {
        let (before, after) = (args.n.unwrap_or(args.before), args.n.unwrap_or(args.after));
        let around = around(collection.as_ref(), &drawer, before, after)?;
        at = Some(around.before.len());
        drawers = around.before;
        drawers.push(drawer);
        drawers.extend(around.after);
    }
    let out = &mut session.out;
    if out.is_json() {
        out.json(&Answer {
            drawers: drawers.iter().map(|one| DrawerJson::of(one, false)).collect(),
            at,
        })?;
    } else {
        out.page(|page| tell(&drawers, at, page))?;
        out.flush()?;
        if at.is_none() {
            tell_missing(&args.id, out);
        }
    }
    warn_of_damage(&drawers, out);
    Ok(Exit::found(at.is_some()))
}

fn tell(drawers: &[Drawer], at: Option<usize>, page: &mut Page) {
    if let Some(source) = drawers.first().and_then(|first| first.place.source.as_deref()) {
        page.dim("source ").plain(source).end();
    }
    for (number, drawer) in drawers.iter().enumerate() {
        page.end();
        let mark = if at == Some(number) { "─▶ " } else { "── " };
        page.bold(&format!("{mark}{}", drawer.id))
            .dim(&whence(drawer))
            .end();
        let document = drawer.document.as_deref().unwrap_or_default();
        page.block("", document.trim_end_matches('\n'));
    }
}

/// Which lines it is of, who said it and when.
fn whence(drawer: &Drawer) -> String {
    let place = &drawer.place;
    let lines = place
        .span
        .map(|span| format!("lines {} to {}", span.line_start, span.line_end));
    let parts = [lines, place.speaker.clone(), place.said_at.map(moment)];
    parts
        .into_iter()
        .flatten()
        .map(|part| format!(" · {part}"))
        .collect()
}
