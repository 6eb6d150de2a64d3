//! `loci cat`: a source, given back from its drawers.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use loci_engine::cat::{self, Part, Said};
use loci_engine::mine::name;
use serde_json::json;

use crate::errors::{Done, Exit, Stop};
use crate::session::Session;

/// Print a source as it was mined
///
/// A file comes back byte for byte; with --json as its text and how it was encoded. A conversation comes message by
/// message; with --json as a list with id, speaker, kind, time and text of each. Bytes are printed as they are, so mind
/// where they go.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci cat notes.md > notes.again.md\n  loci cat session.jsonl --json"
)]
pub(crate) struct Args {
    /// A path as it was mined, or the name of a source
    #[arg(value_name = "SOURCE")]
    source: OsString,
}

/// Prints it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let (_, collection) = session.read()?;
    let sources = cat::resolve(collection.as_ref(), &names(&args.source))?;
    let json = session.out.is_json();
    let mut messages = Vec::new();
    let mut file: Option<(String, &'static str)> = None;
    let mut stopped = None;
    for source in &sources {
        let out = &mut session.out;
        let done = cat::cat(collection.as_ref(), source, &mut |part| {
            let printed = match part {
                Part::Piece { text, encoding, .. } if json => {
                    let (all, _) = file.get_or_insert_with(|| (String::new(), encoding.name()));
                    all.push_str(&text);
                    Ok(())
                }
                Part::Piece { bytes, .. } => out.bytes(&bytes),
                Part::Message(said) if json => {
                    messages.push(said);
                    Ok(())
                }
                Part::Message(said) => out.page(|page| message(&said, page)),
            };
            printed.map_err(|stop| {
                stopped = Some(stop);
                loci_core::Error::invalid("nobody reads on")
            })
        });
        match (stopped.take(), done) {
            (Some(stop), _) => return Err(stop),
            (None, done) => done.map_err(Stop::Failed)?,
        }
    }
    if json {
        session.out.json(&match file {
            None => json!(messages),
            Some((text, encoding)) => {
                json!({ "source": sources.first(), "encoding": encoding, "text": text })
            }
        })?;
    }
    Ok(Exit::Done)
}

/// What the source may be called: the path it is now, the path it was, or just what was typed.
pub(crate) fn names(given: &OsStr) -> Vec<String> {
    let path = Path::new(given);
    let mut names = Vec::new();
    names.extend(path.canonicalize().ok().map(|path| name::of_path(&path)));
    names.extend(std::path::absolute(path).ok().map(|path| name::of_path(&path)));
    names.push(name::of_path(path));
    names.dedup();
    names
}

fn message(said: &Said, page: &mut crate::page::Page) {
    let time = said.time.map(|time| time.to_string());
    let head = [said.speaker.as_deref(), said.kind.as_deref(), time.as_deref()];
    let head: Vec<&str> = head.into_iter().flatten().collect();
    page.bold(&format!("── {}", head.join(" · "))).end();
    page.block("", said.text.strip_suffix('\n').unwrap_or(&said.text));
    page.end();
}
