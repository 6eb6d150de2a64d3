//! `loci hook`: records an event of a harness in a spool and returns; another process mines the spool.

mod drainer;
mod open;
mod place;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::Duration;

use loci_core::{Error, Result};
use loci_engine::recall::RecallRequest;
use loci_engine::spool::{DrainTurn, EVENT_VERSION, EventSpool, SpoolEvent};
use serde_json::{Value as Json, json};

use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus, io_error};
use crate::hook::recall::{occasion_of, recall_memory};
use crate::hook::{HarnessKind, HookEvent, HookFields, HookMoment, stdin};
use crate::palace::PalacePlace;
use crate::session::CommandSession;

pub(crate) use drainer::{DrainerArgs, run as drain};
pub(crate) use open::{fail_open, is_hook};
pub(crate) use place::find_spool;

/// Record an event of a harness, and mine its conversation in the background
///
/// Called by a harness at its hooks; `loci connect` writes the entries. Reads the event from standard input, appends it to
/// a spool, starts one background process that mines the new messages of the conversation, and answers. Never waits for
/// the palace and never blocks a turn or a compaction: on any error it still prints one JSON object and exits with 0, and
/// `hook.log` in the folder of the spool gives the reason. `loci status` shows how many events are waiting.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci hook claude-code Stop < event.json\n  \
    loci hook claude-code UserPromptSubmit --recall --recall-tokens 300\n  \
    loci hook codex notify '{\"type\":\"agent-turn-complete\"}'")]
pub(crate) struct HookArgs {
    /// The harness: claude-code, codex, gemini or cursor
    #[arg(value_name = "HARNESS")]
    harness: String,

    /// The event, by the harness's own name, in any spelling
    #[arg(value_name = "EVENT")]
    event: String,

    /// The payload of the event [default: standard input]
    #[arg(value_name = "JSON")]
    payload: Option<OsString>,

    /// Answer the start of a session and prompts with related drawers
    ///
    /// A few cited lines, quoted as data; nothing if no drawer is close enough.
    #[arg(long)]
    recall: bool,

    /// The most tokens to recall; at least 120 at the start of a session
    #[arg(long, value_name = "N", default_value = "400")]
    recall_tokens: usize,

    /// The most milliseconds to spend; nothing is recalled if it takes longer
    #[arg(long, value_name = "N", default_value = "300")]
    recall_ms: u64,
}

/// Answers the event. Never fails.
pub(crate) fn run(args: &HookArgs, session: &mut CommandSession) -> CommandResult {
    // Harnesses show a hook that writes to standard error as failed, so that a panic must stay silent.
    std::panic::set_hook(Box::new(|_| {}));
    let answered = catch_unwind(AssertUnwindSafe(|| answer_event(args, session)));
    print_answer(&answered.unwrap_or_else(|_| json!({})));
    Ok(ExitStatus::Done)
}

/// Prints the answer. If standard output is gone there is nowhere left to report that.
fn print_answer(answer: &Json) {
    let mut out = io::stdout();
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}

fn answer_event(args: &HookArgs, session: &CommandSession) -> Json {
    let spool = place::find_spool(session);
    // An event whose palace is not known is noted as well, in the folder above all spools.
    let note = |what: &str| {
        let log = spool
            .as_ref()
            .ok()
            .cloned()
            .or_else(|| place::shared_log(session));
        if let Some(log) = log {
            log.log_message(now(), &format!("{} {}: {what}", args.harness, args.event));
        }
    };
    let Some(harness) = HarnessKind::find_harness(&args.harness) else {
        note("unknown harness");
        return json!({});
    };
    let Some(moment) = harness.moment(&args.event) else {
        note("unknown event");
        return json!({});
    };
    let fields = match &args.payload {
        Some(payload) => HookFields::read(payload.as_bytes()),
        None => HookFields::read(&stdin::read()),
    };
    if let Some(trouble) = &fields.trouble {
        note(trouble);
    }
    let told = (harness.read)(&fields);
    // The transcript first: a recall that takes too long must not cost the words that were said.
    if moment.has_news()
        && let Err(error) = keep_event(args, harness, &told, session, &spool)
    {
        note(&error.to_string());
    }
    let context = if args.recall {
        recall_context(args, moment, told, session).unwrap_or_else(|why| {
            note(&why);
            None
        })
    } else {
        None
    };
    (harness.answer)(moment, context.as_deref())
}

/// Appends the event to the spool and makes sure that a process drains it.
///
/// If the spool cannot be written, no process is started: without its lock every hook would mine for itself, all at
/// once. The transcript is still there, and its next event covers all of it.
fn keep_event(
    args: &HookArgs,
    harness: &HarnessKind,
    told: &HookEvent,
    session: &CommandSession,
    spool: &Result<EventSpool>,
) -> Result<()> {
    if told.transcript.is_none() && told.session.is_none() {
        return Err(Error::invalid("the event names no conversation"));
    }
    let spool = spool
        .as_ref()
        .map_err(|error| Error::invalid(error.to_string()))?;
    let palace = session.location()?;
    spool.append_event(&SpoolEvent {
        v: EVENT_VERSION,
        at: now(),
        harness: harness.name.to_owned(),
        // A harness sends short names; whatever else is sent must not fill the disk.
        event: args.event.chars().take(64).collect(),
        session: told.session.clone(),
        transcript: told.transcript.clone(),
        cwd: told.cwd.clone(),
        palace: shown_place(&palace.place),
        collection: session.globals.collection.as_ref().map(ToString::to_string),
        tries: 0,
        after: None,
        why: None,
    })?;
    match spool.take_turn()? {
        Some(turn) => start_drainer(turn, session),
        None => Ok(()),
    }
}

/// The place of a palace as a line of the spool names it, without a password.
fn shown_place(place: &PalacePlace) -> String {
    match place {
        PalacePlace::Folder(folder) => folder.to_string_lossy().into_owned(),
        PalacePlace::Server(url) => url.shown().text.clone(),
    }
}

/// Starts the process that drains the spool. It inherits the turn as its standard input, so that two can never be
/// started.
fn start_drainer(turn: DrainTurn, session: &CommandSession) -> Result<()> {
    let located = session.location()?;
    let started = std::env::current_exe().and_then(|program| {
        let mut drainer = Command::new(program);
        drainer.arg("hook-drain");
        match &located.place {
            PalacePlace::Folder(folder) => {
                let mut palace = OsString::new();
                if let Some(backend) = &located.backend {
                    palace.push(format!("{backend}:"));
                }
                palace.push(folder);
                drainer.arg("--palace").arg(palace)
            }
            // Not as an argument, which every user of the machine can read: a URL may hold a password.
            PalacePlace::Server(url) => drainer.env("LOCI_PALACE", url.as_given()),
        };
        drainer
            .stdin(turn.into_file())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // The folder of the conversation may be on a volume that its user wants to eject.
            .current_dir("/")
            // A harness that ends its own group with Ctrl-C must not end the drainer with it.
            .process_group(0)
            .spawn()
    });
    started
        .map(drop)
        .map_err(|cause| io_error("cannot start the process that mines", cause))
}

fn recall_context(
    args: &HookArgs,
    moment: HookMoment,
    told: HookEvent,
    session: &CommandSession,
) -> std::result::Result<Option<String>, String> {
    let Some(occasion) = occasion_of(moment, told) else {
        return Ok(None);
    };
    let request = RecallRequest {
        occasion,
        tokens: args.recall_tokens,
    };
    let patience = Duration::from_millis(args.recall_ms);
    recall_memory(session.palace_when_needed(), request, patience)
}
