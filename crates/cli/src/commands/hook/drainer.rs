//! `loci hook-drain`: mines what waits in a palace's spool; started by hooks, one at a time.

use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use loci_core::{CollectionName, Error, ErrorKind, FilingDoor, Result};
use loci_engine::mine::{MineReport, MineRequest, project::Projects};
use loci_engine::spool::{self, Event, Outcome, Spool, Turn};

use crate::environment::now;
use crate::errors::{Done, Exit};
use crate::hook::{Harness, Homes, Told};
use crate::session::Session;

/// How large a transcript may be, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// How often a palace that somebody holds is tried, each time as long as any writer waits: ten minutes with the embedded
/// backend. What waits after the last event of a day should not wait for the next day's first.
const ATTEMPTS: usize = 20;

/// How much of its place in the queue for a processor it gives up.
const NICE: i32 = 10;

/// Mine what waits in the spool
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci hook-drain --palace ./notes")]
pub(crate) struct Args {}

/// Mines it.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    // A session of its own outlives the terminal and whatever the harness does to its group. Called by hand, it may be
    // refused, and is not needed.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(NICE);
    let spool = super::spool(session)?;
    let Some(turn) = turn(&spool)? else {
        return Ok(Exit::Done);
    };
    let drained = spool::drain(&spool, turn, &now, &mut |event| {
        let mined = catch_unwind(AssertUnwindSafe(|| mine(event, session)));
        mined.unwrap_or_else(|_| Outcome::Failed("the parser panicked; please report it".into()))
    });
    if let Err(error) = &drained {
        spool.note(now(), &error.to_string());
    }
    drained?;
    Ok(Exit::Done)
}

/// The turn that a hook handed over as standard input, or one that nobody has.
fn turn(spool: &Spool) -> Result<Option<Turn>> {
    let handed = io::stdin().as_fd().try_clone_to_owned().ok();
    match handed.and_then(|handed| spool.accept(handed.into())) {
        Some(turn) => Ok(Some(turn)),
        None => spool.turn(),
    }
}

fn mine(event: &Event, session: &Session) -> Outcome {
    let Some(path) = transcript(event, session) else {
        return Outcome::Done(Some("its transcript is not named and was not found".into()));
    };
    match path.metadata() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Outcome::Missing("there is no such file".into());
        }
        Err(cause) => return Outcome::Failed(cause.to_string()),
        Ok(found) if !found.is_file() => return Outcome::Failed("it is not a regular file".into()),
        Ok(_) => {}
    }
    let mut filed = file(event, &path, session);
    for _ in 1..ATTEMPTS {
        match &filed {
            Err(error) if error.kind() == ErrorKind::Locked => filed = file(event, &path, session),
            _ => break,
        }
    }
    match filed {
        Ok(report) => outcome(&report),
        Err(error) => match error.kind() {
            ErrorKind::Locked | ErrorKind::Unavailable => Outcome::Later(error.to_string()),
            _ => Outcome::Failed(error.to_string()),
        },
    }
}

fn outcome(report: &MineReport) -> Outcome {
    if let Some(failed) = report.sources_failed.first() {
        return Outcome::Failed(failed.error.clone());
    }
    let skipped = report.skipped.first();
    Outcome::Done(skipped.map(|one| format!("left out: {}", one.reason)))
}

/// Files the new messages of a transcript.
fn file(event: &Event, path: &Path, session: &Session) -> Result<MineReport> {
    let named = event.collection.as_deref().map(CollectionName::new);
    let collection = named.transpose()?.or_else(|| session.globals.collection.clone());
    let palace = session
        .palace()?
        .in_collection(collection)
        .through(FilingDoor::Hook);
    let wrong = |cause| Error::new(ErrorKind::Io, "cannot read it").caused_by(cause);
    let mut request = MineRequest::of([path.canonicalize().map_err(wrong)?]);
    request.door = FilingDoor::Hook;
    request.max_bytes = MAX_BYTES;
    request.wing = wing(event);
    palace.mine(&request, &mut |_| {})
}

/// The project of the folder the conversation is had in, for transcripts that do not tell it themselves.
fn wing(event: &Event) -> Option<String> {
    let harness = Harness::named(&event.harness)?;
    match harness.transcripts_name_their_folder {
        true => None,
        false => Projects::new().of_cwd(event.cwd.as_deref()?),
    }
}

/// The file the conversation is written to.
fn transcript(event: &Event, session: &Session) -> Option<PathBuf> {
    let environment = session.environment();
    let homes = Homes {
        user: environment.home.as_deref(),
        codex: environment.codex.as_deref(),
    };
    if let Some(path) = &event.transcript {
        return match (path.strip_prefix("~/"), homes.user) {
            (Some(rest), Some(home)) => Some(home.join(rest)),
            _ => Some(PathBuf::from(path)),
        };
    }
    let told = Told {
        session: event.session.clone(),
        cwd: event.cwd.clone(),
        ..Told::default()
    };
    (Harness::named(&event.harness)?.find)(homes, &told)
}
