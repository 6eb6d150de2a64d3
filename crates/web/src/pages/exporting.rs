//! The page `exporting`.

use crate::context::{PageContext, PageResult};
use crate::pages::problem;

/// Shows the page.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}

/// Downloads.
pub(crate) fn download(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}
