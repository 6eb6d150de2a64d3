//! `loci web --export`: one HTML file of a scope that can be searched offline.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{Error, ErrorKind, PalaceFinding, Result};
use loci_engine::export::ExportDamage;
use loci_engine::view::{DrawerScope, ScopeNote};
use loci_engine::{AccessPolicy, Palace};
use loci_web::{OfflinePageReport, OfflinePageRequest, write_offline_page};
use schemars::JsonSchema;
use serde::Serialize;

use super::host::name_palace;
use crate::commands::export::report_damage;
use crate::commands::mcp::wing_named;
use crate::environment::now;
use crate::errors::{CommandResult, CommandStop};
use crate::interrupts::watch_interrupts;
use crate::progress::JobProgress;
use crate::render::count_drawers;
use crate::scope::ScopeNarrowing;
use crate::session::CommandSession;
use crate::target::OutputFile;

/// The options of the file.
#[derive(Debug, clap::Args)]
pub(super) struct PageExportArgs {
    /// Write the drawers to one HTML file that can be searched offline, instead of serving pages; `-` prints it
    ///
    /// The file needs no server and asks for nothing. It appears only once it is complete, and only its owner may read
    /// it. The scope flags below and --wing choose the drawers in it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_open", "port", "read_only"])]
    export: Option<PathBuf>,

    /// Replace the file of --export if there is one
    #[arg(long, requires = "export")]
    force: bool,

    #[command(flatten)]
    narrowing: ScopeNarrowing,
}

impl PageExportArgs {
    /// Returns the file to write, if pages are not to be served. Refuses a scope for pages that are served.
    pub(super) fn find_file(&self) -> Result<Option<&Path>> {
        let given = self.narrowing.list_given();
        match (&self.export, given.first()) {
            (None, Some((option, _))) => Err(Error::invalid(format!(
                "--{option} chooses what --export writes, and --export is missing"
            ))
            .with_hint(
                "name a file with --export, or narrow down on the pages themselves; --wing works with both",
            )),
            (file, _) => Ok(file.as_deref()),
        }
    }
}

/// A page in a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportedPage<'a> {
    /// The file.
    file: String,
    /// The number of drawers in it.
    drawers: u64,
    /// Its size.
    bytes: u64,
    /// Drawers of which only a part was written, and drawers that were omitted.
    damaged: &'a [ExportDamage],
    /// Names in the scope that no drawer has.
    warnings: &'a [PalaceFinding],
}

/// Writes the file.
pub(super) fn write_file(
    file: &Path,
    args: &PageExportArgs,
    wings: &[String],
    session: &mut CommandSession,
) -> CommandResult {
    let wings: Vec<String> = wings.iter().map(|wing| wing_named(wing)).collect::<Result<_>>()?;
    let whole = session.open_palace()?;
    let unknown = find_unknown_wings(&whole, &wings)?;
    let request = OfflinePageRequest {
        palace_name: name_palace(&session.location()?),
        scope: args.narrowing.build_scope(None, now())?,
        about: describe_scope(&wings, &args.narrowing),
    };
    let palace = whole.restricted_to(AccessPolicy::limited(true, wings));
    // Before there is a file that a signal could leave behind.
    let interrupted = watch_interrupts()?;
    let (written, mut report) = if file == Path::new("-") {
        (None, print_page(&palace, &request, &interrupted, session)?)
    } else {
        let mut target = if args.force {
            OutputFile::create_private(file)?
        } else {
            OutputFile::create_new_private(file)?
        };
        let progress = session.out.progress("drawers written");
        let mut put = |part: &str| target.text(part).map_err(CommandStop::from);
        let report = write_watched(&palace, &request, &mut put, progress, &interrupted)?;
        (Some(target.finish()?), report)
    };
    report.warnings.extend(unknown);
    if let Some(file) = written {
        report_file(&file, &report, session)?;
    }
    Ok(report_damage(&report.damaged, &report.warnings, &mut session.out))
}

/// Writes the page to standard output.
fn print_page(
    palace: &Palace,
    request: &OfflinePageRequest,
    interrupted: &AtomicBool,
    session: &mut CommandSession,
) -> CommandResult<OfflinePageReport> {
    let out = &mut session.out;
    if out.is_json() {
        let error = Error::invalid("--json and `--export -` would both write to standard output");
        return Err(error.with_hint("nothing was written; name a file").into());
    }
    // A progress line would run into a page that is printed on the same terminal.
    let progress = if io::stdout().is_terminal() {
        JobProgress::hidden()
    } else {
        out.progress("drawers written")
    };
    let mut put = |part: &str| out.write_bytes(part.as_bytes());
    let report = write_watched(palace, request, &mut put, progress, interrupted)?;
    session.out.flush()?;
    Ok(report)
}

/// Writes the page with progress, until Ctrl-C.
fn write_watched(
    palace: &Palace,
    request: &OfflinePageRequest,
    put: &mut dyn FnMut(&str) -> CommandResult<()>,
    mut progress: JobProgress,
    interrupted: &AtomicBool,
) -> CommandResult<OfflinePageReport> {
    let report = write_offline_page(palace, request, put, &mut |written| {
        progress.tick(written.drawers, written.total);
        check_interrupted(interrupted)
    })?;
    // The last drawer may have been written when the signal came.
    check_interrupted(interrupted)?;
    Ok(report)
}

fn check_interrupted(interrupted: &AtomicBool) -> CommandResult<()> {
    if !interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Unavailable, "the export was interrupted");
    Err(error
        .with_hint("no file was written; start it again with the same command")
        .into())
}

fn report_file(file: &Path, report: &OfflinePageReport, session: &mut CommandSession) -> CommandResult<()> {
    let out = &mut session.out;
    if out.is_json() {
        return out.write_json(&ExportedPage {
            file: file.to_string_lossy().into_owned(),
            drawers: report.drawers,
            bytes: report.bytes,
            damaged: &report.damaged,
            warnings: &report.warnings,
        });
    }
    out.note(&format!(
        "{} written to {}; open it in a browser",
        count_drawers(report.drawers),
        file.display()
    ));
    Ok(())
}

/// The scope in words, for the page.
fn describe_scope(wings: &[String], narrowing: &ScopeNarrowing) -> Vec<(String, String)> {
    let wings = wings.iter().map(|wing| ("wing", wing.clone()));
    let all = wings.chain(narrowing.list_given());
    all.map(|(field, value)| (field.to_owned(), value)).collect()
}

/// Returns a warning for each wing that no drawer has: where the others do not exist, neither would its neighbours in
/// spelling.
fn find_unknown_wings(palace: &Palace, wings: &[String]) -> Result<Vec<PalaceFinding>> {
    let mut unknown = Vec::new();
    for wing in wings {
        let report = palace.count(&DrawerScope {
            wing: Some(wing.clone()),
            ..DrawerScope::default()
        })?;
        let named = report.warnings.into_iter();
        unknown.extend(named.filter(ScopeNote::is_unknown_name_warning));
    }
    Ok(unknown)
}
