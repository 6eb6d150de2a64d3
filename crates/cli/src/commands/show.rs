//! `loci show`: drawers whole, as people read them.

use clap::builder::RangedU64ValueParser;
use loci_core::{DrawerId, Metadata};
use loci_engine::show::{DrawerInContext, ShowRequest};
use loci_engine::view::DrawerView;

use crate::errors::{CommandResult, ExitStatus};
use crate::escape::{self, quote_for_shell};
use crate::output::TerminalOutput;
use crate::page::TextPage;
use crate::render::{self, format_minute, warn_of_damage};
use crate::session::CommandSession;

/// Show drawers by id
///
/// Prints where each is filed, its source, speaker and times, and its verbatim text; only characters that would control
/// the terminal are escaped. An id may be shortened to a unique prefix of at least 6 characters. Exits with 1 if none of
/// them exists.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  loci show 533da3687d741789776f6929b2c70fce
  loci show 533da3 note-1 --context 2
  loci show note-1 --embeddings --json")]
pub(crate) struct ShowArgs {
    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<DrawerId>,

    /// Also show N neighbours on each side
    #[arg(long, value_name = "N", default_value = "0",
        value_parser = RangedU64ValueParser::<usize>::new().range(..=1000))]
    context: usize,

    /// Also show the exact vectors
    #[arg(long)]
    embeddings: bool,
}

/// Metadata keys that are shown on a line of their own, with its label.
const NAMED: [(&str, &str); 2] = [("title", "title    "), ("thread_id", "thread   ")];

/// Shows the drawers.
pub(crate) fn run(args: &ShowArgs, session: &mut CommandSession) -> CommandResult {
    let request = ShowRequest {
        ids: args.ids.clone(),
        embeddings: args.embeddings,
    };
    let report = session.open_palace()?.show_in_context(&request, args.context)?;
    let drawers = &report.drawers;
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            for (number, drawer) in drawers.iter().enumerate() {
                if number > 0 {
                    page.end();
                }
                write_in_context(drawer, page);
            }
        })?;
        out.flush()?;
        for id in &report.missing {
            tell_missing(id, out);
        }
        if let Some(first) = drawers.first() {
            tell_next(&first.drawer, out);
        }
    }
    warn_of_damage(drawers.iter().map(|one| &one.drawer), out);
    Ok(ExitStatus::from_found(!drawers.is_empty()))
}

fn write_in_context(shown: &DrawerInContext, page: &mut TextPage) {
    for before in &shown.before {
        write_neighbour(before, page);
    }
    write_drawer(&shown.drawer, page);
    for after in &shown.after {
        page.end();
        write_neighbour(after, page);
    }
}

/// Writes a neighbour behind a bar, so that it is not taken for the drawer asked for.
fn write_neighbour(drawer: &DrawerView, page: &mut TextPage) {
    page.dim("| ").dim(drawer.id.as_str()).end();
    page.block("| ", drawer.whole_text().trim_end_matches('\n'));
}

/// Notes that no drawer has this id.
pub(super) fn tell_missing(id: &DrawerId, out: &mut TerminalOutput) {
    out.note(&format!("drawer {:?} does not exist", id.as_str()));
}

/// Writes a drawer with everything that is known about it.
pub(super) fn write_drawer(drawer: &DrawerView, page: &mut TextPage) {
    page.bold(drawer.id.as_str()).end();
    let filed_in = render::format_place(drawer.wing.as_deref(), drawer.room.as_deref());
    let source = drawer.source.as_ref().map(|source| match &drawer.span {
        Some(span) => format!("{source} lines {} to {}", span.line_start, span.line_end),
        None => source.clone(),
    });
    let said = drawer.said_at.map(format_minute);
    let filed = drawer.filed_at.map(format_minute);
    for (name, value) in [
        (
            "place    ",
            Some(filed_in.as_str()).filter(|place| !place.is_empty()),
        ),
        ("source   ", source.as_deref()),
        ("speaker  ", drawer.speaker.as_deref()),
        ("kind     ", drawer.kind.as_deref()),
        ("trust    ", Some(drawer.trust.name())),
        ("said     ", said.as_deref()),
        ("filed    ", filed.as_deref()),
    ] {
        write_field(name, value, page);
    }
    if let Some(metadata) = &drawer.metadata {
        tell_metadata(metadata, page);
    }
    if let Some(Some(vector)) = &drawer.embedding {
        let json = serde_json::to_string(vector).unwrap_or_default();
        write_field("vector   ", Some(&json), page);
    }
    if let Some(text) = &drawer.text {
        page.end();
        page.block("", text.strip_suffix('\n').unwrap_or(text));
    }
}

fn write_field(name: &str, value: Option<&str>, page: &mut TextPage) {
    if let Some(value) = value {
        page.dim(name).plain(value).end();
    }
}

fn tell_metadata(metadata: &Metadata, page: &mut TextPage) {
    let mut rest = serde_json::to_value(metadata).unwrap_or_default();
    let Some(rest) = rest.as_object_mut() else { return };
    for (key, name) in NAMED {
        if let Some(text) = rest.get(key).and_then(|value| value.as_str()) {
            write_field(name, Some(text), page);
            rest.remove(key);
        }
    }
    if !rest.is_empty() {
        let json = serde_json::to_string(rest).unwrap_or_default();
        write_field("metadata ", Some(&json), page);
    }
}

/// Notes the commands that show more around a drawer, unless its name cannot be typed.
fn tell_next(drawer: &DrawerView, out: &mut TerminalOutput) {
    let (Some(source), Some(_)) = (&drawer.source, &drawer.span) else {
        return;
    };
    for (command, what) in [("loci neighbours", drawer.id.as_str()), ("loci cat", source)] {
        if escape::escape_line(what) == what && !what.starts_with('-') {
            out.note(&format!("more: {command} {}", quote_for_shell(what)));
        }
    }
}
