//! `loci doctor`: examines palaces in files, of every kind a backend knows, and mends them in named steps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::{Doctor, Error, ErrorKind, FixMode, Result};

use super::verify::findings;
use crate::errors::{Done, Exit};
use crate::session::Session;

/// Examine a palace in files
///
/// Looks only, and never writes, unless a step is named with --fix and confirmed with --yes. Exits with 1 if
/// something graver than a note is found.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci doctor ./notes\n  loci doctor ./notes --json")]
pub(crate) struct Args {
    /// The palace's folder
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Say what this step would change
    #[arg(long, value_name = "STEP")]
    fix: Option<String>,

    /// Take the step
    #[arg(long, requires = "fix")]
    yes: bool,
}

/// Examines or mends it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let doctor = doctor(&args.path, session)?;
    if let Some(step) = &args.fix {
        return fix(doctor.as_ref(), &args.path, step, args.yes, session);
    }
    let diagnosis = doctor.examine(&args.path)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&diagnosis)?;
    } else {
        out.page(|page| {
            findings(&diagnosis.findings, page);
            for collection in &diagnosis.collections {
                page.plain(&format!("{:>8}  ", collection.rows))
                    .plain(&collection.name)
                    .end();
            }
            page.bold(if diagnosis.healthy {
                "healthy"
            } else {
                "not healthy"
            });
            page.plain(": ").plain(&diagnosis.kind);
            page.plain(&format!(", {} segments", diagnosis.segments.len()))
                .end();
        })?;
    }
    Ok(Exit::found(diagnosis.healthy))
}

fn doctor(path: &Path, session: &Session) -> Result<Arc<dyn Doctor>> {
    if !path.exists() {
        let message = format!("there is nothing at {}", path.display());
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let names = session.registry.names();
    let recognised = session.registry.recognise(path);
    let doctor = match recognised {
        Some(name) => session.registry.make(name)?.doctor,
        None => None,
    };
    doctor.ok_or_else(|| {
        let message = format!("{} holds no palace of a kind this build knows", path.display());
        Error::new(ErrorKind::Format, message).hint(format!("known kinds: {}", names.join(", ")))
    })
}

fn fix(doctor: &dyn Doctor, path: &Path, step: &str, yes: bool, session: &mut Session) -> Done {
    if !doctor.fixes().iter().any(|fix| fix.step == step) {
        let steps: Vec<String> = doctor
            .fixes()
            .iter()
            .map(|fix| format!("{} ({})", fix.step, fix.changes))
            .collect();
        let hint = match steps.is_empty() {
            true => "this kind of palace has no steps".to_owned(),
            false => format!("steps: {}", steps.join("; ")),
        };
        let error = Error::new(
            ErrorKind::Unsupported,
            format!("there is no step called {step:?}"),
        );
        return Err(error.hint(hint).into());
    }
    let how = if yes { FixMode::Apply } else { FixMode::DryRun };
    let report = doctor.fix(path, step, how)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            page.bold(&report.step)
                .plain(if report.applied {
                    ": done"
                } else {
                    ": would change"
                })
                .end();
            for change in &report.changes {
                page.plain("    ").plain(change).end();
            }
            if let Some(undo) = &report.undo {
                page.dim("undo  ").plain(undo).end();
            }
        })?;
    }
    Ok(Exit::Done)
}
