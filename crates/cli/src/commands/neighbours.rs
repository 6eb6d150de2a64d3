//! `loci neighbours`: what stands before and after a drawer in its source.

use loci_core::DrawerId;
use loci_engine::neighbours::{NeighboursReport, NeighboursRequest};
use loci_engine::view::DrawerView;

use super::show::tell_missing;
use crate::errors::{Done, Exit};
use crate::page::Page;
use crate::render::{moment, warn_of_damage};
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

/// Shows them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.neighbours(&NeighboursRequest {
        id: args.id.clone(),
        before: args.n.unwrap_or(args.before),
        after: args.n.unwrap_or(args.after),
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| tell(&report, page))?;
        out.flush()?;
        if report.at.is_none() {
            tell_missing(&args.id, out);
        }
    }
    warn_of_damage(&report.drawers, out);
    Ok(Exit::found(report.at.is_some()))
}

fn tell(report: &NeighboursReport, page: &mut Page) {
    let first = report.drawers.first();
    if let Some(source) = first.and_then(|first| first.source.as_deref()) {
        page.dim("source ").plain(source).end();
    }
    for (number, drawer) in report.drawers.iter().enumerate() {
        page.end();
        let mark = if report.at == Some(number) {
            "─▶ "
        } else {
            "── "
        };
        page.bold(&format!("{mark}{}", drawer.id))
            .dim(&whence(drawer))
            .end();
        page.block("", drawer.whole_text().trim_end_matches('\n'));
    }
}

/// Which lines it is of, who said it and when.
fn whence(drawer: &DrawerView) -> String {
    let lines = drawer
        .span
        .map(|span| format!("lines {} to {}", span.line_start, span.line_end));
    let parts = [lines, drawer.speaker.clone(), drawer.said_at.map(moment)];
    parts
        .into_iter()
        .flatten()
        .map(|part| format!(" · {part}"))
        .collect()
}
