//! `loci embedder switch`: moves a collection to another model while everybody goes on.

use loci_core::{Error, IdentityState, Space, SpaceState, Switch};
use loci_engine::SwitchReport;
use loci_engine::switch::{Ended, Progress};

use super::describe;
use crate::errors::{Done, Exit};
use crate::output::Output;
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
        Some(model) => switch_to(model, session),
        None if args.pause => step(&Switch::Pause, session),
        None => step(&Switch::Rollback, session),
    }
}

fn switch_to(model: &str, session: &mut Session) -> Done {
    let Some(embedder) = session.embedders.named(model)? else {
        let error = Error::invalid("`none` makes no vectors to move to");
        return Err(error
            .hint("nothing was changed; `loci match` uses keywords only")
            .into());
    };
    let mut progress = session.out.progress("drawers embedded");
    let mut watch = |at: Progress| {
        progress.tick(at.done, Some(at.of));
        true
    };
    let report = session.palace()?.switch_embedder(embedder.as_ref(), &mut watch)?;
    let said = match report.ended {
        Ended::Switched => format!("{model} answers now"),
        Ended::WasActive => format!("{model} answered already"),
        Ended::Paused | Ended::Stopped | Ended::RolledBack => {
            format!("paused; go on with `loci embedder switch {model}`")
        }
    };
    tell(&said, &report, session)?;
    let mut states = report.spaces.iter().map(|space| space.state);
    if states.any(|state| state == SpaceState::Retired) {
        let keep = "the old vectors are kept for `loci embedder switch --rollback`; \
            drop them with `loci maintain compact --drop-retired`";
        session.out.note(keep);
    }
    Ok(Exit::Done)
}

fn tell(said: &str, report: &SwitchReport, session: &mut Session) -> Done<()> {
    if session.out.is_json() {
        return session.out.json(report);
    }
    session.out.page(|page| {
        page.bold(said)
            .dim(&format!("  {} drawers embedded", report.filled))
            .end();
        for space in &report.spaces {
            let (name, reach) = describe(space);
            page.plain("    ").dim(&reach).plain("  ").plain(&name).end();
        }
    })
}

fn step(step: &Switch, session: &mut Session) -> Done {
    let palace = session.palace()?;
    let report = palace.step_switch(step)?;
    let said = match report.ended {
        Ended::RolledBack => "rolled back",
        _ => "paused",
    };
    tell(said, &report, session)?;
    advise(&report.spaces, &mut session.out);
    session.out.warnings(&palace.show_embedder()?.warnings);
    Ok(Exit::Done)
}

/// Says which drawers the model that answers does not reach yet, and how to complete it.
fn advise(spaces: &[Space], out: &mut Output) {
    let active = spaces.iter().find(|space| space.state == SpaceState::Active);
    if let Some(space) = active.filter(|space| space.missing() > 0)
        && let IdentityState::Known(identity) = &space.identity
    {
        out.warn(&format!(
            "{} drawers have no vector of {} yet; make them with `loci embedder switch {}`",
            space.missing(),
            identity.model,
            identity.model
        ));
    }
}
