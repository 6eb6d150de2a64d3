//! `loci wings`: the number of drawers by wing, room and other keys.

use loci_core::FacetKey;
use loci_engine::facets::{FacetsReport, FacetsRequest};
use serde_json::Value as Json;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::scope::ScopeArgs;
use crate::session::CommandSession;

/// List wings, rooms and other keys with their number of drawers
///
/// The one with the most drawers comes first. `-` stands for drawers without a wing, room and so on. Exits with 1 if
/// nothing matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  loci wings
  loci wings --by wing,room
  loci wings --by source --wing work --since 'last month'")]
pub(crate) struct WingsArgs {
    /// The keys to count by, separated by commas: wing, room, source, speaker, kind
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "wing", value_parser = FacetKey::parse)]
    by: Vec<FacetKey>,

    /// Show at most N rows [default: all]
    #[arg(long = "limit", short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    n: Option<u64>,

    #[command(flatten)]
    scope: ScopeArgs,
}

/// Counts and lists them.
pub(crate) fn run(args: &WingsArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    let scope = args.scope.build_scope()?;
    let mut report = palace.count_facets(&FacetsRequest {
        by: args.by.clone(),
        scope: scope.clone(),
    })?;
    // The backend answers in the order of names; people look for the largest first.
    report
        .facets
        .sort_by_key(|row| std::cmp::Reverse(drawers_in(row)));
    let total = report.facets.len();
    let most = args
        .n
        .map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    report.facets.truncate(most);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| write_rows(&report, &args.by, page))?;
        out.flush()?;
        if total > report.facets.len() {
            out.note(&format!(
                "{} of {total} shown; raise -n to see more",
                report.facets.len()
            ));
        }
        if total == 0 && scope.asks_nothing() {
            out.note("nothing is filed yet; start with `loci mine PATH` or `loci add TEXT`");
        }
    }
    out.warnings(&report.warnings);
    Ok(ExitStatus::from_found(total > 0))
}

fn drawers_in(row: &serde_json::Map<String, Json>) -> u64 {
    row.get("drawers").and_then(Json::as_u64).unwrap_or_default()
}

fn write_rows(report: &FacetsReport, by: &[FacetKey], page: &mut TextPage) {
    for row in &report.facets {
        let values = by.iter().map(|key| row.get(key.name()).and_then(Json::as_str));
        let values: Vec<&str> = values.map(|value| value.unwrap_or("-")).collect();
        page.plain(&format!("{:>8}  ", drawers_in(row)));
        page.bold(&values.join(" / ")).end();
    }
}
