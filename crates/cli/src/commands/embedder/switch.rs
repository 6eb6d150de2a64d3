//! `loci embedder switch`: moves a collection to another model while everybody goes on.

use loci_core::{Collection, CollectionExt, Error, IdentityState, Space, SpaceState, Switch};
use loci_engine::switch::{Ended, Progress};
use serde_json::json;

use super::{SpaceJson, describe};
use crate::errors::{Done, Exit};
use crate::session::Session;

/// Move to another model without stopping anybody
///
/// New vectors are made beside the old ones. Search answers from the old ones until every drawer has a new one,
/// then the new model answers from one moment to the next. Stopped at any point, even by kill -9, it goes on where
/// it was when it is run again. The old vectors stay for --rollback until `loci maintain compact --drop-retired`.
///
/// With the model that answers already, drawers that lack a vector get one.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci embedder switch minilm\n  loci embedder switch --pause\n  \
    loci embedder switch --rollback"
)]
pub(crate) struct Args {
    /// The model to move to
    #[arg(value_name = "MODEL", required_unless_present_any = ["pause", "rollback"])]
    model: Option<String>,

    /// Ask whoever is switching this collection to stop; what is done is kept
    #[arg(long, conflicts_with_all = ["model", "rollback"])]
    pause: bool,

    /// Return to the model that answered before, at once; a switch under way is given up
    #[arg(long, conflicts_with = "model")]
    rollback: bool,
}

/// Takes the step that is asked for.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    match &args.model {
        Some(model) => to(model, session),
        None if args.pause => step(&Switch::Pause, "paused", session),
        None => step(&Switch::Rollback, "rolled_back", session),
    }
}

fn to(model: &str, session: &mut Session) -> Done {
    let Some(embedder) = session.embedders.named(model)? else {
        let error = Error::invalid("`none` makes no vectors to move to");
        return Err(error
            .hint("nothing was changed; `loci match` uses keywords only")
            .into());
    };
    let (_, collection) = session.write()?;
    let mut progress = session.out.progress("drawers embedded");
    let mut watch = |at: Progress| {
        progress.tick(at.done, Some(at.of));
        true
    };
    let report = loci_engine::switch(collection.as_ref(), embedder.as_ref(), &mut watch)?;
    let outcome = match report.ended {
        Ended::Switched => "switched",
        Ended::WasActive => "was_active",
        Ended::Paused | Ended::Stopped => "paused",
    };
    if session.out.is_json() {
        session.out.json(&json!({
            "outcome": outcome,
            "embedded": report.filled,
            "stale": report.stale,
            "spaces": report.spaces.iter().map(SpaceJson::of).collect::<Vec<_>>(),
        }))?;
    } else {
        let said = match report.ended {
            Ended::Switched => format!("{model} answers now"),
            Ended::WasActive => format!("{model} answered already"),
            Ended::Paused | Ended::Stopped => format!("paused; go on with `loci embedder switch {model}`"),
        };
        tell(&said, report.filled, &report.spaces, session)?;
    }
    if report
        .spaces
        .iter()
        .any(|space| space.state == SpaceState::Retired)
    {
        let keep = "the old vectors are kept for `loci embedder switch --rollback`; \
            drop them with `loci maintain compact --drop-retired`";
        session.out.note(keep);
    }
    Ok(Exit::Done)
}

fn tell(said: &str, filled: u64, spaces: &[Space], session: &mut Session) -> Done<()> {
    session.out.page(|page| {
        page.bold(said).dim(&format!("  {filled} drawers embedded")).end();
        for space in spaces {
            let (name, reach) = describe(space);
            page.plain("    ").dim(&reach).plain("  ").plain(&name).end();
        }
    })
}

fn step(step: &Switch, outcome: &str, session: &mut Session) -> Done {
    let (_, collection) = session.write()?;
    let spaces = collection.require_spaces()?.take_step(step)?;
    if session.out.is_json() {
        session.out.json(&json!({
            "outcome": outcome,
            "embedded": 0,
            "stale": 0,
            "spaces": spaces.iter().map(SpaceJson::of).collect::<Vec<_>>(),
        }))?;
    } else {
        tell(&outcome.replace('_', " "), 0, &spaces, session)?;
    }
    advise(&spaces, collection.as_ref(), session)
}

/// Says what the model that answers does not reach yet, and how to complete it.
fn advise(spaces: &[Space], collection: &dyn Collection, session: &mut Session) -> Done {
    let active = spaces.iter().find(|space| space.state == SpaceState::Active);
    if let Some(space) = active.filter(|space| space.missing() > 0)
        && let IdentityState::Known(identity) = &space.identity
    {
        session.out.warn(&format!(
            "{} drawers have no vector of {} yet; make them with `loci embedder switch {}`",
            space.missing(),
            identity.model,
            identity.model
        ));
    }
    session.out.warnings(&collection.info()?.warnings);
    Ok(Exit::Done)
}
