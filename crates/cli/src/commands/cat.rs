//! `loci cat`: a source, given back from its drawers.

use std::ffi::OsString;

use loci_core::Error;
use loci_engine::cat::{Part, Said};

use crate::errors::{Done, Exit};
use crate::scope::source_names;
use crate::session::Session;

/// Print a source as it was mined
///
/// A file comes back byte for byte; with --json as its text and encoding. A conversation comes message by message; with
/// --json as a list with id, speaker, kind, time and text of each. Bytes are printed as they are, so mind where they go.
/// Exits with 1 if no such source exists.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci cat notes.md > notes.again.md\n  loci cat session.jsonl --json"
)]
pub(crate) struct Args {
    /// A path as it was mined, the end of one, or the name of a source
    #[arg(value_name = "SOURCE")]
    source: OsString,
}

/// Prints it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let palace = session.palace()?;
    let names = source_names(&args.source);
    let out = &mut session.out;
    let report = if out.is_json() {
        let report = palace.read_source(&names)?;
        out.json(&report)?;
        report
    } else {
        let mut stopped = None;
        let streamed = palace.stream_source(&names, &mut |part| {
            let printed = match part {
                Part::Piece { bytes, .. } => out.bytes(&bytes),
                Part::Message(said) => out.page(|page| message(&said, page)),
            };
            printed.map_err(|stop| {
                stopped = Some(stop);
                Error::invalid("nothing reads on")
            })
        });
        match stopped {
            Some(stop) => return Err(stop),
            None => streamed?,
        }
    };
    out.flush()?;
    out.warnings(&report.warnings);
    Ok(Exit::found(report.source.is_some()))
}

fn message(said: &Said, page: &mut crate::page::Page) {
    let time = said.time.map(|time| time.to_string());
    let head = [said.speaker.as_deref(), said.kind.as_deref(), time.as_deref()];
    let head: Vec<&str> = head.into_iter().flatten().collect();
    page.bold(&format!("── {}", head.join(" · "))).end();
    page.block("", said.text.strip_suffix('\n').unwrap_or(&said.text));
    page.end();
}
