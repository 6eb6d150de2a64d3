//! `loci connect`: lists the tools of agents, and edits or restores the settings of one.

mod documents;
mod program;
mod sessions;
mod status;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use loci_connect::{AgentTool, ConnectAction, ConnectReport, ConnectRequest};
use loci_core::{Error, Result};

use super::mcp::wing_named;
use crate::errors::{self, CommandResult, ExitStatus};
use crate::palace::{PalacePlace, ServerUrl};
use crate::session::CommandSession;
use crate::tool_folders::read_tool_folders;

pub(crate) use documents::{PrintedSettings, ToolConnection, ToolList};
pub(crate) use program::find_on_path;
use program::find_own_command;
use sessions::SessionOffer;
use status::list_tools;

/// Connect a tool: its MCP server, and hooks that save what is said
///
/// Shows the change to the tool's own settings and asks before it writes. Every other byte of the settings stays. The
/// server and the hooks run this program, by the absolute path under which it was called. Without TOOL, lists every
/// known tool: whether it is installed, whether it is connected, and to which palace.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  loci connect
  loci connect claude-code
  loci connect codex --yes
  loci connect cursor --project --palace ./memory
  loci connect gemini --recall --wing work
  loci connect claude-code --compat mempalace
  loci connect claude-code --undo
  loci connect vscode --print")]
pub(crate) struct ConnectArgs {
    /// The tool to connect [default: list all]
    #[arg(value_name = "TOOL", value_parser = tool_parser())]
    tool: Option<AgentTool>,

    /// Remove the entries of Loci, and nothing else
    #[arg(long, requires = "tool")]
    undo: bool,

    /// Print the entries to paste, and write nothing
    #[arg(long, requires = "tool", conflicts_with_all = ["undo", "yes"])]
    print: bool,

    /// Write without asking
    #[arg(long, requires = "tool")]
    yes: bool,

    /// Use the settings of the project in the current folder, not the user's
    #[arg(long)]
    project: bool,

    /// Let hooks recall at the start of a session and on prompts
    #[arg(long, requires = "tool")]
    recall: bool,

    /// Let the server only read
    #[arg(long, requires = "tool")]
    read_only: bool,

    /// Let the server see only this wing; can be repeated
    #[arg(long, value_name = "WING", requires = "tool")]
    wing: Vec<String>,

    /// Let the server use the tool names, arguments and results of another system
    #[arg(long, value_name = "SYSTEM", value_parser = ["mempalace"], requires = "tool")]
    compat: Option<String>,
}

/// The tools by their names.
fn tool_parser() -> impl TypedValueParser<Value = AgentTool> {
    let values = AgentTool::ALL.map(|tool| PossibleValue::new(tool.name()).help(tool.title()));
    PossibleValuesParser::new(values)
        .try_map(|name| AgentTool::from_name(&name).ok_or("no tool has this name"))
}

/// Lists the tools; or shows the change to the settings of one, asks, and writes.
pub(crate) fn run(args: &ConnectArgs, session: &mut CommandSession) -> CommandResult {
    let Some(tool) = args.tool else {
        return list_tools(&read_tool_folders(args.project)?, session);
    };
    let palace_args = read_palace_args(session)?;
    let request = build_request(tool, args, &palace_args)?;
    if args.print {
        return print_snippets(&request, session);
    }
    let mut report = request.preview()?;
    if !session.out.is_json() {
        show_edits(&report, session)?;
        // The question that follows goes to standard error, which is not buffered.
        session.out.flush()?;
    }
    if report.has_changes() && is_confirmed(args, session)? {
        report = request.apply()?;
    }
    // Offered once, right after connecting: a later run finds nothing to change and stays silent.
    let offer = (report.written && !args.undo)
        .then(|| SessionOffer::find(tool, &request.folders, &palace_args))
        .flatten();
    if session.out.is_json() {
        let past = offer.as_ref().map(SessionOffer::describe);
        session
            .out
            .write_json(&ToolConnection::new(tool, &report, past))?;
        return Ok(ExitStatus::Done);
    }
    note_outcome(tool, args, &report, session);
    if let Some(offer) = offer {
        // With --yes nothing is asked, this neither.
        offer.make(!args.yes && can_ask(session), session)?;
    }
    Ok(ExitStatus::Done)
}

fn build_request(tool: AgentTool, args: &ConnectArgs, palace_args: &[String]) -> Result<ConnectRequest> {
    let mut server_args = Vec::new();
    server_args.extend(args.read_only.then(|| "--read-only".to_owned()));
    // Restrictions go to the server alone: hooks save everything that is said.
    for wing in &args.wing {
        // Refused here as the server would refuse it later, where its user would not see why.
        wing_named(wing)?;
        server_args.extend(["--wing".to_owned(), wing.clone()]);
    }
    if let Some(system) = &args.compat {
        server_args.extend(["--compat".to_owned(), system.clone()]);
    }
    let program = find_own_command()?
        .with_palace_args(palace_args.to_vec())
        .with_server_args(server_args)
        .with_recall(args.recall);
    let action = if args.undo {
        ConnectAction::Undo
    } else {
        ConnectAction::Connect
    };
    Ok(ConnectRequest {
        tool,
        action,
        folders: read_tool_folders(args.project)?,
        program,
    })
}

/// The palace and collection of the command line, as arguments that mean the same from every folder.
fn read_palace_args(session: &CommandSession) -> Result<Vec<String>> {
    let mut words = Vec::new();
    if let Some(reference) = &session.globals.palace {
        // Absolute, and otherwise as it was given: a link to a palace may lead to another one tomorrow.
        let location = session.location()?;
        let reference = match &location.place {
            PalacePlace::Folder(folder) => absolute_reference(reference.to_str(), folder.clone(), session)?,
            PalacePlace::Server(url) => shareable_url(url)?,
        };
        words.extend(["--palace".to_owned(), reference]);
    }
    if let Some(collection) = &session.globals.collection {
        words.extend(["--collection".to_owned(), collection.to_string()]);
    }
    Ok(words)
}

/// The URL of a palace on a server, as it may stand in a settings file.
fn shareable_url(url: &ServerUrl) -> Result<String> {
    let shown = url.shown();
    if !shown.hides_secret {
        return Ok(shown.text.clone());
    }
    Err(Error::invalid(format!(
        "the URL {} has a password, which would stand in the tool's settings",
        shown.text
    ))
    .with_hint("nothing was changed; keep the password in ~/.pgpass or a service file"))
}

fn absolute_reference(reference: Option<&str>, folder: PathBuf, session: &CommandSession) -> Result<String> {
    // The backend of a reference is kept, since the files of an empty folder would not tell it.
    let backend = reference.and_then(|text| text.split_once(':'));
    let backend = backend.filter(|(name, _)| session.registry.knows(name));
    let folder = folder.into_os_string().into_string().map_err(|folder| {
        Error::invalid(format!("the palace's path is not UTF-8: {}", folder.display()))
            .with_hint("nothing was changed; settings files hold text, so give the palace another name")
    })?;
    Ok(match backend {
        Some((name, _)) => format!("{name}:{folder}"),
        None => folder,
    })
}

fn print_snippets(request: &ConnectRequest, session: &mut CommandSession) -> CommandResult {
    let snippets = request.snippets()?;
    if session.out.is_json() {
        session
            .out
            .write_json(&PrintedSettings::new(request.tool, &snippets))?;
        return Ok(ExitStatus::Done);
    }
    session.out.write_page(|page| {
        for snippet in &snippets {
            page.dim(&snippet.path.to_string_lossy())
                .end()
                .text(&snippet.text);
        }
    })?;
    Ok(ExitStatus::Done)
}

fn show_edits(report: &ConnectReport, session: &mut CommandSession) -> CommandResult<()> {
    session.out.write_page(|page| {
        for edit in &report.edits {
            // A file that stays as it is is named all the same, so that the user sees it was looked at.
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
fn is_confirmed(args: &ConnectArgs, session: &CommandSession) -> CommandResult<bool> {
    if args.yes || !can_ask(session) {
        return Ok(args.yes);
    }
    ask_person("Write this? [y/N] ")
}

/// Whether a person is at the terminal to answer a question.
fn can_ask(session: &CommandSession) -> bool {
    // The question is printed on standard error; a person who redirected that would wait without knowing why.
    io::stdin().is_terminal() && io::stderr().is_terminal() && !session.out.is_json()
}

/// Asks a question on standard error. Anything but a yes is a no.
fn ask_person(question: &str) -> CommandResult<bool> {
    let mut line = String::new();
    let asked = io::stderr()
        .write_all(question.as_bytes())
        .and_then(|()| io::stdin().lock().read_line(&mut line));
    asked.map_err(|cause| errors::io_error("cannot ask; nothing was changed", cause))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn note_outcome(tool: AgentTool, args: &ConnectArgs, report: &ConnectReport, session: &mut CommandSession) {
    let (name, title) = (tool.name(), tool.title());
    let out = &mut session.out;
    if !report.has_changes() && args.undo {
        out.note("its settings hold no entry of Loci; nothing to change");
    } else if !report.has_changes() {
        out.note("it is connected already; nothing to change");
    } else if !report.written {
        out.note("nothing was written; add --yes to write it");
    } else if args.undo {
        out.note(&format!("removed; restart {title} for the change to take effect"));
    } else {
        out.note(&format!(
            "written; restart {title}, and undo this with `loci connect {name} --undo`"
        ));
        if tool == AgentTool::Codex {
            out.note("Codex runs new hooks once you have reviewed them: type /hooks in it");
        }
    }
    // A tool started from a desktop does not see the variables of this shell.
    let palace_is_implied = session.environment().palace.is_some() && session.globals.palace.is_none();
    if palace_is_implied && !args.undo {
        session.out.note(
            "LOCI_PALACE is set in this shell, and may not be where the tool runs; name the palace with --palace",
        );
    }
}
