//! `loci export`: every drawer as a line of JSON.

use std::path::PathBuf;

use clap::ValueEnum;
use loci_core::{Capability, CollectionName, Error};
use loci_engine::{ExportReport, export};
use serde_json::json;

use crate::errors::{Done, Exit, Stop};
use crate::output::Output;
use crate::session::{Palace, Session};
use crate::target::Target;

/// Write every drawer as a line of JSON
///
/// Lines are what `loci import` reads. What is damaged is written as far as it is readable and named on
/// standard error; the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci export --all --embeddings -o palace.jsonl\n  \
    loci export | grep Friday"
)]
pub(crate) struct Args {
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
    let palace = session.palace()?;
    if args.embeddings {
        palace.backend.descriptor().require(&Capability::EmbeddingsOut)?;
    }
    let names = collections(args, session, &palace)?;
    let mut report = ExportReport::default();
    let Some(path) = &args.output else {
        let mut sink = |line: &str, out: &mut Output| out.line(line);
        write(
            &names,
            &palace,
            args.embeddings,
            &mut report,
            &mut session.out,
            &mut sink,
        )?;
        session.out.flush()?;
        return Ok(conclude(&report, &mut session.out));
    };
    let mut target = Target::create(path)?;
    let mut sink = |line: &str, _: &mut Output| target.line(line).map_err(Stop::from);
    write(
        &names,
        &palace,
        args.embeddings,
        &mut report,
        &mut session.out,
        &mut sink,
    )?;
    let file = target.finish()?;
    if session.out.is_json() {
        let file = file.to_string_lossy();
        session
            .out
            .json(&json!({ "file": file, "drawers": report.drawers, "damaged": report.damaged }))?;
    } else {
        session.out.note(&format!(
            "{} drawers written to {}",
            report.drawers,
            file.display()
        ));
    }
    Ok(conclude(&report, &mut session.out))
}

fn collections(args: &Args, session: &Session, palace: &Palace) -> Done<Vec<CollectionName>> {
    if args.all && session.globals.collection.is_some() {
        return Err(Error::invalid("--all and --collection contradict each other").into());
    }
    match args.all {
        true => Ok(palace.collections()?.into_iter().map(|info| info.name).collect()),
        false => Ok(vec![session.collection(palace)?]),
    }
}

type Sink<'a> = &'a mut dyn FnMut(&str, &mut Output) -> Done<()>;

fn write(
    names: &[CollectionName],
    palace: &Palace,
    embeddings: bool,
    report: &mut ExportReport,
    out: &mut Output,
    sink: Sink<'_>,
) -> Done<()> {
    let mut progress = out.progress("drawers written");
    for name in names {
        let collection = palace.open(name)?;
        let mut written = report.drawers;
        let part = export(collection.as_ref(), name, embeddings, &mut |line| {
            written += 1;
            progress.tick(written, None);
            sink(line, out)
        })?;
        report.drawers += part.drawers;
        report.damaged.extend(part.damaged);
    }
    Ok(())
}

fn conclude(report: &ExportReport, out: &mut Output) -> Exit {
    for damaged in &report.damaged {
        let what = match (&damaged.id, damaged.written) {
            (Some(id), true) => format!("the drawer {:?} is damaged: {}", id.as_str(), damaged.message),
            _ => format!("left out: {}", damaged.message),
        };
        out.warn(&format!("{}: {what}", damaged.collection));
    }
    Exit::found(report.damaged.is_empty())
}
