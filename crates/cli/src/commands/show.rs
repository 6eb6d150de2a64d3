//! `loci show`: drawers whole, as people read them.

use loci_core::{DrawerId, Metadata};
use loci_engine::show::ShowRequest;
use loci_engine::view::DrawerView;

use crate::errors::{Done, Exit};
use crate::escape::{self, quote_for_shell};
use crate::output::Output;
use crate::page::Page;
use crate::render::{self, moment, warn_of_damage};
use crate::session::Session;

/// Read drawers whole
///
/// Where each is filed and what it was cut from, who said it and when, and its text, verbatim but for what would
/// control a terminal. The beginning of an id will do, from 6 characters on, where no other id begins so. Exits with
/// 1 if none of them is there.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci show 533da3687d741789776f6929b2c70fce\n  loci show 533da3 note-1"
)]
pub(crate) struct Args {
    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<DrawerId>,

    /// Show their exact vectors, too, with --json
    #[arg(long)]
    embeddings: bool,
}

/// Metadata that has a line of its own, and what that is called.
const NAMED: [(&str, &str); 2] = [("title", "title    "), ("thread_id", "thread   ")];

/// Shows them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let report = session.palace()?.show(&ShowRequest {
        ids: args.ids.clone(),
        embeddings: args.embeddings,
    })?;
    let drawers = &report.drawers;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            for (number, drawer) in drawers.iter().enumerate() {
                if number > 0 {
                    page.end();
                }
                tell(drawer, page);
            }
        })?;
        out.flush()?;
        for id in &report.missing {
            tell_missing(id, out);
        }
        if let Some(drawer) = drawers.first() {
            tell_next(drawer, out);
        }
    }
    warn_of_damage(drawers, out);
    Ok(Exit::found(!drawers.is_empty()))
}

/// Says that a drawer is not there.
pub(super) fn tell_missing(id: &DrawerId, out: &mut Output) {
    out.note(&format!("there is no drawer {:?}", id.as_str()));
}

fn tell(drawer: &DrawerView, page: &mut Page) {
    page.bold(drawer.id.as_str()).end();
    let filed_in = render::place(drawer.wing.as_deref(), drawer.room.as_deref());
    let source = drawer.source.as_ref().map(|source| match &drawer.span {
        Some(span) => format!("{source} lines {} to {}", span.line_start, span.line_end),
        None => source.clone(),
    });
    let said = drawer.said_at.map(moment);
    let filed = drawer.filed_at.map(moment);
    for (name, value) in [
        (
            "place    ",
            Some(filed_in.as_str()).filter(|place| !place.is_empty()),
        ),
        ("source   ", source.as_deref()),
        ("speaker  ", drawer.speaker.as_deref()),
        ("kind     ", drawer.kind.as_deref()),
        ("said     ", said.as_deref()),
        ("filed    ", filed.as_deref()),
    ] {
        line(name, value, page);
    }
    if let Some(metadata) = &drawer.metadata {
        tell_metadata(metadata, page);
    }
    if let Some(text) = &drawer.text {
        page.end();
        page.block("", text.strip_suffix('\n').unwrap_or(text));
    }
}

fn line(name: &str, value: Option<&str>, page: &mut Page) {
    if let Some(value) = value {
        page.dim(name).plain(value).end();
    }
}

fn tell_metadata(metadata: &Metadata, page: &mut Page) {
    let mut rest = serde_json::to_value(metadata).unwrap_or_default();
    let Some(rest) = rest.as_object_mut() else { return };
    for (key, name) in NAMED {
        if let Some(text) = rest.get(key).and_then(|value| value.as_str()) {
            line(name, Some(text), page);
            rest.remove(key);
        }
    }
    if !rest.is_empty() {
        let json = serde_json::to_string(rest).unwrap_or_default();
        line("metadata ", Some(&json), page);
    }
}

/// Says what to type to read on around a drawer, where that can be typed.
fn tell_next(drawer: &DrawerView, out: &mut Output) {
    let (Some(source), Some(_)) = (&drawer.source, &drawer.span) else {
        return;
    };
    for (command, what) in [("loci neighbours", drawer.id.as_str()), ("loci cat", source)] {
        if escape::line(what) == what && !what.starts_with('-') {
            out.note(&format!("read on: {command} {}", quote_for_shell(what)));
        }
    }
}
