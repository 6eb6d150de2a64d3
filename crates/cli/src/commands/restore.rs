//! `loci restore`: creates a palace from a copy.

use std::path::PathBuf;

use loci_core::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::backup::{COPYING, VerifiedCopy, no_snapshots, print_copy, read_back, show_step};
use crate::errors::CommandResult;
use crate::input::is_sqlite_file;
use crate::session::CommandSession;

/// Create a palace from a copy that `loci backup` wrote
///
/// The palace must not exist yet: a restore never replaces one.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Example:\n  loci restore ~/backups/palace-20260501T093000.000000Z.db --palace ./again"
)]
pub(crate) struct RestoreArgs {
    /// The copy that `loci backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// A palace that was created from a copy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoreReport {
    #[serde(flatten)]
    copy: VerifiedCopy,
    /// The palace.
    palace: String,
}

/// Creates the palace and verifies it.
pub(crate) fn run(args: &RestoreArgs, session: &mut CommandSession) -> CommandResult {
    // Checked before the folder of the new palace is made.
    if !args.file.is_file() {
        let (kind, problem) = if args.file.exists() {
            (ErrorKind::Invalid, "is not a file")
        } else {
            (ErrorKind::NotFound, "does not exist")
        };
        let message = format!("the copy {} {problem}", args.file.display());
        return Err(Error::new(kind, message)
            .with_hint("nothing was written; name the file that `loci backup` printed")
            .into());
    }
    if !is_sqlite_file(&args.file) {
        let message = format!("{} is not a copy that `loci backup` wrote", args.file.display());
        return Err(Error::new(ErrorKind::Format, message)
            .with_hint(
                "nothing was written; import an export with `loci import`, other files with `loci mine`",
            )
            .into());
    }
    let palace = session.open_palace()?.address()?;
    let snapshots = palace
        .backend
        .snapshots()
        .ok_or_else(|| no_snapshots(&palace.backend.descriptor().name))?;
    let mut progress = session.out.progress(COPYING);
    let report = snapshots.restore(&args.file, &palace.reference, &mut |step| {
        show_step(step, &mut progress);
    })?;
    let hash = read_back(session, palace.backend.as_ref(), &report.file, &mut progress)?;
    drop(progress);
    // Noted once every drawer was read back: before that it is a file, not a palace to rely on.
    session
        .out
        .note(&format!("created a palace at {}", palace.reference.id));
    let copy = VerifiedCopy::new(&report, hash);
    if session.out.is_json() {
        session.out.write_json(&RestoreReport {
            copy: copy.clone(),
            palace: palace.reference.id.clone(),
        })?;
    }
    print_copy(&copy, &mut session.out)
}
