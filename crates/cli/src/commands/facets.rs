//! `loci facets`: the number of drawers by wing, room and the like.

use loci_core::FacetKey;
use loci_engine::facets::FacetsRequest;
use serde_json::Value as Json;

use crate::errors::{Done, Exit};
use crate::scope::ScopeArgs;
use crate::session::Session;

/// Count drawers by wing, room, source, speaker or kind
///
/// Exits with 1 if no drawer has a name that is given.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci facets\n  loci facets --by source --wing work")]
pub(crate) struct Args {
    /// The keys to count by, one or several
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "wing,room", value_parser = FacetKey::parse)]
    by: Vec<FacetKey>,

    #[command(flatten)]
    scope: ScopeArgs,
}

/// Counts them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let request = FacetsRequest {
        by: args.by.clone(),
        scope: args.scope.scope()?,
    };
    let report = session.palace()?.facets(&request)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            for row in &report.facets {
                let drawers = row.get("drawers").and_then(Json::as_u64).unwrap_or_default();
                let keys = args.by.iter().map(|key| row.get(key.name()));
                let values: Vec<&str> = keys
                    .map(|value| value.and_then(Json::as_str).unwrap_or("-"))
                    .collect();
                page.plain(&format!("{drawers:>8}  "))
                    .plain(&values.join(" / "))
                    .end();
            }
        })?;
    }
    out.warnings(&report.warnings);
    Ok(Exit::of_warnings(&report.warnings))
}
