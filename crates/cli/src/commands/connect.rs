//! `loci connect`: the settings of an agent's tool, edited or restored.

mod folders;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use loci_connect::{AgentTool, ConnectAction, ConnectReport, ConnectRequest, ProgramCommand, SettingsEdit};
use loci_core::{Error, Result};
use serde_json::{Value as Json, json};

use crate::errors::{self, Done, Exit};
use crate::session::Session;

use folders::read_tool_folders;

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
    #[arg(value_name = "TOOL", value_parser = tool_parser())]
    tool: AgentTool,

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

/// The tools by their names.
fn tool_parser() -> impl TypedValueParser<Value = AgentTool> {
    let values = AgentTool::ALL.map(|tool| PossibleValue::new(tool.name()).help(tool.title()));
    PossibleValuesParser::new(values)
        .try_map(|name| AgentTool::from_name(&name).ok_or("no tool has this name"))
}

/// Shows what would change, asks, and writes.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let request = read_request(args, session)?;
    if args.print {
        return print_snippets(&request, session);
    }
    let mut report = request.preview()?;
    if !session.out.is_json() {
        show_edits(&report, session)?;
        session.out.flush()?;
    }
    if report.has_changes() && is_confirmed(args, session)? {
        report = request.apply()?;
    }
    if session.out.is_json() {
        session.out.json(&report_to_json(args.tool, &report))?;
    } else {
        note_outcome(args, &report, session);
    }
    Ok(Exit::Done)
}

fn read_request(args: &Args, session: &Session) -> Result<ConnectRequest> {
    let folders = read_tool_folders(args.project)?;
    let path = std::env::current_exe()
        .map_err(|cause| errors::io("cannot find the path of this program; nothing was changed", cause))?;
    let mut server_args = Vec::new();
    server_args.extend(args.read_only.then(|| "--read-only".to_owned()));
    for wing in &args.wing {
        server_args.extend(["--wing".to_owned(), wing.clone()]);
    }
    let program = ProgramCommand::new(&path)?
        .with_palace_args(palace_args(session)?)
        .with_server_args(server_args)
        .with_recall(args.recall);
    let action = if args.undo {
        ConnectAction::Undo
    } else {
        ConnectAction::Connect
    };
    Ok(ConnectRequest {
        tool: args.tool,
        action,
        folders,
        program,
    })
}

/// The palace and collection that were named, as arguments that mean the same from every folder.
fn palace_args(session: &Session) -> Result<Vec<String>> {
    let mut words = Vec::new();
    if let Some(reference) = &session.globals.palace {
        let folder = session
            .palace()?
            .address()?
            .reference
            .local_path
            .unwrap_or_default();
        let reference = absolute_reference(reference.to_str(), folder, session)?;
        words.extend(["--palace".to_owned(), reference]);
    }
    if let Some(collection) = &session.globals.collection {
        words.extend(["--collection".to_owned(), collection.to_string()]);
    }
    Ok(words)
}

fn absolute_reference(reference: Option<&str>, folder: PathBuf, session: &Session) -> Result<String> {
    let backend = reference.and_then(|text| text.split_once(':'));
    let backend = backend.filter(|(name, _)| session.registry.knows(name));
    let folder = folder.into_os_string().into_string().map_err(|folder| {
        Error::invalid(format!("the palace's path is not UTF-8: {}", folder.display()))
            .hint("settings files hold text; give the palace another name. Nothing was changed")
    })?;
    Ok(match backend {
        Some((name, _)) => format!("{name}:{folder}"),
        None => folder,
    })
}

fn print_snippets(request: &ConnectRequest, session: &mut Session) -> Done {
    let snippets = request.snippets()?;
    if session.out.is_json() {
        let files = snippets.iter();
        let files: Vec<Json> = files
            .map(|snippet| json!({ "path": snippet.path.to_string_lossy(), "snippet": snippet.text }))
            .collect();
        session
            .out
            .json(&json!({ "tool": request.tool.name(), "files": files }))?;
        return Ok(Exit::Done);
    }
    session.out.page(|page| {
        for snippet in &snippets {
            page.dim(&snippet.path.to_string_lossy())
                .end()
                .text(&snippet.text);
        }
    })?;
    Ok(Exit::Done)
}

fn show_edits(report: &ConnectReport, session: &mut Session) -> Done<()> {
    session.out.page(|page| {
        for edit in &report.edits {
            if edit.is_change() {
                page.text(&edit.diff());
            } else {
                page.dim(&format!("{}: nothing to change", edit.path.display()))
                    .end();
            }
        }
    })
}

/// Whether to write: by --yes, or by a person at the terminal.
fn is_confirmed(args: &Args, session: &Session) -> Done<bool> {
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal() && !session.out.is_json();
    if args.yes || !can_ask {
        return Ok(args.yes);
    }
    let mut line = String::new();
    let asked = io::stderr()
        .write_all(b"Write this? [y/N] ")
        .and_then(|()| io::stdin().lock().read_line(&mut line));
    asked.map_err(|cause| errors::io("cannot ask; nothing was changed", cause))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn report_to_json(tool: AgentTool, report: &ConnectReport) -> Json {
    let edit_to_json = |edit: &SettingsEdit| json!({ "path": edit.path.to_string_lossy(), "change": edit.kind().name(), "diff": edit.diff() });
    let files: Vec<Json> = report.edits.iter().map(edit_to_json).collect();
    json!({ "tool": tool.name(), "files": files, "written": report.written })
}

fn note_outcome(args: &Args, report: &ConnectReport, session: &mut Session) {
    let name = args.tool.name();
    let out = &mut session.out;
    match (report.has_changes(), report.written, args.undo) {
        (false, _, false) => out.note("it is connected; nothing to change"),
        (false, _, true) => out.note("it holds no entry of Loci; nothing to change"),
        (true, false, _) => out.note("nothing was written; add --yes to write it"),
        (true, true, true) => out.note(&format!("removed; restart {name} to make it take effect")),
        (true, true, false) => {
            out.note(&format!(
                "written; restart {name}, and undo this with `loci connect {name} --undo`"
            ));
            if args.tool == AgentTool::Codex {
                out.note("Codex runs new hooks once you have looked at them: type /hooks there");
            }
        }
    }
    let palace_is_implied = session.environment().palace.is_some() && session.globals.palace.is_none();
    if palace_is_implied && !args.undo {
        session.out.note(
            "LOCI_PALACE is set here and perhaps not where the tool runs; --palace writes the palace down",
        );
    }
}
