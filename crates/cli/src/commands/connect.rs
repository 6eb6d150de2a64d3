//! `loci connect`: writes Loci into a tool's own config, and takes it out again.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use loci_core::{Error, ErrorKind, Result};
use serde_json::{Value as Json, json};

use crate::connect::{Change, Config, Places, Program, Tool, apply, plan};
use crate::errors::{self, Done, Exit};
use crate::session::Session;

/// A config that somebody else keeps changing is read again so often.
const TRIES: usize = 20;

/// Connect a tool: its MCP server, and hooks that save what is said
///
/// Shows what would change in the tool's own config and asks before it writes. What is there stays as it is, byte for
/// byte. The server and the hooks run this very program, named by its whole path.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  loci connect claude-code
  loci connect codex --yes
  loci connect cursor --project --palace ./memory
  loci connect gemini --recall --wing work
  loci connect claude-code --undo
  loci connect vscode --print")]
pub(crate) struct Args {
    /// The tool
    #[arg(value_name = "TOOL")]
    tool: Tool,

    /// Take out what was put in, and nothing else
    #[arg(long)]
    undo: bool,

    /// Print what to paste, and write nothing
    #[arg(long, conflicts_with_all = ["undo", "yes"])]
    print: bool,

    /// Write without asking
    #[arg(long)]
    yes: bool,

    /// The config of the project in the current folder, not the user's
    #[arg(long)]
    project: bool,

    /// Let hooks recall at the start of a session and on prompts
    #[arg(long)]
    recall: bool,

    /// Let the server only read
    #[arg(long)]
    read_only: bool,

    /// Let the server see only this wing; may be given several times
    #[arg(long, value_name = "WING")]
    wing: Vec<String>,
}

/// Shows what would change, asks, and writes.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let places = Places::read(args.project)?;
    let program = program(args, session)?;
    let configs = args.tool.configs(&places, &program);
    if args.print {
        return print(args.tool, &configs, session);
    }
    let changes = plan(&configs, args.undo)?;
    let any = changes.iter().any(Change::is_any);
    if !session.out.is_json() {
        show(&changes, session)?;
        session.out.flush()?;
    }
    let written = any && agreed(args, session)?;
    if written {
        write(&configs, changes.as_slice(), args)?;
    }
    match session.out.is_json() {
        true => session.out.json(&answer(args.tool, &changes, written))?,
        false => tell(args, &places, any, written, session),
    }
    Ok(Exit::Done)
}

fn program(args: &Args, session: &Session) -> Result<Program> {
    let path = std::env::current_exe()
        .map_err(|cause| errors::io("cannot tell where this program lies; nothing was changed", cause))?;
    let mut server = Vec::new();
    server.extend(args.read_only.then(|| "--read-only".to_owned()));
    for wing in &args.wing {
        server.extend(["--wing".to_owned(), wing.clone()]);
    }
    Program::new(&path, palace(session)?, server, args.recall)
}

/// The palace and collection that were named, as arguments that mean the same from everywhere.
fn palace(session: &Session) -> Result<Vec<String>> {
    let mut words = Vec::new();
    if let Some(reference) = &session.globals.palace {
        let folder = session.palace()?.reference.local_path.unwrap_or_default();
        words.extend(["--palace".to_owned(), whole(reference.to_str(), folder, session)?]);
    }
    if let Some(collection) = &session.globals.collection {
        words.extend(["--collection".to_owned(), collection.to_string()]);
    }
    Ok(words)
}

fn whole(reference: Option<&str>, folder: PathBuf, session: &Session) -> Result<String> {
    let backend = reference.and_then(|text| text.split_once(':'));
    let backend = backend.filter(|(name, _)| session.registry.knows(name));
    let folder = folder.into_os_string().into_string().map_err(|folder| {
        Error::invalid(format!("the palace's path is not UTF-8: {}", folder.display()))
            .hint("configs hold text; give the palace another name. Nothing was changed")
    })?;
    Ok(match backend {
        Some((name, _)) => format!("{name}:{folder}"),
        None => folder,
    })
}

fn print(tool: Tool, configs: &[Config], session: &mut Session) -> Done {
    let mut files: Vec<Json> = Vec::new();
    for config in configs {
        let snippet = config.snippet()?;
        let path = config.path.to_string_lossy();
        match session.out.is_json() {
            true => files.push(json!({ "path": path, "snippet": snippet })),
            false => session.out.page(|page| {
                page.dim(&path).end().text(&snippet);
            })?,
        }
    }
    if session.out.is_json() {
        session
            .out
            .json(&json!({ "tool": tool.name(), "files": files }))?;
    }
    Ok(Exit::Done)
}

fn show(changes: &[Change], session: &mut Session) -> Done<()> {
    session.out.page(|page| {
        for change in changes {
            match change.is_any() {
                true => page.text(&change.diff()),
                false => page
                    .dim(&format!("{}: nothing to change", change.path.display()))
                    .end(),
            };
        }
    })
}

/// Whether to write: by --yes, or by a person at the terminal.
fn agreed(args: &Args, session: &Session) -> Done<bool> {
    let asks = io::stdin().is_terminal() && io::stderr().is_terminal() && !session.out.is_json();
    if args.yes || !asks {
        return Ok(args.yes);
    }
    let mut line = String::new();
    let asked = io::stderr()
        .write_all(b"Write this? [y/N] ")
        .and_then(|()| io::stdin().lock().read_line(&mut line));
    asked.map_err(|cause| errors::io("cannot ask; nothing was changed", cause))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Writes, and looks again as often as somebody else was faster.
fn write(configs: &[Config], shown: &[Change], args: &Args) -> Result<()> {
    if apply(shown, args.undo)? {
        return Ok(());
    }
    for _ in 0..TRIES {
        if apply(&plan(configs, args.undo)?, args.undo)? {
            return Ok(());
        }
    }
    let message = format!(
        "somebody else keeps writing to the config of {}",
        args.tool.name()
    );
    Err(Error::new(ErrorKind::Locked, message).hint("end the tool and type the same again"))
}

fn answer(tool: Tool, changes: &[Change], written: bool) -> Json {
    let file = |change: &Change| json!({ "path": change.path.to_string_lossy(), "change": change.kind(), "diff": change.diff() });
    let files: Vec<Json> = changes.iter().map(file).collect();
    json!({ "tool": tool.name(), "files": files, "written": written })
}

fn tell(args: &Args, places: &Places, any: bool, written: bool, session: &mut Session) {
    let name = args.tool.name();
    let out = &mut session.out;
    match (any, written, args.undo) {
        (false, _, false) => out.note("it is connected; nothing to change"),
        (false, _, true) => out.note("nothing of Loci is in there; nothing to change"),
        (true, false, _) => out.note("nothing was written; add --yes to write it"),
        (true, true, true) => out.note(&format!("taken out; restart {name} to let go of it")),
        (true, true, false) => {
            out.note(&format!(
                "written; restart {name}, and take it out again with `loci connect {name} --undo`"
            ));
            if args.tool == Tool::Codex {
                out.note("Codex runs new hooks once you have looked at them: type /hooks there");
            }
        }
    }
    if places.names_palace && session.globals.palace.is_none() && !args.undo {
        session.out.note(
            "LOCI_PALACE is set here and perhaps not where the tool runs; --palace writes the palace down",
        );
    }
}
