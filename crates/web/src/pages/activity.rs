//! The page `activity`.

use crate::context::{PageContext, PageResult};
use crate::pages::problem;

/// Shows the page.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}

/// Shows the feed.
pub(crate) fn show_feed(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}
