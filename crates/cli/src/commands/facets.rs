//! `loci facets`: how many drawers there are by wing, room and the like.

use loci_core::{Facet, FacetKey, Facets};
use serde_json::{Map, Value as Json, json};

use crate::errors::{Done, Exit};
use crate::input::Where;
use crate::session::Session;

/// Count drawers by wing, room, source, speaker or kind
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci facets\n  loci facets --by source --where '{\"wing\":\"work\"}'"
)]
pub(crate) struct Args {
    /// What to count by, one or several
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "wing,room", value_parser = FacetKey::parse)]
    by: Vec<FacetKey>,

    #[command(flatten)]
    where_: Where,
}

/// Counts them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let mut request = Facets {
        by: args.by.clone(),
        filter: args.where_.filter()?,
        ..Facets::by_room()
    };
    request.check()?;
    let (_, collection) = session.read()?;
    request.filter = args.where_.within(collection.as_ref())?;
    let facets = collection.facets(&request)?;
    let out = &mut session.out;
    if out.is_json() {
        let rows: Vec<Json> = facets.iter().map(|facet| to_json(&args.by, facet)).collect();
        out.json(&json!({ "facets": rows }))?;
    } else {
        out.page(|page| {
            for facet in &facets {
                let values: Vec<&str> = facet
                    .values
                    .iter()
                    .map(|value| value.as_deref().unwrap_or("-"))
                    .collect();
                page.plain(&format!("{:>8}  ", facet.drawers))
                    .plain(&values.join(" / "))
                    .end();
            }
        })?;
    }
    Ok(Exit::Done)
}

fn to_json(by: &[FacetKey], facet: &Facet) -> Json {
    let mut row: Map<String, Json> = by
        .iter()
        .zip(&facet.values)
        .map(|(key, value)| (key.name().to_owned(), json!(value)))
        .collect();
    row.insert("drawers".into(), facet.drawers.into());
    row.into()
}
