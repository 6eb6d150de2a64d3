//! The page `job`.

use crate::context::{PageContext, PageResult};
use crate::pages::problem;

/// Shows the page.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}

/// Stops a job.
pub(crate) fn stop(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}
