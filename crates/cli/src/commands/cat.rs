//! `loci cat`: prints a source from its drawers.

use std::ffi::OsString;

use loci_core::Error;
use loci_engine::cat::{CatMessage, SourcePart};
use loci_engine::view::defuse_name;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::format_count;
use crate::scope::source_names;
use crate::session::CommandSession;

/// Print a source as it was mined
///
/// A file is printed byte for byte, a conversation message by message; secrets are shown as labels unless --unseal is
/// given. With --json, a file is its text and encoding, and a
/// conversation is a list of messages with id, speaker, kind, time and text. The bytes of a file are not escaped: redirect
/// them if they may be binary. Exits with 1 if the source does not exist.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci cat notes.md > notes.again.md\n  loci cat session.jsonl --json"
)]
pub(crate) struct CatArgs {
    /// The source: a path as it was mined, the end of one, or what a hit prints
    #[arg(value_name = "SOURCE")]
    source: OsString,

    /// Print secrets in place of their labels; needs the palace's key
    #[arg(long)]
    unseal: bool,
}

/// Prints it.
pub(crate) fn run(args: &CatArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    let names = source_names(&args.source);
    let out = &mut session.out;
    let report = if out.is_json() {
        let report = palace.read_source(&names, args.unseal)?;
        out.write_json(&report)?;
        report
    } else {
        let mut stopped = None;
        let streamed = palace.stream_source(&names, args.unseal, &mut |part| {
            let printed = match part {
                SourcePart::Piece { bytes, .. } => out.write_bytes(&bytes),
                SourcePart::Message(said) => out.write_page(|page| write_message(&said, page)),
            };
            printed.map_err(|stop| {
                stopped = Some(stop);
                Error::invalid("the reader has gone away")
            })
        });
        match stopped {
            Some(stop) => return Err(stop),
            None => streamed?,
        }
    };
    out.flush()?;
    out.warnings(&report.warnings);
    if report.sealed > 0 {
        out.note(&format!(
            "{} shown as labels; --unseal shows them",
            format_count(report.sealed, "secret")
        ));
    }
    Ok(ExitStatus::from_found(report.source.is_some()))
}

fn write_message(said: &CatMessage, page: &mut crate::page::TextPage) {
    let time = said.time.map(|time| time.to_string());
    let [speaker, kind] = [&said.speaker, &said.kind].map(|name| name.as_deref().map(defuse_name));
    let trust = said.trust.describe();
    let head = [speaker.as_deref(), kind.as_deref(), Some(trust), time.as_deref()];
    let head: Vec<&str> = head.into_iter().flatten().collect();
    page.bold(&format!("── {}", head.join(" · "))).end();
    page.block("", said.text.strip_suffix('\n').unwrap_or(&said.text));
    page.end();
}
