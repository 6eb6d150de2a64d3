//! Mending a Chroma folder in named steps, for those who stay on Chroma.

use std::path::Path;

use loci_core::{Error, ErrorKind, FixInfo, FixMode, FixReport, Result};

use crate::Chroma;

/// The steps, with what each changes.
pub(crate) const STEPS: &[FixInfo] = &[];

/// Takes one step.
pub(crate) fn run(_doctor: &Chroma, path: &Path, step: &str, _how: FixMode) -> Result<FixReport> {
    let message = format!("{} has no fix {step:?}", path.display());
    Err(Error::new(ErrorKind::Unsupported, message))
}
