//! `loci restore`: makes a palace of a copy.

use std::path::PathBuf;

use loci_core::{Error, ErrorKind};
use serde_json::json;

use super::backup::{cannot, digest, tell};
use crate::errors::Done;
use crate::session::Session;

/// Make a palace of a copy that `loci backup` wrote
///
/// The palace must not exist yet: nothing is ever restored over a palace.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Example:\n  loci restore ~/backups/palace-20260501T093000.000000Z.db --palace ./again"
)]
pub(crate) struct Args {
    /// The copy
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Makes it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    if !args.file.is_file() {
        let message = format!("there is no copy at {}", args.file.display());
        return Err(Error::new(ErrorKind::NotFound, message).into());
    }
    let palace = session.palace()?.address()?;
    let snapshots = palace
        .backend
        .snapshots()
        .ok_or_else(|| cannot(&palace.backend.descriptor().name))?;
    let mut progress = session.out.progress("parts copied");
    let report = snapshots.restore(&args.file, &palace.reference, &mut |done, total| {
        progress.tick(done, Some(total));
    })?;
    let hash = digest(palace.backend.as_ref(), &report.file)?;
    session
        .out
        .note(&format!("made a new palace at {}", palace.reference.id));
    tell(
        &report,
        &hash,
        json!({ "palace": palace.reference.id }),
        &mut session.out,
    )
}
