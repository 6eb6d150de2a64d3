//! `loci hook`: one line to a spool and out again; and the process that mines what the lines name.

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
use loci_engine::spool::{Event, Spool, Turn, VERSION};
use serde_json::{Value as Json, json};

use crate::environment::now;
use crate::errors::{Done, Exit, io as io_error};
use crate::hook::recall::{occasion_of, recall};
use crate::hook::{Fields, Harness, Moment, Told, stdin};
use crate::session::Session;

pub(crate) use drainer::{Args as DrainArgs, run as drain};
pub(crate) use open::{fail_open, is_hook};
pub(crate) use place::spool;

/// Take note of what happens in a harness, to mine it in the background
///
/// To be called by a harness at its hooks: `loci connect` writes the entries. Reads the event on standard input, keeps it in a
/// spool, starts one process in the background that mines the conversation's new messages, and answers. Never waits for the
/// palace, never blocks a turn or a compaction: whatever goes wrong, it prints one JSON object and exits with 0, and the
/// reason is in `hook.log` in the spool's folder. `loci status` says what waits there.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci hook claude-code Stop < event.json\n  \
    loci hook claude-code UserPromptSubmit --recall --recall-tokens 300\n  \
    loci hook codex notify '{\"type\":\"agent-turn-complete\"}'")]
pub(crate) struct Args {
    /// Who calls: claude-code, codex, gemini or cursor
    #[arg(value_name = "HARNESS")]
    harness: String,

    /// What happened, by the harness's own name, in any spelling
    #[arg(value_name = "EVENT")]
    event: String,

    /// The event, where it does not stand on standard input
    #[arg(value_name = "JSON")]
    payload: Option<OsString>,

    /// Answer the start of a session and prompts with what the palace knows
    ///
    /// A few cited lines, quoted as data; nothing where nothing is close.
    #[arg(long)]
    recall: bool,

    /// The most tokens that is; at least 120 at the start of a session
    #[arg(long, value_name = "N", default_value = "400")]
    recall_tokens: usize,

    /// The most milliseconds it may take; nothing is recalled where it takes longer
    #[arg(long, value_name = "N", default_value = "300")]
    recall_ms: u64,
}

/// Answers. Cannot fail.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    // What a harness reads on standard error it takes for trouble.
    std::panic::set_hook(Box::new(|_| {}));
    let answered = catch_unwind(AssertUnwindSafe(|| answer(args, session)));
    say(&answered.unwrap_or_else(|_| json!({})));
    Ok(Exit::Done)
}

/// Prints the one JSON object. Nobody is left to be told when that cannot be done.
fn say(answer: &Json) {
    let mut out = io::stdout();
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}

fn answer(args: &Args, session: &Session) -> Json {
    let spool = place::spool(session);
    let note = |what: &str| {
        let log = spool
            .as_ref()
            .ok()
            .cloned()
            .or_else(|| place::of_no_palace(session));
        if let Some(log) = log {
            log.note(now(), &format!("{} {}: {what}", args.harness, args.event));
        }
    };
    let Some(harness) = Harness::named(&args.harness) else {
        note("there is no such harness");
        return json!({});
    };
    let Some(moment) = harness.moment(&args.event) else {
        note("there is no such event");
        return json!({});
    };
    let fields = match &args.payload {
        Some(payload) => Fields::read(payload.as_bytes()),
        None => Fields::read(&stdin::read()),
    };
    if let Some(trouble) = &fields.trouble {
        note(trouble);
    }
    let told = (harness.read)(&fields);
    if moment.has_news()
        && let Err(error) = keep(args, harness, &told, session, &spool)
    {
        note(&error.to_string());
    }
    let context = match args.recall {
        true => recalled(args, moment, told, session).unwrap_or_else(|why| {
            note(&why);
            None
        }),
        false => None,
    };
    (harness.answer)(moment, context.as_deref())
}

/// Puts the event into the spool and sees to it that somebody works it off.
///
/// Where the spool cannot be written nothing is started: without its lock every hook would mine for itself, all at
/// once. The transcript is still there, and its next event brings all of it.
fn keep(args: &Args, harness: &Harness, told: &Told, session: &Session, spool: &Result<Spool>) -> Result<()> {
    if told.transcript.is_none() && told.session.is_none() {
        return Err(Error::invalid("the event names no conversation"));
    }
    let spool = spool
        .as_ref()
        .map_err(|error| Error::invalid(error.to_string()))?;
    let palace = session.located()?;
    spool.append(&Event {
        v: VERSION,
        at: now(),
        harness: harness.name.to_owned(),
        event: args.event.chars().take(64).collect(),
        session: told.session.clone(),
        transcript: told.transcript.clone(),
        cwd: told.cwd.clone(),
        palace: palace.folder.to_string_lossy().into_owned(),
        collection: session.globals.collection.as_ref().map(ToString::to_string),
        tries: 0,
        after: None,
        why: None,
    })?;
    match spool.turn()? {
        Some(turn) => start(turn, session),
        None => Ok(()),
    }
}

/// Starts the process that drains the spool. It inherits the turn as its standard input, so that there is no moment in
/// which two could be started.
fn start(turn: Turn, session: &Session) -> Result<()> {
    let located = session.located()?;
    let mut palace = OsString::new();
    if let Some(backend) = &located.backend {
        palace.push(format!("{backend}:"));
    }
    palace.push(&located.folder);
    let started = std::env::current_exe().and_then(|program| {
        Command::new(program)
            .arg("hook-drain")
            .arg("--palace")
            .arg(palace)
            .stdin(turn.into_file())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .spawn()
    });
    started
        .map(drop)
        .map_err(|cause| io_error("cannot start the process that mines", cause))
}

fn recalled(
    args: &Args,
    moment: Moment,
    told: Told,
    session: &Session,
) -> std::result::Result<Option<String>, String> {
    let Some(occasion) = occasion_of(moment, told) else {
        return Ok(None);
    };
    let request = RecallRequest {
        occasion,
        tokens: args.recall_tokens,
    };
    let patience = Duration::from_millis(args.recall_ms);
    recall(session.palace_when_needed(), request, patience)
}
