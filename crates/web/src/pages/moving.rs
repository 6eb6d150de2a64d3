//! The page `moving`.

use crate::context::{PageContext, PageResult};
use crate::pages::problem;

/// Shows the page.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}

/// Acts.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}
