//! `loci export`: writes drawers as lines of JSON.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::ValueEnum;
use loci_core::PalaceFinding;
use loci_engine::export::{ExportDamage, ExportRequest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, CommandStop, ExitStatus};
use crate::output::TerminalOutput;
use crate::progress::JobProgress;
use crate::render::count_drawers;
use crate::scope::ScopeArgs;
use crate::session::CommandSession;
use crate::target::OutputFile;

/// Write drawers as lines of JSON
///
/// The first line names the format, the collection and the model; `loci import` reads the result. Damaged drawers are
/// written as far as they can be read and listed on standard error; the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci export --all --embeddings -o palace.jsonl\n  \
    loci export --wing work | grep Friday"
)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    scope: ScopeArgs,

    /// The output format
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: ExportFormat,

    /// Include the exact vectors
    #[arg(long)]
    embeddings: bool,

    /// Write every collection
    #[arg(long)]
    all: bool,

    /// Write to this file, which appears only once it is complete [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// One JSON object per line.
    Jsonl,
}

/// A file that holds an export.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportedFile<'a> {
    /// The file.
    file: String,
    /// The number of drawers written.
    drawers: u64,
    /// Drawers of which only a part was written, and drawers that were omitted.
    damaged: &'a [ExportDamage],
    /// Names in the scope that no drawer has.
    warnings: &'a [PalaceFinding],
}

/// Writes the lines.
pub(crate) fn run(args: &ExportArgs, session: &mut CommandSession) -> CommandResult {
    let ExportFormat::Jsonl = args.format;
    let request = ExportRequest {
        ids: Vec::new(),
        scope: args.scope.build_scope()?,
        embeddings: args.embeddings,
        all: args.all,
    };
    let palace = session.open_palace()?;
    // A progress line would run into drawers that are printed on the same terminal.
    let is_printed = args.output.is_none() && io::stdout().is_terminal();
    let mut progress = if is_printed {
        JobProgress::hidden()
    } else {
        session.out.progress("lines written")
    };
    let mut written = 0;
    let mut tick = || {
        written += 1;
        progress.tick(written, None);
    };
    let out = &mut session.out;
    let Some(path) = &args.output else {
        let report = palace.export(&request, &mut |line| {
            tick();
            out.write_line(line)
        })?;
        drop(progress);
        out.flush()?;
        return Ok(report_damage(&report.damaged, &report.warnings, out));
    };
    let mut target = OutputFile::create_private(path)?;
    let report = palace.export(&request, &mut |line| {
        tick();
        target.line(line).map_err(CommandStop::from)
    })?;
    drop(progress);
    let file = target.finish()?;
    if out.is_json() {
        out.write_json(&ExportedFile {
            file: file.to_string_lossy().into_owned(),
            drawers: report.drawers,
            damaged: &report.damaged,
            warnings: &report.warnings,
        })?;
    } else {
        out.note(&format!(
            "{} written to {}",
            count_drawers(report.drawers),
            file.display()
        ));
    }
    Ok(report_damage(&report.damaged, &report.warnings, out))
}

/// Says what is damaged or misnamed, and how that ends the command.
pub(super) fn report_damage(
    damaged: &[ExportDamage],
    warnings: &[PalaceFinding],
    out: &mut TerminalOutput,
) -> ExitStatus {
    for damage in damaged {
        let what = match (&damage.id, damage.written) {
            (Some(id), true) => format!("the drawer {:?} is damaged: {}", id.as_str(), damage.message),
            _ => format!("left out: {}", damage.message),
        };
        out.warn(&format!("{}: {what}", damage.collection));
    }
    out.warnings(warnings);
    if damaged.is_empty() {
        return ExitStatus::of_warnings(warnings);
    }
    ExitStatus::Nothing
}
