//! `loci export`: every drawer as a line of JSON.

use std::path::PathBuf;

use clap::ValueEnum;
use loci_engine::export::{ExportReport, ExportRequest};
use serde_json::json;

use crate::errors::{Done, Exit, Stop};
use crate::output::Output;
use crate::scope::ScopeArgs;
use crate::session::Session;
use crate::target::Target;

/// Write every drawer as a line of JSON
///
/// `loci import` reads these lines. Damaged drawers are written as far as they are readable and named on standard error;
/// the exit status is then 1, as it is if no drawer has a name that is given.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci export --all --embeddings -o palace.jsonl\n  \
    loci export --wing work | grep Friday"
)]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,

    /// The form of the lines
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: Format,

    /// Write the exact vectors too
    #[arg(long)]
    embeddings: bool,

    /// Write every collection
    #[arg(long)]
    all: bool,

    /// Write to this file, which appears when it is whole [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One JSON object a line.
    Jsonl,
}

/// Writes them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let Format::Jsonl = args.format;
    let request = ExportRequest {
        scope: args.scope.scope()?,
        embeddings: args.embeddings,
        all: args.all,
    };
    let palace = session.palace()?;
    let mut progress = session.out.progress("drawers written");
    let mut written = 0;
    let mut tick = || {
        written += 1;
        progress.tick(written, None);
    };
    let out = &mut session.out;
    let Some(path) = &args.output else {
        let report = palace.export(&request, &mut |line| {
            tick();
            out.line(line)
        })?;
        out.flush()?;
        return Ok(conclude(&report, out));
    };
    let mut target = Target::create(path)?;
    let report = palace.export(&request, &mut |line| {
        tick();
        target.line(line).map_err(Stop::from)
    })?;
    let file = target.finish()?;
    if out.is_json() {
        let file = file.to_string_lossy();
        out.json(&json!({ "file": file, "drawers": report.drawers, "damaged": report.damaged, "warnings": report.warnings }))?;
    } else {
        out.note(&format!(
            "{} drawers written to {}",
            report.drawers,
            file.display()
        ));
    }
    Ok(conclude(&report, out))
}

fn conclude(report: &ExportReport, out: &mut Output) -> Exit {
    for damaged in &report.damaged {
        let what = match (&damaged.id, damaged.written) {
            (Some(id), true) => format!("the drawer {:?} is damaged: {}", id.as_str(), damaged.message),
            _ => format!("left out: {}", damaged.message),
        };
        out.warn(&format!("{}: {what}", damaged.collection));
    }
    out.warnings(&report.warnings);
    if report.damaged.is_empty() {
        return Exit::of_warnings(&report.warnings);
    }
    Exit::Nothing
}
