//! The page `source`.

use crate::context::{PageContext, PageResult};
use crate::pages::problem;

/// Shows the page.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}

/// Shows a part.
pub(crate) fn show_part(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}
