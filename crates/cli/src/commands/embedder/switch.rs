//! `loci embedder switch`: moves a collection to another model while reads and writes continue.

use loci_core::{EmbeddingSpace, Error, IdentityState, SpaceState, SwitchStep};
use loci_engine::SwitchReport;
use loci_engine::switch::{SwitchOutcome, SwitchProgress};

use super::{describe_space, missing_vectors};
use crate::errors::{CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::render::count_drawers;
use crate::session::CommandSession;

/// Move to another model while reads and writes continue
///
/// Re-embeds every drawer beside the old vectors, from which search answers until the last drawer is done, and then cuts
/// over atomically. After an interruption, even by kill -9, the same command resumes. The old vectors are kept for
/// --rollback until `loci maintain compact --drop-retired`.
///
/// With the active model, embeds the drawers that lack a vector.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci embedder switch minilm\n  loci embedder switch --pause\n  \
    loci embedder switch --rollback"
)]
pub(crate) struct EmbedderSwitchArgs {
    /// The model to move to
    #[arg(value_name = "MODEL", required_unless_present_any = ["pause", "rollback"])]
    model: Option<String>,

    /// Ask a running switch of this collection to stop; its vectors are kept
    #[arg(long, conflicts_with_all = ["model", "rollback"])]
    pause: bool,

    /// Return to the previous model at once, or abandon an unfinished switch
    #[arg(long, conflicts_with = "model")]
    rollback: bool,
}

/// Switches, pauses or rolls back.
pub(crate) fn run(args: &EmbedderSwitchArgs, session: &mut CommandSession) -> CommandResult {
    match &args.model {
        Some(model) => switch_to(model, session),
        None if args.pause => take_step(&SwitchStep::Pause, session),
        None => take_step(&SwitchStep::Rollback, session),
    }
}

fn switch_to(model: &str, session: &mut CommandSession) -> CommandResult {
    let Some(embedder) = session.embedders.find_by_name(model)? else {
        let error = Error::invalid("`none` makes no vectors, so it cannot be switched to");
        return Err(error
            .with_hint("nothing was changed; `loci match` uses keywords only")
            .into());
    };
    let mut progress = session.out.progress("starting");
    // Ctrl-C is a kill, and a kill is safe at every moment, so that the watcher never asks to stop.
    let mut watch = |at: SwitchProgress| {
        progress.begin_phase("drawers embedded");
        progress.tick(at.done, Some(at.of));
        true
    };
    let report = session
        .open_palace()?
        .switch_embedder(embedder.as_ref(), &mut watch)?;
    drop(progress);
    let said = match report.ended {
        SwitchOutcome::Switched => format!("{model} is active now"),
        SwitchOutcome::WasActive => format!("{model} was active already"),
        // Another process asked for a pause, or rolled the switch back while it ran.
        SwitchOutcome::Paused | SwitchOutcome::Stopped | SwitchOutcome::RolledBack => {
            format!("paused; resume with `loci embedder switch {model}`")
        }
    };
    print_report(&said, &report, session)?;
    // A switch that filled the active model retires nothing.
    let mut states = report.spaces.iter().map(|space| space.state);
    if states.any(|state| state == SpaceState::Retired) {
        let keep = "the old vectors are kept for `loci embedder switch --rollback`; \
            drop them with `loci maintain compact --drop-retired`";
        session.out.note(keep);
    }
    Ok(ExitStatus::Done)
}

fn print_report(said: &str, report: &SwitchReport, session: &mut CommandSession) -> CommandResult<()> {
    if session.out.is_json() {
        return session.out.write_json(report);
    }
    session.out.write_page(|page| {
        page.bold(said)
            .dim(&format!("  {} embedded", count_drawers(report.filled)))
            .end();
        for space in &report.spaces {
            let (name, reach) = describe_space(space);
            page.plain("    ").dim(&reach).plain("  ").plain(&name).end();
        }
    })
}

fn take_step(step: &SwitchStep, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    let report = palace.step_switch(step)?;
    let said = match report.ended {
        SwitchOutcome::RolledBack => "rolled back",
        _ => "paused",
    };
    print_report(said, &report, session)?;
    // After a rollback, drawers filed meanwhile have no vector of the old model.
    warn_of_missing(&report.spaces, &mut session.out);
    session.out.warnings(&palace.show_embedder()?.warnings);
    Ok(ExitStatus::Done)
}

/// Warns of drawers without a vector of the active model, and names the command that embeds them.
fn warn_of_missing(spaces: &[EmbeddingSpace], out: &mut TerminalOutput) {
    let active = spaces.iter().find(|space| space.state == SpaceState::Active);
    if let Some(space) = active.filter(|space| space.missing_vectors() > 0)
        && let IdentityState::Known(identity) = &space.identity
    {
        let of = format!(" of {}", identity.model);
        out.warn(&missing_vectors(space.missing_vectors(), &of, &identity.model));
    }
}
