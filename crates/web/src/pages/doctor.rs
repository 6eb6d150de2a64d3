//! The page `doctor`.

use crate::context::{PageContext, PageResult};
use crate::pages::problem;

/// Shows the page.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}

/// Starts a verification.
pub(crate) fn start_verify(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}
