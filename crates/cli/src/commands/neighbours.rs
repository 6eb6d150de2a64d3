//! `loci neighbours`: the drawers around one in its source.

use loci_core::DrawerId;
use loci_engine::neighbours::{NeighboursReport, NeighboursRequest};
use loci_engine::view::{DrawerView, defuse_name};

use super::show::tell_missing;
use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::render::{format_minute, warn_of_damage};
use crate::session::CommandSession;

/// Show the drawers before and after one in its source
///
/// In the order of the source, with the drawer itself marked. The id may be shortened to a unique prefix of at least 6
/// characters. Exits with 1 if the drawer does not exist.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci neighbours 533da3687d741789776f6929b2c70fce\n  \
    loci neighbours 533da3 -n 5\n  loci neighbours 533da3 --before 0 --after 10"
)]
pub(crate) struct NeighboursArgs {
    /// The drawer's id
    #[arg(value_name = "ID")]
    id: DrawerId,

    /// Show N on each side
    #[arg(short, value_name = "N", conflicts_with_all = ["before", "after"])]
    n: Option<usize>,

    /// Show N before it
    #[arg(long, value_name = "N", default_value = "2")]
    before: usize,

    /// Show N after it
    #[arg(long, value_name = "N", default_value = "2")]
    after: usize,
}

/// Shows the drawer among its neighbours.
pub(crate) fn run(args: &NeighboursArgs, session: &mut CommandSession) -> CommandResult {
    let report = session.open_palace()?.read_neighbours(&NeighboursRequest {
        id: args.id.clone(),
        before: args.n.unwrap_or(args.before),
        after: args.n.unwrap_or(args.after),
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| write_neighbours(&report, page))?;
        out.flush()?;
        if report.at.is_none() {
            tell_missing(&args.id, out);
        }
    }
    warn_of_damage(&report.drawers, out);
    Ok(ExitStatus::from_found(report.at.is_some()))
}

fn write_neighbours(report: &NeighboursReport, page: &mut TextPage) {
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
            .dim(&describe_origin(drawer))
            .end();
        page.block("", drawer.whole_text().trim_end_matches('\n'));
    }
}

/// The lines, the speaker, the trust and the time of a drawer.
fn describe_origin(drawer: &DrawerView) -> String {
    let lines = drawer
        .span
        .map(|span| format!("lines {} to {}", span.line_start, span.line_end));
    let speaker = drawer
        .speaker
        .as_deref()
        .map(|name| defuse_name(name).into_owned());
    let trust = Some(drawer.describe_trust().to_owned());
    let parts = [lines, speaker, trust, drawer.said_at.map(format_minute)];
    parts
        .into_iter()
        .flatten()
        .map(|part| format!(" · {part}"))
        .collect()
}
