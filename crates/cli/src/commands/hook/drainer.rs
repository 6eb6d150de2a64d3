//! `loci hook-drain`: mines the events in a palace's spool; started by hooks, one at a time.

use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use loci_core::{CollectionName, Error, ErrorKind, FilingDoor, Result};
use loci_engine::mine::{MineReport, MineRequest, project::ProjectFinder};
use loci_engine::spool::{self, DrainTurn, EventOutcome, EventSpool, SpoolEvent};

use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus};
use crate::hook::{HarnessHomes, HarnessKind, HookEvent};
use crate::page::format_count;
use crate::session::CommandSession;

/// The largest transcript that is mined, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// The number of attempts to write to a palace that another process holds, each as long as any writer waits: ten minutes
/// in all with the embedded backend. The last event of a day should not wait for the first of the next.
const ATTEMPTS: usize = 20;

/// The increment to the nice value: mining gives way to the work of the user.
const NICE: i32 = 10;

/// Mine the events in the spool
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci hook-drain --palace ./notes")]
pub(crate) struct DrainerArgs {}

/// Drains the spool.
pub(crate) fn run(_: &DrainerArgs, session: &mut CommandSession) -> CommandResult {
    // A session of its own outlives the terminal and signals to the group of the harness. Called by hand, it may be
    // refused, and is not needed.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(NICE);
    let spool = super::find_spool(session)?;
    let Some(turn) = take_turn(&spool)? else {
        return Ok(ExitStatus::Done);
    };
    let drained = spool::drain_spool(&spool, turn, &now, &mut |event| {
        let mined = catch_unwind(AssertUnwindSafe(|| mine_event(event, session)));
        mined.unwrap_or_else(|_| EventOutcome::Failed("the parser panicked; please report it".into()))
    });
    if let Err(error) = &drained {
        spool.log_message(now(), &error.to_string());
    }
    drained?;
    Ok(ExitStatus::Done)
}

/// Takes the turn that a hook handed over as standard input, or one that no process holds.
fn take_turn(spool: &EventSpool) -> Result<Option<DrainTurn>> {
    let handed = io::stdin().as_fd().try_clone_to_owned().ok();
    match handed.and_then(|handed| spool.accept_turn(handed.into())) {
        Some(turn) => Ok(Some(turn)),
        None => spool.take_turn(),
    }
}

fn mine_event(event: &SpoolEvent, session: &CommandSession) -> EventOutcome {
    let Some(path) = find_transcript(event, session) else {
        return EventOutcome::Done(Some(
            "the event does not name a transcript, and none was found".into(),
        ));
    };
    match path.metadata() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return EventOutcome::Missing("no such file".into());
        }
        Err(cause) => return EventOutcome::Failed(cause.to_string()),
        Ok(found) if !found.is_file() => return EventOutcome::Failed("not a regular file".into()),
        Ok(_) => {}
    }
    // The writer ahead is often a person's own `loci mine`, which may take minutes.
    let mut filed = file_transcript(event, &path, session);
    for _ in 1..ATTEMPTS {
        match &filed {
            Err(error) if error.kind() == ErrorKind::Locked => {
                filed = file_transcript(event, &path, session);
            }
            _ => break,
        }
    }
    match filed {
        Ok(report) => judge_report(&report),
        Err(error) => match error.kind() {
            // Neither is a fault of the transcript, so that it does not count as a failed attempt.
            ErrorKind::Locked | ErrorKind::Unavailable => EventOutcome::Later(error.to_string()),
            _ => EventOutcome::Failed(error.to_string()),
        },
    }
}

fn judge_report(report: &MineReport) -> EventOutcome {
    if let Some(failed) = report.sources_failed.first() {
        return EventOutcome::Failed(failed.error.clone());
    }
    let skipped = report
        .skipped
        .first()
        .map(|one| format!("skipped: {}", one.reason));
    let withheld = (report.withheld > 0).then(|| {
        format!(
            "{} withheld as deleted before",
            format_count(report.withheld, "piece")
        )
    });
    EventOutcome::Done(skipped.or(withheld).or_else(|| report.secrets.describe()))
}

/// Files the new messages of a transcript.
fn file_transcript(event: &SpoolEvent, path: &Path, session: &CommandSession) -> Result<MineReport> {
    let named = event.collection.as_deref().map(CollectionName::new);
    let collection = named.transpose()?.or_else(|| session.globals.collection.clone());
    let palace = session
        .open_palace()?
        .in_collection(collection)
        .entering_through(FilingDoor::Hook);
    let wrong = |cause| Error::new(ErrorKind::Io, "cannot read the transcript").caused_by(cause);
    let mut request = MineRequest::for_paths([path.canonicalize().map_err(wrong)?]);
    request.door = FilingDoor::Hook;
    // The harness that called the hook named the file: the event is its own word.
    request.trusted = true;
    request.max_bytes = MAX_BYTES;
    request.wing = find_wing(event);
    palace.mine(&request, &mut |_| {})
}

/// The project of the conversation's folder, for transcripts that do not name the folder themselves.
fn find_wing(event: &SpoolEvent) -> Option<String> {
    let harness = HarnessKind::find_harness(&event.harness)?;
    if harness.transcripts_name_their_folder {
        return None;
    }
    ProjectFinder::new().name_of_cwd(event.cwd.as_deref()?)
}

/// The file in which the harness keeps the conversation.
fn find_transcript(event: &SpoolEvent, session: &CommandSession) -> Option<PathBuf> {
    let environment = session.environment();
    let homes = HarnessHomes {
        user: environment.home.as_deref(),
        codex: environment.codex.as_deref(),
    };
    if let Some(path) = &event.transcript {
        // Claude Code has sent paths with a tilde, which no shell expands here.
        return match (path.strip_prefix("~/"), homes.user) {
            (Some(rest), Some(home)) => Some(home.join(rest)),
            _ => Some(PathBuf::from(path)),
        };
    }
    let told = HookEvent {
        session: event.session.clone(),
        cwd: event.cwd.clone(),
        ..HookEvent::default()
    };
    (HarnessKind::find_harness(&event.harness)?.find)(homes, &told)
}
